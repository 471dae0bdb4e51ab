import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import {jittered, type Random} from '#src/base/random.js';

const delayAfter = exponential(800, 30_000);

/** A failure this long after the previous one counts as the first again. */
const forgivenAfterMs = 120_000;

/**
 * The delays between attempts to reach a server: 0.8 s doubled up to 30 s, each with jitter of up to its length again,
 * so that many clients do not return at once.
 */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  #attempt = 0;
  #failedAt = -Infinity;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts a failure and returns how many milliseconds to wait: before the jitter at most `mostMs`. */
  next(mostMs = Infinity): number {
    const now = this.#clock.monotonic();
    if (now - this.#failedAt > forgivenAfterMs) this.#attempt = 0;
    this.#failedAt = now;
    return jittered(this.#random, Math.min(mostMs, delayAfter(this.#attempt++)), 1);
  }

  /** Called after a success: the next failure counts as the first. */
  reset(): void {
    this.#attempt = 0;
  }
}
