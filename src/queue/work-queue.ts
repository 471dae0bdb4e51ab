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
 * Items that need a look, each at most once: one that is added while it waits is not added twice, one that is added while it is
 * worked on comes back when that is done. So no item is ever in two hands, and no event is lost. First come, first served.
 *
 *     add ─> dirty ─> ready ─take─> processing ─done─> gone, or ready again if dirty meanwhile
 *
 * Items in work hold the clock, and so do ready ones for which a hand is free.
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

  /** How many items can be taken now. */
  get size(): number {
    return this.#ready.size;
  }

  /** How many items wait for their time. */
  get waiting(): number {
    return this.#delays.size;
  }

  get isShutDown(): boolean {
    return this.#closed;
  }

  /** Asks for a look at `item`. Does nothing while one is due anyway, or after shut-down. */
  add(item: T): void {
    if (this.#closed || this.#dirty.has(item)) return;
    this.#dirty.add(item);
    this.#metrics.added(item);
    if (!this.#processing.has(item)) this.#enqueue(item);
  }

  /** Asks for a look at `item` in `afterMs`; of two such wishes the earlier counts. A direct `add` does not take it back. */
  addAfter(item: T, afterMs: number): void {
    if (this.#closed) return;
    this.#metrics.retried();
    if (afterMs > 0) this.#delays.add(item, afterMs);
    else this.add(item);
  }

  /** Asks for a look at an item that failed, as soon as the limiter allows. */
  addRateLimited(item: T): void {
    if (!this.#closed) this.addAfter(item, this.#limiter.delay(item));
  }

  /** The item did well: its failures are forgotten. */
  forget(item: T): void {
    this.#limiter.forget(item);
  }

  /** How often in a row the item was added for a failure. */
  retries(item: T): number {
    return this.#limiter.retries(item);
  }

  /** The next item, now the taker's until `done`; undefined when none is ready. */
  take(): T | undefined {
    if (this.#ready.size === 0) return undefined;
    const item = this.#ready.shift() as T;
    this.#dirty.delete(item);
    this.#processing.add(item);
    this.#metrics.taken(item);
    return item;
  }

  /** Gives back what `take` handed out. */
  done(item: T): void {
    if (!this.#processing.delete(item)) return;
    this.#metrics.done(item);
    if (this.#dirty.has(item)) this.#enqueue(item);
    this.#holdWhileBusy();
  }

  /** An item in work only waits for time to pass, until the answer is disposed of: it does not hold the clock meanwhile. */
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

  /** Calls `ready` once for each item that can be taken, those that wait already included, until the answer is disposed of. The servant has `hands` items at work at most. */
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

  /** Takes nothing more in and drops what waits for its time. What is ready can still be taken, what is in work still be given back. */
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
    // Something is being done, or will be without time passing: a hand is free.
    const isBusy = this.#processing.size > this.#paused || (this.#ready.size > 0 && this.#processing.size < this.#concurrency());
    if (isBusy) this.#hold ??= this.clock.hold();
    else {
      this.#hold?.[Symbol.dispose]();
      this.#hold = undefined;
    }
  }
}
