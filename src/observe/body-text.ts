/** The number of characters of a body that are logged at each verbosity; none below the first. */
const shown: readonly (readonly [verbosity: number, characters: number])[] = [
  [10, 64 << 10],
  [9, 10 << 10],
  [8, 1 << 10],
];

/**
 * Kinds that hold secrets, tokens or keys, as a field of JSON or YAML, also within a text that is a string of another
 * one.
 */
const secretKinds = /\\{0,7}["']?kind\\{0,7}["']?\s*:\s*\\{0,7}["']?(?:Secret|TokenReview|TokenRequest|SelfSubjectReview)(?:List)?\b/;
const secretResources = /\\{0,7}["']?resource\\{0,7}["']?\s*:\s*\\{0,7}["']?(?:secrets|tokenreviews)\b/;
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/**
 * Fields that hold secrets by their names, whatever object they are in: `value` is that of a variable of a container,
 * of a header of a probe, or of a patch. A text may end within a value.
 */
const secretField =
  /(\\{0,7}"(?:[^"\\]{0,100}(?:token|password|passwd|secret|authorization|privatekey|private_key|key-data|keydata)[^"\\]{0,100}|value)\\{0,7}"\s*:\s*)\\*"(?:[^"\\]|\\(?!")[^]|\\"(?!\s*[,}\]]))*(?:\\*"|\\*$)/gi;
/**
 * The addresses of webhooks, whose paths prove who knows them to some receivers: as a URL, and as the path at a
 * service.
 */
const webhookUrl = /(\\{0,7}"url\\{0,7}"\s*:\s*\\{0,7}"[a-z]{1,10}:\/\/[^/"\\?#]*)[^"\\]*/gi;
const servicePath = /(\\{0,7}"service\\{0,7}"\s*:\s*\{[^{}]{0,1000}?\\{0,7}"path\\{0,7}"\s*:\s*\\{0,7}")[^"\\]*/gi;
/** The same in YAML, where a value can have so many forms that the whole text is hidden. */
const secretYaml = /(?:token|password|passwd|secret|authorization|privatekey|private_key|key-data|keydata|\bvalue|\burl|\bpath)["']?\s*:/i;
const bearer = /\b(bearer)\s+[\w.~+/=-]+/gi;
const webToken = /\beyJ[\w.-]+/g;

const hidden = '[redacted]';

/** Returns the text without credentials. */
const withoutCredentials = (text: string): string =>
  text
    .replace(secretField, `$1"${hidden}"`)
    .replace(webhookUrl, `$1/${hidden}`)
    .replace(servicePath, `$1/${hidden}`)
    .replace(bearer, `$1 ${hidden}`)
    .replace(webToken, hidden);

const isText = (text: string): boolean => ['\0', '\uFFFD'].every(sign => !text.slice(0, 1024).includes(sign));

/**
 * Returns the part of a body to log: nothing of bodies with secrets, tokens or keys, otherwise the beginning, longer at
 * a higher verbosity.
 */
export const bodyText = (body: string | Uint8Array, verbosity: number): string => {
  const text = typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  if (!isText(text)) return `${body.length} bytes that are no text`;
  if (secretKinds.test(text) || secretResources.test(text) || privateKey.test(text)) return hidden;
  if (!/^\s*[{[]/.test(text) && secretYaml.test(text)) return hidden;
  const most = shown.find(([from]) => verbosity >= from)?.[1] ?? 0;
  // What is not shown need not be searched.
  const plain = withoutCredentials(text.length > most ? text.slice(0, most) : text);
  return text.length > most ? `${plain} [truncated ${text.length - most} chars]` : plain;
};

const secretParameter = /token|secret|password/i;
const userInfo = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i;

/** Returns a URL without the values of credential parameters, and without a user and password before its host. */
export const urlText = (url: string): string => {
  const mark = url.indexOf('?');
  if (mark < 0) return url.replace(userInfo, `$1${hidden}@`);
  const parameters = url
    .slice(mark + 1)
    .split('&')
    .map(parameter => {
      const equals = parameter.indexOf('=');
      return equals >= 0 && secretParameter.test(parameter.slice(0, equals)) ? `${parameter.slice(0, equals)}=${hidden}` : parameter;
    });
  return `${url.slice(0, mark).replace(userInfo, `$1${hidden}@`)}?${parameters.join('&')}`;
};

const secretHeader = /auth|cookie|token|secret|password|key/i;

/** Returns headers on one line, without credentials. */
export const headersText = (headers: Iterable<readonly [name: string, value: unknown]>): string =>
  [...headers]
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${secretHeader.test(name) ? hidden : withoutCredentials(String(value))}`)
    .join('; ');
