import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** Decides how long an item that failed waits for its next try. */
export interface RateLimiter<T> {
  /** Returns the wait in ms before the next try. Each call counts one more failure. */
  delay(item: T): number;
  /** Resets the failures of an item that succeeded. */
  forget(item: T): void;
  /** Returns how many times in a row the item failed. */
  retries(item: T): number;
}

/**
 * An exponential backoff for each item: `baseMs` after the first failure, doubled with each further one, at most
 * `maxMs`.
 */
export const perItemBackoff = <T>(baseMs: number, maxMs: number): RateLimiter<T> => {
  const failures = new Map<T, number>();
  const delayAfter = exponential(baseMs, maxMs);
  return {
    delay(item) {
      const count = failures.get(item) ?? 0;
      failures.set(item, count + 1);
      return delayAfter(count);
    },
    forget: item => void failures.delete(item),
    retries: item => failures.get(item) ?? 0,
  };
};

/** One token bucket for all items: `rate` tokens per second, at most `burst` at once. */
export const tokenBucketLimiter = <T>(clock: Clock, rate: number, burst: number): RateLimiter<T> => {
  const bucket = new TokenBucket(clock, rate, burst);
  return {delay: () => bucket.reserve(), forget() {}, retries: () => 0};
};

/**
 * Combines limiters: the longest of their delays and the largest of their counts. Every limiter counts each failure.
 */
export const maxOf = <T>(...limiters: readonly RateLimiter<T>[]): RateLimiter<T> => ({
  delay: item => Math.max(0, ...limiters.map(limiter => limiter.delay(item))),
  forget: item => limiters.forEach(limiter => limiter.forget(item)),
  retries: item => Math.max(0, ...limiters.map(limiter => limiter.retries(item))),
});

/** How failed items are retried. */
export interface LimiterSettings {
  /** Default 5. */
  readonly baseDelayMs?: number | undefined;
  /** Default 1000 s. */
  readonly maxDelayMs?: number | undefined;
  /** The retries of all items together, per second and at once. Default 10 and 100. */
  readonly shared?: {readonly perSecond: number; readonly burst: number} | undefined;
}

/**
 * The default limiter: the longer of 5 ms doubled up to 1000 s for each item, and a bucket of 10 per second with a
 * burst of 100 for all items.
 */
export const defaultLimiter = <T>(
  clock: Clock,
  {baseDelayMs = 5, maxDelayMs = 1_000_000, shared = {perSecond: 10, burst: 100}}: LimiterSettings = {},
): RateLimiter<T> => maxOf(perItemBackoff(baseDelayMs, maxDelayMs), tokenBucketLimiter(clock, shared.perSecond, shared.burst));
