import type {Clock} from '#src/base/clock.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {Delays} from './delays.js';
import {Fifo} from './fifo.js';
import {QueueMetrics} from './queue-metrics.js';
import {defaultLimiter, type RateLimiter} from './rate-limiter.js';

export interface WorkQueueOptions<T> {
  readonly clock: Clock;
  /** The `name` label of the queue's metrics. */
  readonly name: string;
  readonly meter?: Meter;
  readonly limiter?: RateLimiter<T>;
}

/**
 * Keys without duplicates, in order of arrival. An item that is added while it waits is not added twice; one that is added while it is processed is queued
 * again when it is done. So an item is never processed by two workers at once, and no event is lost.
 *
 *     add ─> dirty ─> ready ─take─> processing ─done─> removed, or ready again if dirty meanwhile
 *
 * Items in process hold the clock, and so do ready ones for which a worker is free.
 */
export class WorkQueue<T = string> {
  readonly name: string;
  readonly clock: Clock;
  readonly #limiter: RateLimiter<T>;
  readonly #metrics: QueueMetrics<T>;
  readonly #ready = new Fifo<T>();
  readonly #dirty = new Set<T>();
  readonly #processing = new Set<T>();
  readonly #delays: Delays<T>;
  readonly #workers = new Map<() => void, number>();
  #hold: Disposable | undefined;
  #paused = 0;
  #closed = false;

  constructor({clock, name, meter = noMeter, limiter = defaultLimiter(clock)}: WorkQueueOptions<T>) {
    this.name = name;
    this.clock = clock;
    this.#limiter = limiter;
    this.#metrics = new QueueMetrics(clock, meter, name, () => this.#ready.size);
    this.#delays = new Delays(clock, item => this.add(item));
  }

  /** The number of items that can be taken now. */
  get size(): number {
    return this.#ready.size;
  }

  /** The number of items that wait for their delay. */
  get waiting(): number {
    return this.#delays.size;
  }

  get isShutDown(): boolean {
    return this.#closed;
  }

  /** Queues `item`. Does nothing if it is queued already, or after shutdown. */
  add(item: T): void {
    if (this.#closed || this.#dirty.has(item)) return;
    this.#dirty.add(item);
    this.#metrics.added(item);
    if (!this.#processing.has(item)) this.#enqueue(item);
  }

  /** Queues `item` after `afterMs`; of two delays the earlier counts. A direct `add` does not cancel the delay. */
  addAfter(item: T, afterMs: number): void {
    if (this.#closed) return;
    this.#metrics.retried();
    if (afterMs > 0) this.#delays.add(item, afterMs);
    else this.add(item);
  }

  /** Queues an item that failed, after the limiter's delay. */
  addRateLimited(item: T): void {
    if (!this.#closed) this.addAfter(item, this.#limiter.delay(item));
  }

  /** Resets the failures of an item that succeeded. */
  forget(item: T): void {
    this.#limiter.forget(item);
  }

  /** Returns how many times in a row the item was added for a failure. */
  retries(item: T): number {
    return this.#limiter.retries(item);
  }

  /** Returns the next item, which belongs to the caller until `done`; undefined when none is ready. */
  take(): T | undefined {
    if (this.#ready.size === 0) return undefined;
    const item = this.#ready.shift() as T;
    this.#dirty.delete(item);
    this.#processing.add(item);
    this.#metrics.taken(item);
    return item;
  }

  /** Ends the processing of an item that `take` returned. */
  done(item: T): void {
    if (!this.#processing.delete(item)) return;
    this.#metrics.done(item);
    if (this.#dirty.has(item)) this.#enqueue(item);
    this.#holdWhileBusy();
  }

  /** Stops an item in process from holding the clock, until the returned handle is disposed: the worker only waits for time to pass. */
  pauseHold(): Disposable {
    let isPaused = true;
    this.#paused++;
    this.#holdWhileBusy();
    return {
      [Symbol.dispose]: () => {
        if (isPaused) this.#paused--;
        isPaused = false;
        this.#holdWhileBusy();
      },
    };
  }

  /**
   * Calls `callback` once for each item that can be taken, including those ready now, until the returned handle is disposed. The caller
   * processes at most `concurrency` items at a time.
   */
  onReady(concurrency: number, callback: () => void): Disposable {
    this.#workers.set(callback, concurrency);
    this.#holdWhileBusy();
    for (let waiting = this.#ready.size; waiting > 0; waiting--) callback();
    return {
      [Symbol.dispose]: () => {
        this.#workers.delete(callback);
        this.#holdWhileBusy();
      },
    };
  }

  /** Accepts no more items and drops the delayed ones. Ready items can still be taken, and items in process can be finished. */
  shutDown(): void {
    this.#closed = true;
    this.#delays.clear();
    this.#metrics[Symbol.dispose]();
  }

  #enqueue(item: T): void {
    this.#ready.push(item);
    this.#holdWhileBusy();
    for (const callback of this.#workers.keys()) callback();
  }

  #concurrency(): number {
    let concurrency = 0;
    for (const each of this.#workers.values()) concurrency += each;
    return concurrency;
  }

  #holdWhileBusy(): void {
    // Busy while an item is being processed, or a ready one has a free worker.
    const isBusy = this.#processing.size > this.#paused || (this.#ready.size > 0 && this.#processing.size < this.#concurrency());
    if (isBusy) this.#hold ??= this.clock.hold();
    else {
      this.#hold?.[Symbol.dispose]();
      this.#hold = undefined;
    }
  }
}
