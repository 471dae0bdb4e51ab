import type {Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** How many statuses of one object are written a second, and at once. */
const [perSecond, burst] = [10, 50];

/**
 * Spaces out the statuses of an object whose counts change all the time, as those of a workload do while hundreds of
 * its pods start: each costs its watchers as much as a pod. Upstream, the limits of the clients of controllers have
 * this effect.
 */
export class StatusPace {
  readonly #clock: Clock;
  /** By the key of the object. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns 0 if the status may be written now, which counts as written, or else in how many ms it may. */
  waitMs(key: string): number {
    let bucket = this.#buckets.get(key);
    if (!bucket) this.#buckets.set(key, (bucket = new TokenBucket(this.#clock, perSecond, burst)));
    return bucket.takeOrWait();
  }

  /** Called when the object is deleted. */
  forget(key: string): void {
    this.#buckets.delete(key);
  }
}
