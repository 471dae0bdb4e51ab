import type {Clock} from '#src/base/clock.js';
import {type Dial, targetOf, type TargetTls} from '#src/transport/dial.js';
import {type Call, type CallResult, callsTo} from './calls.js';

export interface SingleCall extends Pick<Call, 'timeoutMs' | 'maxBytes' | 'signal'> {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly tls?: TargetTls | undefined;
  readonly dial: Dial;
  readonly clock: Clock;
}

/**
 * Requests a URL once, over a connection that is not kept. Rejects with the reason of a missing response as Go's client
 * words it.
 */
export const singleCall = async (
  url: URL,
  {method = 'GET', headers = {}, body = '', tls, dial, clock, ...call}: SingleCall,
): Promise<CallResult> => {
  const calls = callsTo(targetOf(url.href, tls), {dial, clock});
  try {
    return await calls.send({...call, method, host: url.host, path: `${url.pathname}${url.search}`, headers, body});
  } finally {
    calls.close();
  }
};
