import {sleep, type Clock} from '#src/base/clock.js';
import {firstOf} from '#src/base/signals.js';

/** The discovery period, and how long new informers may take to sync. */
export const discoveryPeriodMs = 30_000;

/** The delay after a definition changed: changes often come in groups. */
const debounceMs = 100;

/**
 * Schedules discovery: every 30 s, and soon after a definition changed. Another API server may learn of a definition
 * later than the one that reported it, so after a change it is repeated at doubling intervals up to the period.
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

  /** Aborts when discovery is due earlier than scheduled; replaced after each `next`. */
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
