import type {Clock} from '#src/base/clock.js';
import type {CpuUsage} from '#src/platlet/runtime/usage.js';

interface Sample {
  readonly at: number;
  readonly nanoseconds: bigint;
  /** Thousandths of a core, over the time before. */
  readonly millis: number;
}

/** A rate is of so much time at least. */
const leastMs = 10_000;

/**
 * The rates at which processor time is used, from counters that are read now and then. Those that are not read any more
 * are forgotten.
 */
export class UsageRates {
  #samples = new Map<string, Sample>();
  #next = new Map<string, Sample>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called before a round of readings: those that are missing in it are forgotten by the next. */
  begin(): void {
    this.#samples = new Map(this.#next);
    this.#next = new Map();
  }

  /** Returns the rate of a counter in thousandths of a core; 0 until there are two readings. */
  millis(id: string, {at, usageCoreNanoseconds, nanoCores}: CpuUsage): number {
    const nanoseconds = usageCoreNanoseconds ?? 0n;
    const known = this.#samples.get(id);
    const when = at || this.#clock.now();
    const elapsed = known ? when - known.at : 0;
    if (known && elapsed < leastMs && nanoseconds >= known.nanoseconds) {
      this.#next.set(id, known);
      return known.millis || (nanoCores ?? 0) / 1e6;
    }
    const millis =
      known && elapsed > 0 && nanoseconds >= known.nanoseconds
        ? Number(nanoseconds - known.nanoseconds) / 1e6 / (elapsed / 1000)
        : (nanoCores ?? 0) / 1e6;
    this.#next.set(id, {at: when, nanoseconds, millis});
    return millis;
  }
}
