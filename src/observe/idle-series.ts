/** How long a series is shown after its last change: as long as Prometheus looks back for a value. */
export const idleMs = 5 * 60_000;

/**
 * Decides which series of a metric are left out of an exposition because they have not changed for a while. Nothing is
 * noted when a value is recorded: scrapes notice the changes. A series that comes back has its whole value, so that
 * rates are right over the gap.
 */
export class IdleSeries {
  readonly #now: () => number;
  readonly #seen = new Map<string, {total: number; since: number}>();

  /** `now` is a monotonic time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes the total of a series, and returns whether it has been the same for long. */
  isIdle(key: string, total: number): boolean {
    const now = this.#now();
    const seen = this.#seen.get(key);
    if (seen?.total === total) return now - seen.since >= idleMs;
    this.#seen.set(key, {total, since: now});
    return false;
  }
}
