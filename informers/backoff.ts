import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import {jittered, type Random} from '#src/base/random.js';

const delayAfter = exponential(800, 30_000);

/** A failure this long after the previous one counts as the first again. */
const forgivenAfterMs = 120_000;

/**
 * The longest delay, before jitter, after a connection that failed or could not be made. Only a server that answers is
 * spared more: a cache is to be right soon after a network is.
 */
const mostAfterBreakMs = 2_000;

/** The delay, before jitter, after a connection broke on which something had come. */
const soonMs = 100;
/**
 * How long another such delay is not given, so that a server which breaks every connection is not asked without pause.
 */
const soonAgainAfterMs = 10_000;

/**
 * The delays between attempts to reach a server: 0.8 s doubled up to 30 s, each with jitter of up to its length again,
 * so that many clients do not return at once. Where connections break the delays are shorter, and the first one after
 * progress is short.
 */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  #attempt = 0;
  #failedAt = -Infinity;
  #soonAt = -Infinity;
  #hasProgressed = false;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts a failure and returns how many milliseconds to wait. */
  next({isBroken}: {readonly isBroken: boolean}): number {
    const now = this.#clock.monotonic();
    const isSoon = isBroken && this.#hasProgressed && now - this.#soonAt >= soonAgainAfterMs;
    this.#hasProgressed = false;
    if (now - this.#failedAt > forgivenAfterMs) this.#attempt = 0;
    this.#failedAt = now;
    if (!isSoon) return jittered(this.#random, Math.min(isBroken ? mostAfterBreakMs : Infinity, delayAfter(this.#attempt++)), 1);
    this.#soonAt = now;
    return jittered(this.#random, soonMs, 1);
  }

  /** Called when something has come from the server: the next failure counts as the first. */
  progressed(): void {
    this.#attempt = 0;
    this.#hasProgressed = true;
  }
}
