import type {Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** Evicts one node. Returns in how many ms to retry, or undefined when done. */
export type EvictNode = (node: string) => Promise<number | undefined>;

/**
 * The nodes of a zone to evict, one after another, rate limited. An evicted node is not queued again before it is
 * removed.
 */
export class EvictionQueue {
  readonly #clock: Clock;
  #rate: number;
  #bucket: TokenBucket | undefined;
  /** When each is due, in order. */
  readonly #waiting = new Map<string, number>();
  readonly #known = new Set<string>();

  constructor(clock: Clock, rate: number) {
    this.#clock = clock;
    this.#rate = rate;
    this.#bucket = bucketOf(clock, rate);
  }

  /** Whether a later call may evict anything. */
  get isBusy(): boolean {
    return this.#waiting.size > 0 && this.#bucket !== undefined;
  }

  /** Returns whether the node was not queued before. */
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

  /** Sets the rate per second; 0 stops evictions. Repeated changes do not grant additional tokens. */
  setRate(rate: number): void {
    if (rate === this.#rate) return;
    const bucket = bucketOf(this.#clock, rate);
    if (!this.#bucket?.tryTake()) bucket?.tryTake();
    this.#rate = rate;
    this.#bucket = bucket;
  }

  /** Evicts the nodes that are due, as far as the rate allows. */
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
