import {setMaxListeners} from 'node:events';

/** Who waits for a signal to abort, and the one listener of theirs. */
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
 * Calls `run` when the signal aborts, unless disposed of before; at once if it has aborted. A signal has one listener however many wait for it: more than ten look like a
 * leak to Node.js, which warns of them.
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

/** A signal that aborts with the first of several, until it is disposed of. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Links signals for the time of one piece of work. Unlike `AbortSignal.any`, whose answers Node.js 20 never frees while one of their sources and a
 * listener live, it leaves nothing behind on a source once it is disposed of.
 */
export const firstOf = (...sources: readonly (AbortSignal | undefined)[]): LinkedSignal => {
  const linked = new AbortController();
  setMaxListeners(0, linked.signal); // As many may wait for it as like.
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
