import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Store} from '#src/storage/store.js';

export interface CompactionSettings {
  /** Each of its parts is compacted. */
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Zero turns compaction off. */
  readonly intervalMs: number;
}

/**
 * Compacts the store at each interval up to the revision of an interval earlier, so that the history of the last one or
 * two intervals can always be read. Of the servers that share a store, one compacts at each interval. A store that
 * keeps a note is compacted at once where the interval ended while no server ran.
 */
export const compactRegularly = (settings: CompactionSettings, signal: AbortSignal): void => {
  if (settings.intervalMs <= 0) return;
  for (const store of settings.store.parts ?? [settings.store]) compactOne({...settings, store}, signal);
};

const compactOne = ({store, clock, log, intervalMs}: CompactionSettings, signal: AbortSignal): void => {
  const noted = store.noted?.();
  const age = noted ? clock.now() - noted.at : -1;
  // The age of a revision is unknown if its note is of the future.
  let seen = age < 0 ? 0 : noted!.revision;
  let turn = 0;
  const compact = async () => {
    using _ = clock.hold();
    try {
      const target = seen;
      if (store.takeTurn) {
        const {taken, next, revision} = await store.takeTurn(turn, target);
        turn = next;
        seen = revision;
        if (!taken) return;
      } else {
        seen = await store.revision();
        await store.note?.({revision: seen, at: clock.now()});
      }
      if (target > (await store.compacted())) await store.compact(target);
    } catch (error) {
      if (!signal.aborted) log.error({err: error}, 'compacting the store failed; it is tried again');
    }
  };
  if (!store.note) return runEvery(clock, intervalMs, signal, compact);
  const first = clock.schedule(age < 0 ? 0 : Math.max(0, intervalMs - age), async () => {
    await compact();
    runEvery(clock, intervalMs, signal, compact);
  });
  signal.addEventListener('abort', () => first[Symbol.dispose](), {once: true});
};
