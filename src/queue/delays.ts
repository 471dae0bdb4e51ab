import type {Clock} from '#src/base/clock.js';
import {Heap} from '#src/base/heap.js';

/** The longest delay, about ten years: a longer one would overflow and is never due within the life of a process. */
const longestMs = 10 * 365 * 86_400_000;

interface DelayedItem<T> {
  readonly item: T;
  readonly at: number;
  readonly order: number;
}

/**
 * Returns items to a queue at their time, with one timer for all of them. An item that is added twice comes back at the
 * earlier of the two times.
 */
export class Delays<T> {
  readonly #clock: Clock;
  readonly #due: (item: T) => void;
  readonly #heap = new Heap<DelayedItem<T>>((a, b) => a.at - b.at || a.order - b.order);
  /** The current entry of each item; other entries in the heap are stale. */
  readonly #waiting = new Map<T, DelayedItem<T>>();
  #order = 0;
  #timer: {readonly at: number; readonly handle: Disposable} | undefined;

  constructor(clock: Clock, due: (item: T) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(item: T): boolean {
    return this.#waiting.has(item);
  }

  add(item: T, afterMs: number): void {
    // Rounded up to whole milliseconds: with fractions a timer can fire before its time by the clock, and would be set
    // again for ever.
    const at = this.#clock.monotonic() + Math.ceil(Math.min(afterMs, longestMs));
    const known = this.#waiting.get(item);
    if (known && known.at <= at) return;
    const entry = {item, at, order: this.#order++};
    this.#waiting.set(item, entry);
    this.#heap.push(entry);
    this.#arm();
  }

  clear(): void {
    this.#timer?.handle[Symbol.dispose]();
    this.#timer = undefined;
    this.#waiting.clear();
    while (this.#heap.pop());
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (!next || (this.#timer && this.#timer.at <= next.at)) return;
    this.#timer?.handle[Symbol.dispose]();
    const wait = Math.max(0, next.at - this.#clock.monotonic());
    this.#timer = {at: next.at, handle: this.#clock.schedule(wait, () => this.#fire())};
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let next = this.#heap.peek(); next && next.at <= now; next = this.#heap.peek()) {
      this.#heap.pop();
      if (this.#waiting.get(next.item) !== next) continue;
      this.#waiting.delete(next.item);
      this.#due(next.item);
    }
    this.#arm();
  }
}
