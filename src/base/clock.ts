/** The longest delay a timer of the platform takes, in ms; longer waits are cut into pieces. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * The only source of time. `now` is wall time in ms since the epoch and may jump; `monotonic` (ms, arbitrary origin) never goes
 * back. `hold` tells a virtual clock that work is under way which must end before time may move; a real clock ignores it.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Runs `run` once after `afterMs` (zero or less: soon, never at once) unless disposed before. What it throws, or its promise rejects with, goes to `unhandled`. */
  schedule(afterMs: number, run: () => unknown): Disposable;
  hold(): Disposable;
  /** Takes an error that no caller can receive: of a callback, or of a promise that nobody awaits. Never throws. */
  unhandled(error: unknown): void;
  /** Keeps the process running until disposed of, where the clock's timers alone do not. */
  keepAlive(): Disposable;
}

const nothing: Disposable = {[Symbol.dispose]() {}};

/** Calls `run`; what it throws or rejects with goes to `unhandled`. */
export const guarded = (run: () => unknown, unhandled: (error: unknown) => void): void => {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(unhandled);
  } catch (error) {
    unhandled(error);
  }
};

/** The machine's clock. Its timers do not keep a process alive on their own; errors that nobody can receive become uncaught exceptions of the process. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(afterMs, run) {
    let left = Math.max(0, afterMs);
    let timer: NodeJS.Timeout;
    const wait = () => {
      const piece = Math.min(left, longestTimerMs);
      left -= piece;
      timer = setTimeout(() => (left > 0 ? wait() : guarded(run, systemClock.unhandled)), piece);
      timer.unref();
    };
    wait();
    return {[Symbol.dispose]: () => clearTimeout(timer)};
  },
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

/** The same clock, but with `unhandled` as the one who takes errors that no caller can receive. */
export const withErrorHandler = (clock: Clock, unhandled: (error: unknown) => void): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  schedule: (afterMs, run) => clock.schedule(afterMs, () => guarded(run, unhandled)),
  hold: () => clock.hold(),
  keepAlive: () => clock.keepAlive(),
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

/** Calls `run` every `periodMs`, the first time after one period, until the signal aborts. Runs never overlap; one that fails is reported and the next comes all the same. */
export const every = (clock: Clock, periodMs: number, signal: AbortSignal, run: () => void | Promise<void>): void => {
  const next = () => {
    if (signal.aborted) return;
    const timer = clock.schedule(periodMs, async () => {
      signal.removeEventListener('abort', cancel);
      try {
        await run();
      } finally {
        next();
      }
    });
    const cancel = () => timer[Symbol.dispose]();
    signal.addEventListener('abort', cancel, {once: true});
  };
  next();
};

/** Holds the clock until `act` is done. */
export const held = async <T>(clock: Clock, act: () => Promise<T>): Promise<T> => {
  using _ = clock.hold();
  return await act();
};
