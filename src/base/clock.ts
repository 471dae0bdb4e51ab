/** The longest delay of a platform timer, in ms; longer waits are split. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * The only source of time. `now` is wall time in ms since the epoch and may jump; `monotonic` (ms, arbitrary origin)
 * never goes back. `hold` keeps a virtual clock from advancing until work in progress has ended; a real clock ignores
 * it.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /**
   * Runs `run` once after `afterMs` (never synchronously) unless disposed before. Errors and rejections go to
   * `unhandled`.
   */
  schedule(afterMs: number, run: () => unknown): Disposable;
  hold(): Disposable;
  /** Reports an error that no caller can receive: of a callback, or of a promise that is not awaited. Never throws. */
  unhandled(error: unknown): void;
  /** Keeps the process alive until disposed of. */
  keepAlive(): Disposable;
  /**
   * Calls `run` whenever something holds the time and nothing has happened for a second of real time, until disposed
   * of. Absent on clocks whose time passes by itself.
   */
  whenStalled?(run: () => void): Disposable;
}

const nothing: Disposable = {[Symbol.dispose]() {}};

/** Calls `run` and passes its error or rejection to `unhandled`. */
export const guarded = (run: () => unknown, unhandled: (error: unknown) => void): void => {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(unhandled);
  } catch (error) {
    unhandled(error);
  }
};

/** A timer of the system clock. Each request has one. */
class Timer implements Disposable {
  readonly #run: () => unknown;
  #left: number;
  #timer: NodeJS.Timeout;

  constructor(afterMs: number, run: () => unknown) {
    this.#run = run;
    this.#left = afterMs;
    this.#timer = this.#wait();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #wait(): NodeJS.Timeout {
    const piece = Math.min(this.#left, longestTimerMs);
    this.#left -= piece;
    return setTimeout(this.#elapsed, piece).unref();
  }

  readonly #elapsed = (): void => {
    if (this.#left > 0) this.#timer = this.#wait();
    else guarded(this.#run, systemClock.unhandled);
  };
}

/** The system clock. Its timers do not keep the process alive; unhandled errors become uncaught exceptions. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: (afterMs, run) => new Timer(Math.max(0, afterMs), run),
  hold: () => nothing,
  unhandled(error) {
    queueMicrotask(() => {
      throw error;
    });
  },
  keepAlive() {
    const timer = setInterval(() => {}, longestTimerMs);
    return {[Symbol.dispose]: () => clearInterval(timer)};
  },
};

/** Returns the clock with another handler for unhandled errors. */
export const withErrorHandler = (clock: Clock, unhandled: (error: unknown) => void): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  schedule: (afterMs, run) => clock.schedule(afterMs, () => guarded(run, unhandled)),
  hold: () => clock.hold(),
  keepAlive: () => clock.keepAlive(),
  ...(clock.whenStalled ? {whenStalled: run => clock.whenStalled!(run)} : {}),
  unhandled,
});

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export const sleep = (clock: Clock, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const timer = clock.schedule(ms, () => {
      signal?.removeEventListener('abort', cancel);
      resolve();
    });
    const cancel = () => {
      timer[Symbol.dispose]();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', cancel, {once: true});
  });

/**
 * Calls `run` every `periodMs`, the first time after one period, until the signal aborts. A function is asked for the
 * next period each time. Runs never overlap; a failure is reported and does not prevent the next run.
 */
export const runEvery = (clock: Clock, periodMs: number | (() => number), signal: AbortSignal, run: () => void | Promise<void>): void => {
  let timer: Disposable = nothing;
  const next = () => {
    if (signal.aborted) return;
    timer = clock.schedule(typeof periodMs === 'number' ? periodMs : periodMs(), async () => {
      try {
        await run();
      } finally {
        next();
      }
    });
  };
  signal.addEventListener('abort', () => timer[Symbol.dispose](), {once: true});
  next();
};

/** Holds the clock until `act` has settled. */
export const withClockHeld = async <T>(clock: Clock, act: () => Promise<T>): Promise<T> => {
  using _ = clock.hold();
  return await act();
};
