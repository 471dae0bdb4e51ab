import {onAbort} from '#src/base/signals.js';

/** Returns the result of a promise, or rejects with the reason of the signal as soon as it aborts. */
export const interruptible = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const listener = onAbort(signal, () => reject(signal.reason as Error));
    promise.then(resolve, reject).finally(() => listener[Symbol.dispose]());
  });
