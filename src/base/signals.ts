import {setMaxListeners} from 'node:events';

/** The callbacks for one signal, and the single listener that runs them. */
interface AbortCallbacks {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const callbacksBySignal = new WeakMap<AbortSignal, AbortCallbacks>();

const callbacksOf = (signal: AbortSignal): AbortCallbacks => {
  const known = callbacksBySignal.get(signal);
  if (known) return known;
  const callbacks = new Set<() => void>();
  const listener = () => {
    for (const run of callbacks) run();
  };
  signal.addEventListener('abort', listener, {once: true});
  const entry = {callbacks, listener};
  callbacksBySignal.set(signal, entry);
  return entry;
};

/**
 * Calls `run` when the signal aborts, unless disposed of before; at once if it has aborted. All callbacks of a signal
 * share one listener, since Node.js warns of a leak at more than ten.
 */
export const onAbort = (signal: AbortSignal, run: () => void): Disposable => {
  if (signal.aborted) {
    run();
    return {[Symbol.dispose]() {}};
  }
  const {callbacks, listener} = callbacksOf(signal);
  const own = () => run();
  callbacks.add(own);
  return {
    [Symbol.dispose]() {
      if (!callbacks.delete(own) || callbacks.size > 0) return;
      signal.removeEventListener('abort', listener);
      callbacksBySignal.delete(signal);
    },
  };
};

/**
 * The reason of `abort()` without one, made once: Node.js makes an exception with a stack for each call, which takes
 * longer than the rest of it.
 */
export const aborted = new DOMException('This operation was aborted', 'AbortError');

/** A signal linked to others until it is disposed of. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Returns a signal that aborts with the first of several. Unlike with `AbortSignal.any`, whose signals Node.js 20 never
 * frees while a source and a listener live, nothing stays on the sources once it is disposed of.
 */
export const firstOf = (...sources: readonly (AbortSignal | undefined)[]): LinkedSignal => {
  const linked = new AbortController();
  setMaxListeners(0, linked.signal); // No warning about many listeners.
  const undo: (() => void)[] = [];
  const unlink = () => undo.splice(0).forEach(step => step());
  for (const source of sources) {
    if (!source) continue;
    const abort = () => {
      unlink();
      linked.abort(source.reason);
    };
    if (source.aborted) {
      abort();
      break;
    }
    source.addEventListener('abort', abort, {once: true});
    undo.push(() => source.removeEventListener('abort', abort));
  }
  return {signal: linked.signal, [Symbol.dispose]: unlink};
};

/** Resolves or rejects as `work`, or rejects with the signal's reason if that aborts first. */
export const unlessAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, {once: true});
    work.then(
      value => {
        signal.removeEventListener('abort', abort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', abort);
        reject(error as Error);
      },
    );
  });
