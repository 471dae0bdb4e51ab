// Requests that Node's parsers accept and Go's do not, of either version of HTTP.

import type {IncomingMessage, ServerResponse} from 'node:http';
import type {IncomingHttpHeaders} from 'node:http2';

const badEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * Whether Go takes a text for the target of a request: it refuses bad escapes in the path, of either version of HTTP,
 * and leaves the query alone.
 */
const isRequestTarget = (target: string): boolean => {
  if (!target.includes('%')) return true;
  const query = target.indexOf('?');
  return !badEscape.test(query < 0 ? target : target.slice(0, query));
};

/** The bytes of a host, with or without a port. */
const host = /^[-!$%&'()*+,.0-9:;=A-Z[\]_a-z~]*$/;

const lowerCaseHost = /^host$/i;

/**
 * Returns the reason to refuse a request over HTTP/1: a status code and words, as the original answers; undefined for
 * one that is well-formed.
 */
export const malformation = ({httpVersionMajor, httpVersionMinor, rawHeaders, method, url}: IncomingMessage): string | undefined => {
  // One without a version counts as 0.9 for Node, and as no request for Go.
  if (httpVersionMajor < 1) return '400 Bad Request';
  if (httpVersionMajor > 1) return '505 HTTP Version Not Supported: unsupported protocol version';
  if (!isRequestTarget(url!)) return '400 Bad Request';
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length !== 4 || !lowerCaseHost.test(name)) continue;
    if (found !== undefined) return '400 Bad Request';
    found = rawHeaders[index + 1]!;
  }
  if (found === undefined)
    return httpVersionMinor >= 1 && method !== 'CONNECT' ? '400 Bad Request: missing required Host header' : undefined;
  return host.test(found) ? undefined : '400 Bad Request: malformed Host header';
};

/** Answers a malformed request and ends its connection. */
export const refuseMalformed = (outgoing: ServerResponse, reason: string): void => {
  const [, code = '400', words = ''] = /^(\d+) (.*)$/.exec(reason) ?? [];
  outgoing.shouldKeepAlive = false;
  const fields = ['Content-Type', 'text/plain; charset=utf-8', 'Connection', 'close', 'Content-Length', String(reason.length)];
  outgoing.writeHead(Number(code), words, fields).end(reason);
};

/**
 * Whether the original refuses a request with an error of its stream: another scheme, a user in the authority (RFC 9113
 * §8.3.1), or no path.
 */
export const isMalformed = (headers: IncomingHttpHeaders): boolean => {
  if (headers[':method'] === 'CONNECT') return false;
  const scheme = headers[':scheme'];
  if (scheme !== 'https' && scheme !== 'http') return true;
  const authority = headers[':authority'] || headers.host;
  return authority?.includes('@') === true || !isRequestTarget(headers[':path'] ?? '');
};
