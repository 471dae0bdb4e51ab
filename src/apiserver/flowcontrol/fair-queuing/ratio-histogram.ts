import type {Histogram, Labels} from '#src/base/meter.js';

const nanoseconds = 1_000_000;

/**
 * Records the distribution over time of a ratio: each value counts once for every nanosecond. Times are in ms of the
 * monotonic clock.
 */
export class RatioHistogram {
  readonly #series: ReturnType<Histogram['at']>;
  #numerator = 0;
  #denominator = 1;
  #at: number;

  constructor(histogram: Histogram, labels: Labels, now: number) {
    this.#series = histogram.at(labels);
    this.#at = now;
  }

  set(numerator: number, now: number): void {
    // A value that stays is recorded with the next one.
    if (numerator === this.#numerator) return;
    this.update(now);
    this.#numerator = numerator;
  }

  divideBy(denominator: number, now: number): void {
    this.update(now);
    this.#denominator = Math.max(denominator, 1);
  }

  /** Records the current value up to now. */
  update(now: number): void {
    const duration = now - this.#at;
    if (duration <= 0) return;
    this.#at = now;
    this.#series.observe(this.#numerator / this.#denominator, Math.round(duration * nanoseconds));
  }
}
