import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** Says how long an item that failed has to wait. */
export interface RateLimiter<T> {
  /** The wait in ms before the next try; each call counts as one more failure. */
  delay(item: T): number;
  /** The item did well: its next failure is its first. */
  forget(item: T): void;
  /** How often in a row the item failed. */
  retries(item: T): number;
}

/** Each item's own delay: `baseMs` at first, doubled with every failure, never above `maxMs`. */
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

/** One bucket for all items: `rate` a second, `burst` at once. */
export const tokenBucketLimiter = <T>(clock: Clock, rate: number, burst: number): RateLimiter<T> => {
  const bucket = new TokenBucket(clock, rate, burst);
  return {delay: () => bucket.reserve(), forget() {}, retries: () => 0};
};

/** The longest of several delays, and the largest count. Every limiter is asked each time. */
export const maxOf = <T>(...limiters: readonly RateLimiter<T>[]): RateLimiter<T> => ({
  delay: item => Math.max(0, ...limiters.map(limiter => limiter.delay(item))),
  forget: item => limiters.forEach(limiter => limiter.forget(item)),
  retries: item => Math.max(0, ...limiters.map(limiter => limiter.retries(item))),
});

/** The limiter of every queue that asks for no other: 5 ms doubled up to 1000 s for each item, 10 a second with a burst of 100 for all. */
export const defaultLimiter = <T>(clock: Clock, {baseDelayMs = 5, maxDelayMs = 1_000_000}: {baseDelayMs?: number | undefined; maxDelayMs?: number | undefined} = {}): RateLimiter<T> =>
  maxOf(perItemBackoff(baseDelayMs, maxDelayMs), tokenBucketLimiter(clock, 10, 100));
