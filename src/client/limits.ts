// Decorators of a caller: a rate limit with a burst, and retries after `Retry-After`. They record the metrics of client
// libraries.

import {type Clock, sleep} from '#src/base/clock.js';
import {type Histogram, type Meter, noMeter} from '#src/base/meter.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import type {Call, Caller, Reply} from './caller.js';

export interface RateLimit {
  /** Calls a second in the long run; negative or 0 turns the limit off. */
  readonly qps: number;
  readonly burst: number;
}

/** The rate given by flags. 0 selects the default of client libraries. */
export const rateOf = ({platApiQps, platApiBurst}: {readonly platApiQps: number; readonly platApiBurst: number}): RateLimit => ({
  qps: platApiQps || 5,
  burst: platApiBurst || 10,
});

export interface LimitOptions {
  readonly clock: Clock;
  readonly meter?: Meter;
  /** The server, as metrics name it. */
  readonly host?: string;
}

/** Buckets of wait and request latencies, in seconds. */
export const latencyBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Returns a rate-limited caller. Calls wait in order. */
export const limited = (caller: Caller, {qps, burst}: RateLimit, {clock, meter = noMeter, host = ''}: LimitOptions): Caller => {
  if (qps <= 0) return caller;
  const bucket = new TokenBucket(clock, qps, Math.max(1, burst));
  const waits = meter.histogram({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: 'Client side rate limiter latency in seconds. Broken down by verb, and host.',
    labels: ['verb', 'host'],
    buckets: latencyBuckets,
  });
  const turn = (call: Call): Promise<void> | undefined => waitFor(bucket.reserve(), call, {clock, waits, host});
  return {
    ...caller,
    async call(call) {
      await turn(call);
      return caller.call(call);
    },
    async watch(call, listener) {
      await turn(call);
      return caller.watch(call, listener);
    },
  };
};

const waitFor = (
  waitMs: number,
  call: Call,
  {clock, waits, host}: {clock: Clock; waits: Histogram; host: string},
): Promise<void> | undefined => {
  waits.observe(waitMs / 1000, {verb: call.method, host});
  return waitMs > 0 ? sleep(clock, waitMs, call.signal) : undefined;
};

/** The maximum number of retries. */
const maxRetries = 10;

/**
 * Returns a caller that honours `Retry-After`: a 429 or 5xx with that header is retried after that time, up to ten
 * times.
 */
export const retrying = (caller: Caller, {clock, meter = noMeter, host = ''}: LimitOptions): Caller => {
  const retries = meter.counter({
    name: 'rest_client_request_retries_total',
    help: 'Number of request retries, partitioned by status code, verb, and host.',
    labels: ['code', 'verb', 'host'],
  });
  const withRetries = async <R extends Reply | undefined>(call: Call, attempt: () => Promise<R>): Promise<R> => {
    for (let retry = 0; ; retry++) {
      const reply = await attempt();
      const afterSeconds = reply && retryAfter(reply);
      if (afterSeconds === undefined || retry === maxRetries) return reply;
      retries.add({code: String(reply!.status), verb: call.method, host});
      await sleep(clock, afterSeconds * 1000, call.signal);
    }
  };
  return {
    ...caller,
    call: call => withRetries(call, () => caller.call(call)),
    watch: (call, listener) => withRetries(call, () => caller.watch(call, listener)),
  };
};

const retryAfter = (reply: Reply): number | undefined => {
  if (reply.status !== 429 && reply.status < 500) return undefined;
  const text = reply.header('retry-after');
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
};
