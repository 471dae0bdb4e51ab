import type {Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** Deals with one node; the answer says in how many ms to try again, or that it is dealt with. */
export type EvictNode = (node: string) => Promise<number | undefined>;

/**
 * The nodes of a zone that are to be given up, one after the other, no faster than a rate. A node that was dealt with is not taken again before it is
 * removed.
 */
export class EvictionQueue {
  readonly #clock: Clock;
  #rate: number;
  #bucket: TokenBucket | undefined;
  /** When each is due, in their order. */
  readonly #waiting = new Map<string, number>();
  readonly #known = new Set<string>();

  constructor(clock: Clock, rate: number) {
    this.#clock = clock;
    this.#rate = rate;
    this.#bucket = bucketOf(clock, rate);
  }

  /** Whether anything may happen if it is asked again. */
  get isBusy(): boolean {
    return this.#waiting.size > 0 && this.#bucket !== undefined;
  }

  /** Whether it was not known before. */
  add(node: string): boolean {
    if (this.#known.has(node)) return false;
    this.#known.add(node);
    this.#waiting.set(node, this.#clock.monotonic());
    return true;
  }

  isWaiting(node: string): boolean {
    return this.#waiting.has(node);
  }

  remove(node: string): void {
    this.#waiting.delete(node);
    this.#known.delete(node);
  }

  /** From now on so many a second; none at 0. Who changes the rate again and again is not given more by it. */
  setRate(rate: number): void {
    if (rate === this.#rate) return;
    const bucket = bucketOf(this.#clock, rate);
    if (!this.#bucket?.tryTake()) bucket?.tryTake();
    this.#rate = rate;
    this.#bucket = bucket;
  }

  /** Deals with as many as are due and may be dealt with now. */
  async process(evict: EvictNode): Promise<void> {
    for (;;) {
      const [head] = this.#waiting;
      if (!head || !this.#bucket?.tryTake()) return;
      const [node, dueAt] = head;
      if (dueAt > this.#clock.monotonic()) return;
      const retryAfterMs = await evict(node);
      if (this.#waiting.get(node) !== dueAt) continue; // It was removed meanwhile.
      this.#waiting.delete(node);
      if (retryAfterMs !== undefined) this.#waiting.set(node, this.#clock.monotonic() + retryAfterMs + 1);
    }
  }
}

const bucketOf = (clock: Clock, rate: number): TokenBucket | undefined => (rate > 0 ? new TokenBucket(clock, rate, 1) : undefined);
