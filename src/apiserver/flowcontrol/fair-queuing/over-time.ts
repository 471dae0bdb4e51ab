// The distributions of variables that change in steps, weighted by the time that they have each value.

import type {Histogram, Labels} from '#src/base/meter.js';

/** The distribution of a variable over a period, weighted by time. */
export interface Moments {
  readonly seconds: number;
  readonly average: number;
  /** The standard deviation. */
  readonly deviation: number;
  readonly highest: number;
}

/** Integrates a variable that changes in steps. Times are in ms of the monotonic clock. */
export class Integrator {
  #value = 0;
  #highest = 0;
  #at: number;
  #seconds = 0;
  #sum = 0;
  #squares = 0;

  constructor(now: number) {
    this.#at = now;
  }

  set(value: number, now: number): void {
    this.#advance(now);
    this.#value = value;
    if (value > this.#highest) this.#highest = value;
  }

  /** Returns the moments since the last reset, and starts a new period. */
  reset(now: number): Moments {
    this.#advance(now);
    const seconds = this.#seconds;
    const average = seconds > 0 ? this.#sum / seconds : 0;
    const variance = seconds > 0 ? this.#squares / seconds - average * average : 0;
    const moments = {seconds, average, deviation: Math.sqrt(Math.max(0, variance)), highest: this.#highest};
    this.#seconds = this.#sum = this.#squares = 0;
    this.#highest = this.#value;
    return moments;
  }

  #advance(now: number): void {
    const seconds = (now - this.#at) / 1000;
    if (seconds <= 0) return;
    this.#at = now;
    this.#seconds += seconds;
    this.#sum += this.#value * seconds;
    this.#squares += this.#value * this.#value * seconds;
  }
}

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
