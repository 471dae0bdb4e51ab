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
