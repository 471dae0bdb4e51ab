// Requests that Node's HTTP/2 accepts and Go's does not.

import type {IncomingHttpHeaders} from 'node:http2';
import {isRequestTarget} from './request-target.js';

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
