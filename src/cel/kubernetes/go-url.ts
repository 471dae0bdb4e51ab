// Parses and formats URLs as Go's net/url does, with the same error messages.

/** A parsed URL. `path` and `fragment` are decoded; the parts before them are as written. */
export interface GoUrl {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: string | undefined;
  readonly host: string;
  readonly path: string;
  readonly escapedPath: string;
  /** The text after the question mark; undefined without one. */
  readonly query: string | undefined;
  readonly fragment: string;
}

/** Thrown for text that is not a URL. */
export class UrlError extends Error {}

type Part = 'host' | 'zone' | 'path' | 'query' | 'user' | 'fragment';

const quoted = JSON.stringify;
const control = new RegExp(String.raw`[\x00-\x1f\x7f]`);
const hostSigns = new Set('!$&\'()*+,;=:[]<>"');
const plain = /[A-Za-z0-9\-_.~]/;
const keptInPath = new Set('$&+,/:;=@');

const needsEscape = (character: string, part: Part): boolean => {
  if (plain.test(character)) return false;
  if (part === 'host' || part === 'zone') return !hostSigns.has(character);
  if (part === 'fragment') return !keptInPath.has(character) && !'?!()*'.includes(character);
  return !keptInPath.has(character);
};

const bytesOf = (hex: string): number => Number.parseInt(hex, 16);

/** Decodes the percent escapes of a part. */
const unescape = (text: string, part: Part): string => {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '%') {
      const escape = text.slice(at, at + 3);
      if (!/^%[0-9a-fA-F]{2}$/.test(escape)) throw new UrlError(`invalid URL escape ${quoted(escape)}`);
      const value = bytesOf(escape.slice(1));
      if (part === 'host' && value < 0x80 && escape !== '%25') throw new UrlError(`invalid URL escape ${quoted(escape)}`);
      if (part === 'zone' && escape !== '%25' && value !== 0x20 && needsEscape(String.fromCharCode(value), 'host'))
        throw new UrlError(`invalid URL escape ${quoted(escape)}`);
      bytes.push(value);
      at += 2;
      continue;
    }
    if ((part === 'host' || part === 'zone') && character < '\u0080' && needsEscape(character, part))
      throw new UrlError(`invalid character ${quoted(character)} in host name`);
    if (character === '+' && part === 'query') bytes.push(0x20);
    else if (character < '\u0080') bytes.push(character.charCodeAt(0));
    else {
      const whole = String.fromCodePoint(text.codePointAt(at)!);
      bytes.push(...Buffer.from(whole));
      at += whole.length - 1;
    }
  }
  return Buffer.from(bytes).toString();
};

