// The headers of relayed requests and responses: without those of the connection, the client's credentials, and what
// this server has handled itself.

import type {IncomingMessage} from 'node:http';
import type {ApiRequest} from '#src/api/request.js';
import {traceHeaders} from '#src/base/span.js';

/** Headers that concern one connection only (RFC 9110 §7.6.1). */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const tokens = (value: string | readonly string[] | undefined): string[] =>
  value === undefined
    ? []
    : String(value)
        .split(',')
        .map(token => token.trim().toLowerCase())
        .filter(Boolean);

export type HeaderRecord = Record<string, string | readonly string[]>;

/**
 * The headers of a request for its backend: without those of the connection and those that are held back; names in
 * lower case.
 */
export const requestHeaders = ({headers, remoteAddress}: ApiRequest, isHeldBack: (name: string) => boolean): HeaderRecord => {
  const named = new Set(tokens(headers['connection']));
  const passed: HeaderRecord = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !hopByHop.has(name) && !named.has(name) && !isHeldBack(name)) passed[name] = value;
  }
  if (tokens(headers['te']).includes('trailers')) passed['te'] = 'trailers';
  const before = headers['x-forwarded-for'];
  for (const [name, value] of traceHeaders()) passed[name] = value;
  passed['x-forwarded-for'] = before === undefined ? remoteAddress : `${String(before)}, ${remoteAddress}`;
  return passed;
};

/** Headers of responses that can only occur once: the first one is used. */
const single: ReadonlySet<string> = new Set([
  'age',
  'content-encoding',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
  'x-content-type-options',
]);

/** The headers of a response for the client. */
export const responseHeaders = ({rawHeaders, headers}: IncomingMessage): Record<string, string | string[]> => {
  const named = new Set(tokens(headers['connection']));
  const canonicalNames = new Map<string, string>();
  const passed: Record<string, string | string[]> = {};
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const low = rawHeaders[index]!.toLowerCase();
    if (hopByHop.has(low) || named.has(low)) continue;
    const name = canonicalNames.get(low) ?? canonical(low);
    canonicalNames.set(low, name);
    const value = rawHeaders[index + 1]!;
    const before = passed[name];
    if (before === undefined) passed[name] = value;
    else if (!single.has(low)) passed[name] = [...(Array.isArray(before) ? before : [before]), value];
  }
  return passed;
};

/** The canonical form of a header's name. */
export const canonical = (name: string): string => name.toLowerCase().replaceAll(/(^|-)[a-z]/g, letter => letter.toUpperCase());
