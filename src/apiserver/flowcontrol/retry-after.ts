const longestSeconds = 32;

/** The rejections within one second. */
interface Second {
  readonly at: number;
  count: number;
}

/**
 * The value of `Retry-After` for the rejected requests of one priority level, in seconds: it is doubled while many
 * requests are rejected, and decreased by one each second once few are.
 */
export class RetryAfter {
  #seconds = 1;
  #raisedAt = -Infinity;
  #current: Second | undefined;
  #history: Second[] = [];

  get seconds(): number {
    return this.#seconds;
  }

  /** Counts a rejection; `now` is in ms. */
  rejected(now: number): void {
    const at = Math.floor(now / 1000);
    if (this.#current?.at === at) return void this.#current.count++;
    if (this.#current) this.#history.push(this.#current);
    const kept = Math.min(2 * this.#seconds, longestSeconds);
    this.#history = this.#history.filter(second => at - second.at <= kept);
    this.#current = {at, count: 1};
    this.#adapt(at);
  }

  #adapt(now: number): void {
    const period = this.#seconds;
    let rejected = 0;
    for (const {at, count} of this.#history) if (now - at <= period) rejected += count;
    if (now - this.#raisedAt >= period && rejected >= 3 * period) {
      this.#seconds = Math.min(2 * period, longestSeconds);
      this.#raisedAt = now;
    } else if (rejected < period && period > 1) this.#seconds = period - 1;
  }
}
