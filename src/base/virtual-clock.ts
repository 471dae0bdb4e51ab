import {guarded, type Clock} from './clock.js';
import {Heap} from './heap.js';

interface Timer {
  at: number;
  order: number;
  run: (() => unknown) | undefined;
}

/** How many idle turns of the event loop mean that all work is done. */
const quietTurns = 3;

/**
 * The time is stalled once something holds it, and nothing has begun or ended to hold it for so long in real time and
 * in so many turns of the event loop: a process that got no processor time is not stalled.
 */
const stalledAfterMs = 1000;
const stalledTurns = 200;
/** After so many turns without a change, each takes a millisecond at least. */
const busyTurns = 100;

/**
 * A clock for tests that moves only by `advance`. `advance` steps from timer to timer; before each step it waits until
 * no `hold` is open and the event loop has been quiet, so that all effects of a step precede the next one. Timers due
 * together run in the order they were set. `advance` and `drain` throw the first error that no other caller can
 * receive.
 */
export class VirtualClock implements Clock {
  #now: number;
  readonly #start: number;
  /** How far the wall clock is off the time that has passed. */
  #jumped = 0;
  #order = 0;
  #holds = 0;
  /** Counts what begins and ends to hold the time. */
  #changes = 0;
  #failures: unknown[] = [];
  readonly #stalled = new Set<() => void>();
  readonly #timers = new Heap<Timer>((a, b) => a.at - b.at || a.order - b.order);

  constructor(start: number | string = '2026-01-01T00:00:00Z') {
    this.#now = this.#start = typeof start === 'number' ? start : Date.parse(start);
  }

  /** Returns a clock at the same time, wall and monotonic, without the timers of this one. */
  copy(): VirtualClock {
    const copy = new VirtualClock(this.#start);
    copy.#now = this.#now;
    copy.#jumped = this.#jumped;
    return copy;
  }

  now(): number {
    return this.#now + this.#jumped;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  schedule(afterMs: number, run: () => unknown): Disposable {
    const timer: Timer = {at: this.#now + Math.max(0, afterMs), order: this.#order++, run};
    this.#timers.push(timer);
    return {
      [Symbol.dispose]() {
        timer.run = undefined;
      },
    };
  }

  hold(): Disposable {
    this.#holds++;
    this.#changes++;
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        this.#holds--;
        this.#changes++;
      },
    };
  }

  whenStalled(run: () => void): Disposable {
    this.#stalled.add(run);
    return {[Symbol.dispose]: () => void this.#stalled.delete(run)};
  }

  unhandled(error: unknown): void {
    this.#failures.push(error);
  }

  /** Does nothing: the process does not depend on virtual time. */
  keepAlive(): Disposable {
    return {[Symbol.dispose]() {}};
  }

  /** How many pieces of work hold the time. */
  get holds(): number {
    return this.#holds;
  }

  /**
   * Resolves once nothing is held and the event loop has been quiet; time does not move. Rejects with the reason of the
   * signal once that is aborted.
   */
  async drain(signal?: AbortSignal): Promise<void> {
    await this.quiet(0, signal);
    const failures = this.#failures;
    this.#failures = [];
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Resolves once nothing but the caller's own holds is held and the event loop has been quiet. Leaves errors to
   * `advance` and `drain`.
   */
  async quiet(ownHolds = 0, signal?: AbortSignal): Promise<void> {
    const stall = new Stall();
    for (let quiet = 0; quiet < quietTurns;) {
      signal?.throwIfAborted();
      await stall.turn();
      quiet = this.#holds <= ownHolds ? quiet + 1 : 0;
      if (stall.isReached(this.#changes) && quiet === 0) for (const run of this.#stalled) run();
    }
  }

  /**
   * Moves time by `ms`, running every timer that falls due on the way at its own moment. Rejects with the reason of the
   * signal once that is aborted.
   */
  async advance(ms: number, signal?: AbortSignal): Promise<void> {
    const target = this.#now + ms;
    await this.drain(signal);
    for (;;) {
      const next = this.#timers.peek();
      if (!next || next.at > target) break;
      this.#timers.pop();
      if (!next.run) continue;
      this.#now = Math.max(this.#now, next.at);
      guarded(next.run, error => this.unhandled(error));
      await this.drain(signal);
    }
    this.#now = target;
  }

  /** Sets the wall clock forward or back, as an administrator may: timers and the monotonic clock do not notice. */
  jump(ms: number): void {
    this.#jumped += ms;
  }

  /** When the next timer is due, in milliseconds since the epoch of `now`; undefined without any. */
  get next(): number | undefined {
    const times = this.#timers.filter(timer => timer.run !== undefined).map(({at}) => at);
    return times.length === 0 ? undefined : times.reduce((first, at) => Math.min(first, at)) + this.#jumped;
  }

  /** The number of pending timers: a test that ends with some has leaked them. */
  get pending(): number {
    return this.#timers.filter(timer => timer.run !== undefined).length;
  }
}

/** The turns of the event loop since something has changed. */
class Stall {
  #changes = -1;
  #turns = 0;
  #since = 0;

  turn(): Promise<void> {
    return new Promise(resolve => (this.#turns < busyTurns ? setImmediate(resolve) : setTimeout(resolve, 1)));
  }

  /** To be called in each turn. Returns whether nothing has changed for long; the time until the next begins anew. */
  isReached(changes: number): boolean {
    const now = performance.now();
    if (changes !== this.#changes) {
      this.#changes = changes;
      this.#begin(now);
      return false;
    }
    if (++this.#turns < stalledTurns || now - this.#since < stalledAfterMs) return false;
    this.#begin(now);
    return true;
  }

  #begin(now: number): void {
    this.#turns = 0;
    this.#since = now;
  }
}
