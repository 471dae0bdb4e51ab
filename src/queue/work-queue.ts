import type {Clock} from '#src/base/clock.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {Delays} from './delays.js';
import {QueueMetrics, type QueueLabels} from './queue-metrics.js';
import {ReadyItems, type Priority, type Waiting} from './ready-items.js';
import {defaultLimiter, type RateLimiter} from './rate-limiter.js';

export interface WorkQueueOptions<T> {
  readonly clock: Clock;
  /** The `name` label of the queue's metrics. */
  readonly name: string;
  readonly meter?: Meter;
  /** Whose labels the metrics have. Default: those of client-go. */
  readonly labels?: QueueLabels | undefined;
  readonly limiter?: RateLimiter<T>;
}

export type {Priority};

/**
 * Keys without duplicates, in order of arrival within a priority. An item that is added while it waits is not added
 * twice; one that is added while it is processed is queued again when it is done. So an item is never processed by two
 * workers at once, and no event is lost. An item that is added with low and with normal priority has the normal one. A
 * delayed item keeps the priority that it was last taken with, until it is added with a higher one.
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
  readonly #ready = new ReadyItems<T>();
  readonly #dirty = new Map<T, Waiting<T>>();
  readonly #processing = new Map<T, Priority>();
  /** Items in the delays that are to come back with low priority. */
  readonly #lowDelayed = new Set<T>();
  readonly #delays: Delays<T>;
  readonly #waitingForRoom = new Set<{readonly limit: number; readonly proceed: () => void}>();
  readonly #workers = new Map<() => void, number>();
  #hold: Disposable | undefined;
  #paused = 0;
  #closed = false;

  constructor({clock, name, meter = noMeter, labels, limiter = defaultLimiter(clock)}: WorkQueueOptions<T>) {
    this.name = name;
    this.clock = clock;
    this.#limiter = limiter;
    this.#metrics = new QueueMetrics({clock, meter, name, labels}, this.#ready);
    this.#delays = new Delays(clock, item => this.add(item, this.#lowDelayed.delete(item) ? 'low' : 'normal'));
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

  /** Queues `item`. If it is queued already its priority is raised at most. Does nothing after shutdown. */
  add(item: T, priority: Priority = 'normal'): void {
    if (this.#closed) return;
    if (this.#isKnown(item, priority)) return;
    this.#metrics.added(1);
    if (this.#put({item, priority, since: this.clock.monotonic()})) this.#announce(1);
  }

  /** As `add`, for many items, which costs less together. */
  addAll(items: readonly T[], priority: Priority = 'normal'): void {
    if (this.#closed) return;
    const since = this.clock.monotonic();
    let added = 0;
    let ready = 0;
    for (const item of items) {
      if (this.#isKnown(item, priority)) continue;
      added++;
      if (this.#put({item, priority, since})) ready++;
    }
    this.#metrics.added(added);
    if (ready > 0) this.#announce(ready);
  }

  /**
   * Queues `item` after `afterMs`; of two delays the earlier counts. A direct `add` does not cancel the delay. Without
   * a priority an item in process keeps the one that it was taken with.
   */
  addAfter(item: T, afterMs: number, priority = this.#processing.get(item) ?? 'normal'): void {
    if (this.#closed) return;
    this.#metrics.retried();
    if (afterMs <= 0) return this.add(item, priority);
    if (priority === 'normal') this.#lowDelayed.delete(item);
    else if (!this.#delays.has(item)) this.#lowDelayed.add(item);
    this.#delays.add(item, afterMs);
  }

  /** Queues an item that failed, after the limiter's delay. */
  addRateLimited(item: T): void {
    if (!this.#closed) this.addAfter(item, this.#limiter.delay(item));
  }

  /**
   * Resolves once fewer than `limit` items can be taken, or after shutdown; undefined if that is so now. For producers
   * that can wait.
   */
  room(limit: number): Promise<void> | undefined {
    if (this.#closed || this.#ready.size < limit) return undefined;
    return new Promise(resolve => this.#waitingForRoom.add({limit, proceed: resolve}));
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
    const waiting = this.#ready.shift();
    if (!waiting) return undefined;
    const {item, priority, since} = waiting;
    this.#processing.set(item, priority);
    this.#dirty.delete(item);
    this.#metrics.taken(item, since);
    this.#giveRoom();
    return item;
  }

  /** Ends the processing of an item that `take` returned. */
  done(item: T): void {
    if (!this.#processing.delete(item)) return;
    this.#metrics.done(item);
    const again = this.#dirty.get(item);
    if (again) this.#ready.push(again);
    if (again) this.#announce(1);
    else this.#holdWhileBusy();
  }

  /**
   * Stops an item in process from holding the clock, until the returned handle is disposed: the worker only waits for
   * time to pass.
   */
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
   * Calls `callback` once for each item that becomes ready, until the returned handle is disposed, and at once for
   * those that are. The caller processes at most `concurrency` items at a time, and takes others when it is done.
   */
  onReady(concurrency: number, callback: () => void): Disposable {
    this.#workers.set(callback, concurrency);
    this.#holdWhileBusy();
    for (let waiting = Math.min(concurrency, this.#ready.size); waiting > 0; waiting--) callback();
    return {
      [Symbol.dispose]: () => {
        this.#workers.delete(callback);
        this.#holdWhileBusy();
      },
    };
  }

  /**
   * Accepts no more items and drops the delayed ones. Ready items can still be taken, and items in process can be
   * finished.
   */
  shutDown(): void {
    this.#closed = true;
    this.#delays.clear();
    this.#lowDelayed.clear();
    this.#giveRoom();
    this.#metrics[Symbol.dispose]();
  }

  /** Returns whether an item is queued already, whose priority is then raised at most. */
  #isKnown(item: T, priority: Priority): boolean {
    const known = this.#dirty.get(item);
    if (!known) return false;
    if (known.priority === priority || known.priority === 'normal') return true;
    if (this.#processing.has(item)) known.priority = priority;
    else this.#ready.raise(known);
    return true;
  }

  /** Adds an item that is not queued yet. Returns whether it can be taken now. */
  #put(waiting: Waiting<T>): boolean {
    this.#dirty.set(waiting.item, waiting);
    if (this.#processing.has(waiting.item)) return false;
    this.#ready.push(waiting);
    return true;
  }

  /** Tells the workers of items that can be taken now. */
  #announce(count: number): void {
    this.#holdWhileBusy();
    for (const [callback, concurrency] of this.#workers) for (let left = Math.min(count, concurrency); left > 0; left--) callback();
  }

  #giveRoom(): void {
    for (const waiting of this.#waitingForRoom) {
      if (!this.#closed && this.#ready.size >= waiting.limit) continue;
      this.#waitingForRoom.delete(waiting);
      waiting.proceed();
    }
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
