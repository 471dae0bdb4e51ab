import {setMaxListeners} from 'node:events';

/** Who waits for a signal to abort, and the one listener of theirs. */
interface Waiting {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const waitingFor = new WeakMap<AbortSignal, Waiting>();

const waitingOn = (signal: AbortSignal): Waiting => {
  const known = waitingFor.get(signal);
  if (known) return known;
  const runs = new Set<() => void>();
  const listener = () => {
    for (const run of runs) run();
  };
  signal.addEventListener('abort', listener, {once: true});
  const waiting = {runs, listener};
  waitingFor.set(signal, waiting);
  return waiting;
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
  const {runs, listener} = waitingOn(signal);
  const own = () => run();
  runs.add(own);
  return {
    [Symbol.dispose]() {
      if (!runs.delete(own) || runs.size > 0) return;
      signal.removeEventListener('abort', listener);
      waitingFor.delete(signal);
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
