import type {ApiHandler} from '#src/api/request.js';
import {tooManyRequests} from '#src/api/status.js';
import {peerOf} from './connection-limit.js';

/**
 * Limits the requests of one peer that wait for their answers, as for a review by the API server; further ones are
 * refused with 429. An answer that has begun does not count any more.
 */
export const limitedByPeer = (handler: ApiHandler, most: number): ApiHandler => {
  const waiting = new Map<string, number>();
  return async request => {
    const peer = peerOf(request.remoteAddress);
    const before = waiting.get(peer) ?? 0;
    if (before >= most) {
      const {status} = tooManyRequests('too many requests of this address are in progress', 1);
      const body = {kind: 'bytes', bytes: `${JSON.stringify(status)}\n`, contentType: 'application/json'} as const;
      return {status: 429, headers: {'Cache-Control': 'no-cache, private'}, body};
    }
    waiting.set(peer, before + 1);
    try {
      return await handler(request);
    } finally {
      const left = waiting.get(peer)! - 1;
      if (left > 0) waiting.set(peer, left);
      else waiting.delete(peer);
    }
  };
};
