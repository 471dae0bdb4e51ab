import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import {jittered, type Random} from '#src/base/random.js';

const delayAfter = exponential(800, 30_000);

/** A failure this long after the one before counts as the first again. */
const forgivenAfterMs = 120_000;

/** The waits between attempts to reach a server: 0.8 s doubled up to 30 s, each up to twice as long by chance, so that many clients do not return at once. They begin anew with `reset`. */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  #attempt = 0;
  #failedAt = -Infinity;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts one more failure and tells how long to wait. */
  next(): number {
    const now = this.#clock.monotonic();
    if (now - this.#failedAt > forgivenAfterMs) this.#attempt = 0;
    this.#failedAt = now;
    return jittered(this.#random, delayAfter(this.#attempt++), 1);
  }

  /** The server was reached and did its work: the next failure counts as the first. */
  reset(): void {
    this.#attempt = 0;
  }
}
