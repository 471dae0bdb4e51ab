import {Fifo} from './fifo.js';

/** Items of low priority are taken when no others are ready. */
export type Priority = 'normal' | 'low';

/** How many raised items may stay among those of low priority, besides as many as there are of these. */
const spare = 1024;

/** The items of a queue that can be taken, in order of arrival within a priority. */
export class ReadyItems<T> {
  readonly #normal = new Fifo<T>();
  readonly #low = new Fifo<T>();
  /** Items of low priority; those that are in `#low` alone have been raised. */
  readonly #isLow = new Set<T>();

  get size(): number {
    return this.#normal.size + this.#isLow.size;
  }

  /** The number of items of one priority. */
  sizeOf(priority: Priority): number {
    return priority === 'low' ? this.#isLow.size : this.#normal.size;
  }

  /** Adds an item that is not in the queue. */
  push(item: T, priority: Priority): void {
    if (priority === 'normal') return this.#normal.push(item);
    this.#isLow.add(item);
    this.#low.push(item);
  }

  /** Gives an item normal priority. Does nothing if it has it, or is not in the queue. */
  raise(item: T): void {
    if (!this.#isLow.delete(item)) return;
    this.#normal.push(item);
    if (this.#low.size > 2 * this.#isLow.size + spare) this.#dropRaised();
  }

  shift(): T | undefined {
    if (this.#normal.size > 0) return this.#normal.shift();
    for (let item = this.#low.shift(); item !== undefined; item = this.#low.shift()) if (this.#isLow.delete(item)) return item;
    return undefined;
  }

  #dropRaised(): void {
    const waiting = new Set(this.#isLow);
    for (let left = this.#low.size; left > 0; left--) {
      const item = this.#low.shift() as T;
      if (waiting.delete(item)) this.#low.push(item);
    }
  }
}
