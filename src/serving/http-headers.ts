// Headers of requests, and status and headers of responses: normalization, what can be sent, and compression
// negotiation.

import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

/** Headers that HTTP defines as lists: repeated ones are equivalent to the joined list (RFC 9110 §5.3). */
const lists: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'if-match',
  'if-none-match',
  'sec-websocket-protocol',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-forwarded-for',
]);

/** Headers that can only occur once: the first one is used. */
const singles: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'content-type',
  'content-encoding',
  'host',
  'origin',
  'referer',
  'retry-after',
  'user-agent',
  'audit-id',
]);

/** The length of all fields. */
export const sizeOf = (raw: readonly string[]): number => {
  let size = 0;
  for (const text of raw) size += text.length;
  return size;
};

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Lower-case names by the names as sent, of which clients use few. Bounded, since clients choose the keys. */
const bound = new CacheBound('header_names', 64 << 10);
const lowered = new Lru<string, string>(bound, {bytesOf: ({length}) => length});

/** Returns a name in lower case. */
export const lowerCase = (name: string): string => {
  const known = lowered.peek(name);
  if (known !== undefined) return known;
  const low = name.toLowerCase();
  if (name.length < 100) lowered.set(name, low);
  return low;
};

/**
 * Returns the headers by lower-case name, from alternating names and values. A repeated header is joined where HTTP
 * defines that, the first one is used where only one makes sense, and all others keep separate values, as identity
 * headers require. Pseudo-headers of HTTP/2 are left out, except that `:authority` becomes `host`. `nameOf` returns the
 * lower-case name.
 */
export const headersOf = (raw: readonly string[], nameOf: (sent: string) => string = lowerCase): Headers => {
  const headers = Object.create(null) as Record<string, string | string[] | undefined>;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    let name = nameOf(raw[index]!);
    if (name.charCodeAt(0) === 58) {
      if (name !== ':authority') continue;
      name = 'host';
    }
    const value = raw[index + 1]!;
    const before = headers[name];
    headers[name] = before === undefined ? value : repeated(name, before, value);
  }
  return headers;
};

const repeated = (name: string, before: string | string[], value: string): string | string[] => {
  if (singles.has(name)) return before;
  if (name === 'cookie') return `${String(before)}; ${value}`;
  if (lists.has(name)) return `${String(before)}, ${value}`;
  return Array.isArray(before) ? [...before, value] : [before, value];
};

// oxlint-disable-next-line no-control-regex -- what must not be in a header is control characters, mostly
const unsafe = /[^\t\u0020-\u007e]/;

/** A value for the wire: UTF-8, without control characters, which could end the header. */
export const wireValue = (value: string): string =>
  // oxlint-disable-next-line no-control-regex
  unsafe.test(value) ? Buffer.from(value.replaceAll(/[\u0000-\u0008\u000a-\u001f\u007f]/g, ' ')).toString('latin1') : value;

/**
 * Returns the status of a response, or 500 for one that cannot be sent: it may be what a webhook says, or the answer of
 * another server. Differs from upstream, which breaks the connection off. `most` is the greatest that Node sends.
 */
export const sendableStatus = (status: number, most = 999): number => (status >= 200 && status <= most ? status : 500);

/** Whether `accept-encoding` includes gzip. */
export const acceptsGzip = (accepted: string | readonly string[] | undefined): boolean =>
  accepted !== undefined &&
  String(accepted)
    .split(',')
    .some(clause => {
      const [coding, ...parameters] = clause.split(';').map(part => part.trim().toLowerCase());
      return coding === 'gzip' && !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter));
    });
