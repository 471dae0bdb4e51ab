import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Waiting} from './plugin.js';

/** The wait after a first failure, which doubles with each further one, and its maximum. */
const firstDelayMs = 500;
const maxDelayMs = 122_000;

interface Failure {
  readonly at: number;
  readonly delayMs: number;
}

/** What became of a request to run an operation. */
export type Started = 'started' | 'pending' | 'waiting';

/**
 * Slow operations in the background by name: one at a time for each name, and after a failure not before a wait that
 * grows.
 */
export class Operations {
  readonly #running = new Set<string>();
  /** By name, the oldest first; an entry is dropped once its wait is long past. */
  readonly #failures = new Map<string, Failure>();
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;

  constructor({clock, log, signal}: {readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal}) {
    this.#clock = clock;
    this.#log = log;
    this.#signal = signal;
  }

  isPending(name: string): boolean {
    return this.#running.has(name);
  }

  /** Whether an operation has failed and has to wait. */
  isWaiting(name: string): boolean {
    const failure = this.#failures.get(name);
    return failure !== undefined && this.#clock.monotonic() < failure.at + failure.delayMs;
  }

  /** Starts an operation, unless one of the name is running, or has failed and has to wait. */
  start(name: string, operation: (waiting: Waiting) => Promise<void>): Started {
    if (this.#running.has(name)) return 'pending';
    if (this.#signal.aborted || this.isWaiting(name)) return 'waiting';
    this.#running.add(name);
    this.#run(name, operation).catch((error: unknown) => this.#clock.unhandled(error));
    return 'started';
  }

  async #run(name: string, operation: (waiting: Waiting) => Promise<void>): Promise<void> {
    let hold = this.#clock.hold();
    const released = async <T>(wait: () => Promise<T>): Promise<T> => {
      hold[Symbol.dispose]();
      try {
        return await wait();
      } finally {
        hold = this.#clock.hold();
      }
    };
    const signal = this.#signal;
    try {
      await operation({signal, released, pause: ms => released(() => sleep(this.#clock, ms, signal))});
      this.#failures.delete(name);
    } catch (error) {
      if (!signal.aborted) this.#recordFailure(name, error);
    } finally {
      this.#running.delete(name);
      hold[Symbol.dispose]();
    }
  }

  #recordFailure(name: string, error: unknown): void {
    const at = this.#clock.monotonic();
    const before = this.#failures.get(name);
    const delayMs = before ? Math.min(before.delayMs * 2, maxDelayMs) : firstDelayMs;
    this.#failures.delete(name);
    this.#failures.set(name, {at, delayMs});
    for (const [other, failure] of this.#failures) {
      if (failure.at + 2 * maxDelayMs > at) break;
      this.#failures.delete(other);
    }
    this.#log.warn({operation: name, retryAfterMs: delayMs, err: error}, 'an operation on a volume failed');
  }
}
