// Limits the concurrency and the rate of image pulls.

import type {Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';

export interface PullLimits {
  /** Concurrent pulls; Infinity is no limit. */
  readonly parallel: number;
  /** Pulls per second and burst; 0 is no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** Runs pulls within the limits, first in first out. */
export class PullQueue {
  readonly #limits: PullLimits;
  readonly #bucket: TokenBucket | undefined;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(clock: Clock, limits: PullLimits) {
    this.#limits = limits;
    this.#bucket = limits.qps > 0 ? new TokenBucket(clock, limits.qps, Math.max(1, limits.burst)) : undefined;
  }

  /**
   * Runs a pull when the limits allow. Rejects if the rate limit is exceeded, or the signal aborts before it starts.
   */
  async run<T>(pull: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running >= this.#limits.parallel) await this.#turn(signal);
    signal.throwIfAborted();
    this.#running++;
    try {
      if (this.#bucket && !this.#bucket.tryTake()) throw new Error('pull QPS exceeded');
      return await pull();
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const next = (): void => {
        signal.removeEventListener('abort', give);
        resolve();
      };
      const give = (): void => {
        const at = this.#waiting.indexOf(next);
        if (at >= 0) this.#waiting.splice(at, 1);
        resolve();
      };
      this.#waiting.push(next);
      signal.addEventListener('abort', give, {once: true});
    });
  }
}
