import type {InformerFactory} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import {isAvailable} from './condition.js';

/** Whether a set of APIServices has become available, each at least once. */
export interface Completion {
  /** Throws while some are missing. */
  check(): void;
  /** Resolves once none is missing. Rejects when the signal aborts before. */
  reached(signal: AbortSignal): Promise<void>;
}

/** Tracks when each of the names was available. */
export const completionOf = (informers: InformerFactory, names: Iterable<string>): Completion => {
  const pending = new Set(names);
  let isDone = () => {};
  const done = new Promise<void>(resolve => {
    isDone = resolve;
  });
  if (pending.size === 0) isDone();
  const listening = informers.informer(kinds.apiServices).listen(change => {
    const name = change.object.metadata?.name ?? '';
    if (change.type === 'deleted' || !isAvailable(change.object) || !pending.delete(name) || pending.size > 0) return;
    isDone();
  });
  void done.then(() => listening[Symbol.dispose]());
  return {
    check() {
      if (pending.size > 0) throw new Error(`missing APIService: [${[...pending].sort().join(' ')}]`);
    },
    async reached(signal) {
      signal.throwIfAborted();
      await Promise.race([
        done,
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), {once: true})),
      ]);
    },
  };
};
