import {Fifo} from './fifo.js';

/** Items of low priority are taken when no others are ready. */
export type Priority = 'normal' | 'low';

/** An item that is to be taken. */
export interface Waiting<T> {
  readonly item: T;
  priority: Priority;
  /** When it was added, by the monotonic clock. */
  readonly since: number;
}

/** How many raised items may stay among those of low priority, besides as many as there are of these. */
const spare = 1024;

/** The items of a queue that can be taken, in order of arrival within a priority. */
export class ReadyItems<T> {
  readonly #normal = new Fifo<Waiting<T>>();
  /** Those that do not have low priority any more have been raised, and are left out. */
  readonly #low = new Fifo<Waiting<T>>();
  #lowCount = 0;

  get size(): number {
    return this.#normal.size + this.#lowCount;
  }

  /** The number of items of one priority. */
  sizeOf(priority: Priority): number {
    return priority === 'low' ? this.#lowCount : this.#normal.size;
  }

  /** Adds an item that is not in the queue. */
  push(waiting: Waiting<T>): void {
    if (waiting.priority === 'normal') return this.#normal.push(waiting);
    this.#lowCount++;
    this.#low.push(waiting);
  }

  /** Gives an item of low priority that is in the queue normal priority. */
  raise(waiting: Waiting<T>): void {
    waiting.priority = 'normal';
    this.#lowCount--;
    this.#normal.push(waiting);
    if (this.#low.size > 2 * this.#lowCount + spare) this.#dropRaised();
  }

  shift(): Waiting<T> | undefined {
    if (this.#normal.size > 0) return this.#normal.shift();
    for (let waiting = this.#low.shift(); waiting !== undefined; waiting = this.#low.shift()) {
      if (waiting.priority === 'normal') continue;
      this.#lowCount--;
      return waiting;
    }
    return undefined;
  }

  #dropRaised(): void {
    for (let left = this.#low.size; left > 0; left--) {
      const waiting = this.#low.shift()!;
      if (waiting.priority === 'low') this.#low.push(waiting);
    }
  }
}
