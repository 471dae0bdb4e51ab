import type {Clock} from '#src/base/clock.js';

/** Thrown on a timeout. */
export const timeoutError = new Error('timeout');

/** Returns the result of a promise. Rejects with `late` after `ms`, or with the reason of an abort. */
export const withTimeout = <T>(clock: Clock, ms: number, promise: Promise<T>, signal?: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = clock.schedule(ms, () => reject(timeoutError));
    const aborted = () => reject(signal?.reason as Error);
    signal?.addEventListener('abort', aborted, {once: true});
    if (signal?.aborted) aborted();
    const settle = (): void => {
      timer[Symbol.dispose]();
      signal?.removeEventListener('abort', aborted);
    };
    promise.then(
      value => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error as Error);
      },
    );
  });
