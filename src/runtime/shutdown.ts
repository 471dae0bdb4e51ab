import {setMaxListeners} from 'node:events';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';

/** Resolves when the signal aborts. */
export const abortOf = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), {once: true});
  });

/**
 * Waits for all promises, at most `timeoutMs` (0: no limit), and logs the names of those still running every third of
 * it. Returns whether all ended in time.
 */
export const allEnded = async (
  running: ReadonlyMap<string, Promise<unknown>>,
  {clock, log, timeoutMs}: {clock: Clock; log: Log; timeoutMs: number},
): Promise<boolean> => {
  const left = new Set(running.keys());
  const ends = [...running].map(([name, end]) => end.then(() => left.delete(name)));
  const timers: Disposable[] = [];
  const remind = (everyMs: number): void => {
    timers[0] = clock.schedule(everyMs, () => {
      log.info({controllers: [...left]}, 'controllers are still running');
      remind(everyMs);
    });
  };
  remind(timeoutMs > 0 ? timeoutMs / 3 : 5000);
  const late = new Promise<false>(resolve => {
    if (timeoutMs > 0) timers[1] = clock.schedule(timeoutMs, () => resolve(false));
  });
  try {
    return await Promise.race([Promise.all(ends).then(() => true), late]);
  } finally {
    for (const timer of timers) timer[Symbol.dispose]();
  }
};

/** The end of a run: as requested, or because a part of it failed. */
export class Ending implements Disposable {
  readonly #clock: Clock;
  readonly #own = new AbortController();
  readonly #following: Disposable;
  readonly #failures: unknown[] = [];
  #since: number | undefined;

  constructor(clock: Clock, requested: AbortSignal) {
    this.#clock = clock;
    setMaxListeners(0, this.#own.signal);
    this.#following = onAbort(requested, () => this.#end(requested.reason));
  }

  /** Aborts when the run has to end. */
  get signal(): AbortSignal {
    return this.#own.signal;
  }

  fail(error: unknown): void {
    this.#failures.push(error);
    this.#end(error);
  }

  throwIfFailed(): void {
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Returns what is left of a grace period that began with the end; 0 is no limit, and stays so. */
  leftOf(graceMs: number): number {
    if (graceMs === 0 || this.#since === undefined) return graceMs;
    return Math.max(1, graceMs - (this.#clock.monotonic() - this.#since));
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
  }

  #end(reason: unknown): void {
    this.#since ??= this.#clock.monotonic();
    this.#own.abort(reason);
  }
}
