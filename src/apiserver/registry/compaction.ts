import {every, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Store} from '#src/storage/store.js';

export interface CompactionSettings {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Zero turns compaction off. */
  readonly intervalMs: number;
}

/**
 * Compacts the store at each interval up to the revision of an interval earlier, so that the history of the last one or two intervals can always be read. Of the
 * servers that share a store, one compacts at each interval.
 */
export const compactRegularly = ({store, clock, log, intervalMs}: CompactionSettings, signal: AbortSignal): void => {
  if (intervalMs <= 0) return;
  let seen = 0;
  let turn = 0;
  every(clock, intervalMs, signal, async () => {
    using _ = clock.hold();
    try {
      const target = seen;
      if (store.takeTurn) {
        const {taken, next, revision} = await store.takeTurn(turn, target);
        turn = next;
        seen = revision;
        if (!taken) return;
      } else seen = await store.revision();
      if (target > (await store.compacted())) await store.compact(target);
    } catch (error) {
      if (!signal.aborted) log.error({err: error}, 'compacting the store failed; it is tried again');
    }
  });
};
