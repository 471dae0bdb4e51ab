import type {Clock} from './clock.js';

/** A token bucket on monotonic time: `rate` tokens a second, at most `burst` saved up. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(clock: Clock, rate: number, burst: number) {
    this.#clock = clock;
    this.#rate = rate;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = clock.monotonic();
  }

  /** Takes a token if one is available. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Takes a token if one is available and returns 0, or returns in how many ms there will be one. */
  takeOrWait(): number {
    return this.tryTake() ? 0 : ((1 - this.#tokens) / this.#rate) * 1000;
  }

  /** Takes tokens, in advance if necessary, and returns how many ms to wait before using them. */
  reserve(count = 1): number {
    this.#fill();
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#rate) * 1000;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#rate);
    this.#at = now;
  }
}
