import {sleep, type Clock} from '#src/base/clock.js';
import {firstOf} from '#src/base/signals.js';

/** How often the server is asked what it serves, and how long new informers may take to sync. */
export const discoveryPeriodMs = 30_000;

/** How long after a definition changed the server is asked: several changes often come together. */
const debounceMs = 100;

/**
 * Decides when discovery is read next: every 30 s, and soon after a definition changed. Another API server may come to know a definition later than the
 * one that told of it, so after a change it is read again at doubling intervals until the period is reached.
 */
export class DiscoverySchedule {
  readonly #clock: Clock;
  #waitMs = discoveryPeriodMs;
  #trigger = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when a definition changed: discovery is due soon. */
  trigger(): void {
    this.#trigger.abort();
  }

  /** Aborts as soon as discovery is due earlier than it was; another one after each `next`. */
  get triggered(): AbortSignal {
    return this.#trigger.signal;
  }

  /** Resolves when discovery is due, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    using either = firstOf(signal, this.triggered);
    await sleep(this.#clock, this.#waitMs, either.signal).catch(() => {});
    this.#waitMs = Math.min(2 * this.#waitMs, discoveryPeriodMs);
    if (!this.triggered.aborted) return;
    this.#trigger = new AbortController();
    this.#waitMs = 2 * debounceMs;
    await sleep(this.#clock, debounceMs, signal).catch(() => {});
  }
}