const escape = (text: string, part: Part): string =>
  [...Buffer.from(text)]
    .map(byte => {
      const character = String.fromCharCode(byte);
      return byte < 0x80 && !needsEscape(character, part) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

/** Returns the raw path where it is a valid encoding, else the path encoded anew. */
const escapedPathOf = (raw: string, path: string): string => {
  const isValid = [...raw].every(
    character => "!$&'()*+,;=:@[]%".includes(character) || (character < '\u0080' && !needsEscape(character, 'path')),
  );
  if (isValid) return raw;
  return path === '*' ? '*' : escape(path, 'path');
};

const schemeOf = (text: string): readonly [scheme: string, rest: string] => {
  if (text.startsWith(':')) throw new UrlError('missing protocol scheme');
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1];
  return scheme === undefined ? ['', text] : [scheme.toLowerCase(), text.slice(scheme.length + 1)];
};

const validatePort = (port: string): void => {
  if (!/^(?::\d*)?$/.test(port)) throw new UrlError(`invalid port ${quoted(port)} after host`);
};

const hostOf = (text: string): string => {
  if (text.startsWith('[')) {
    const end = text.lastIndexOf(']');
    if (end === -1) throw new UrlError("missing ']' in host");
    validatePort(text.slice(end + 1));
    const zone = text.slice(0, end).indexOf('%25');
    if (zone !== -1)
      return unescape(text.slice(0, zone), 'host') + unescape(text.slice(zone, end), 'zone') + unescape(text.slice(end), 'host');
  } else if (text.includes(':')) validatePort(text.slice(text.lastIndexOf(':')));
  return unescape(text, 'host');
};

const authorityOf = (text: string): {readonly user: string | undefined; readonly host: string} => {
  const at = text.lastIndexOf('@');
  const host = hostOf(text.slice(at + 1));
  if (at === -1) return {user: undefined, host};
  const user = text.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw new UrlError('net/url: invalid userinfo');
  for (const part of user.split(':', 2)) unescape(part, 'user');
  return {user, host};
};

const emptyUrl: GoUrl = {scheme: '', opaque: '', user: undefined, host: '', path: '', escapedPath: '', query: undefined, fragment: ''};

const parse = (text: string, isRequest: boolean): GoUrl => {
  if (control.test(text)) throw new UrlError('net/url: invalid control character in URL');
  if (text === '' && isRequest) throw new UrlError('empty url');
  if (text === '*') return {...emptyUrl, path: '*', escapedPath: '*'};
  const [scheme, behind] = schemeOf(text);
  const mark = behind.indexOf('?');
  const query = mark === -1 ? undefined : behind.slice(mark + 1);
  let rest = mark === -1 ? behind : behind.slice(0, mark);
  const url = {...emptyUrl, scheme, query};
  if (!rest.startsWith('/')) {
    if (scheme !== '') return {...url, opaque: rest};
    if (isRequest) throw new UrlError('invalid URI for request');
    if (rest.split('/', 1)[0]!.includes(':')) throw new UrlError('first path segment in URL cannot contain colon');
  }
  let authority: ReturnType<typeof authorityOf> = {user: undefined, host: ''};
  if (rest.startsWith('//') && (scheme !== '' || (!isRequest && !rest.startsWith('///')))) {
    const slash = rest.indexOf('/', 2);
    authority = authorityOf(slash === -1 ? rest.slice(2) : rest.slice(2, slash));
    rest = slash === -1 ? '' : rest.slice(slash);
  }
  const path = unescape(rest, 'path');
  return {...url, ...authority, path, escapedPath: escapedPathOf(rest, path)};
};

const withUrlInMessage = <T>(text: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw error instanceof UrlError ? new UrlError(`parse ${quoted(text)}: ${error.message}`, {cause: error}) : error;
  }
};

/** Parses a request URI: absolute, or a path from the root. A fragment is not separated. Throws `UrlError`. */
export const parseRequestUri = (text: string): GoUrl => withUrlInMessage(text, () => parse(text, true));

/** Parses a URL. Throws `UrlError`. */
export const parseGoUrl = (text: string): GoUrl => {
  const hash = text.indexOf('#');
  const front = hash === -1 ? text : text.slice(0, hash);
  const url = withUrlInMessage(front, () => parse(front, false));
  return hash === -1 ? url : {...url, fragment: withUrlInMessage(text, () => unescape(text.slice(hash + 1), 'fragment'))};
};

/** Returns the host without its port, and the port. */
export const hostAndPort = (host: string): readonly [name: string, port: string] => {
  const colon = host.lastIndexOf(':');
  const hasPort = colon !== -1 && /^:\d*$/.test(host.slice(colon));
  const [name, port] = hasPort ? [host.slice(0, colon), host.slice(colon + 1)] : [host, ''];
  return [name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name, port];
};

const decoded = (text: string): string | undefined => {
  try {
    return unescape(text, 'query');
  } catch {
    return undefined;
  }
};

/** Returns the query parameters by name. Malformed ones are left out. */
export const queryParameters = ({query = ''}: GoUrl): ReadonlyMap<string, readonly string[]> => {
  const parameters = new Map<string, string[]>();
  for (const part of query.split('&')) {
    if (part === '' || part.includes(';')) continue;
    const equals = part.indexOf('=');
    const name = decoded(equals === -1 ? part : part.slice(0, equals));
    const value = decoded(equals === -1 ? '' : part.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    const values = parameters.get(name);
    if (values) values.push(value);
    else parameters.set(name, [value]);
  }
  return parameters;
};

/** Formats the URL. */
export const formatUrl = ({scheme, opaque, user, host, path, escapedPath, query, fragment}: GoUrl): string => {
  const front = scheme === '' ? '' : `${scheme}:`;
  const tail = `${query === undefined ? '' : `?${query}`}${fragment === '' ? '' : `#${escape(fragment, 'fragment')}`}`;
  if (opaque !== '') return `${front}${opaque}${tail}`;
  const authority =
    host !== '' || user !== undefined || path.startsWith('//') ? `//${user === undefined ? '' : `${user}@`}${escape(host, 'host')}` : '';
  return `${front}${authority}${escapedPath}${tail}`;
};
