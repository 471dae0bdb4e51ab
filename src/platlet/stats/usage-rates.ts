import type {Clock} from '#src/base/clock.js';
import type {CpuUsage} from '#src/platlet/runtime/usage.js';

interface Sample {
  readonly at: number;
  readonly nanoseconds: bigint;
  /** Thousandths of a core over the last interval. */
  readonly millis: number;
}

/** The minimum interval of a rate. */
const leastMs = 10_000;

/** CPU usage rates, from cumulative counters that are sampled. Counters that are no longer sampled are dropped. */
export class UsageRates {
  #samples = new Map<string, Sample>();
  #next = new Map<string, Sample>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called before each round of samples: counters without a sample in a round are dropped at the next one. */
  begin(): void {
    this.#samples = new Map(this.#next);
    this.#next = new Map();
  }

  /** Returns the rate of a counter in thousandths of a core; 0 before the second sample. */
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
