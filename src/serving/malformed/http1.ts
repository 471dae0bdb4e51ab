// Requests that Node's parser accepts and Go's does not.

import type {IncomingMessage, ServerResponse} from 'node:http';
import {isRequestTarget} from './request-target.js';

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
