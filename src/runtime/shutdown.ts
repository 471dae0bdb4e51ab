import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';

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
