import {setMaxListeners} from 'node:events';

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
