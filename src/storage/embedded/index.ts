import {systemClock, type Clock} from '#src/base/clock.js';
import {LocalStore} from '#src/storage/local/store.js';
import type {Store} from '#src/storage/store.js';
import {claim} from './claim.js';
import {release, reserve, unusable} from './directory.js';
import {hotDefaults, HotRanges, type HotLimits} from './hot-ranges.js';
import {keyEncoder} from './layout.js';
import {EmbeddedEngine} from './engine.js';
import type {Tree} from './writes.js';

export interface EmbeddedStoreOptions {
  /** Made if it is not there, for the owner alone. */
  readonly directory: string;
  /** The vocabulary of the objects in the store; one written with another is refused. */
  readonly naming: string;
  readonly clock?: Clock;
  /** Which ranges are kept in memory. */
  readonly hot?: Partial<HotLimits>;
}

/**
 * Opens the store in a directory, or begins one there. Throws `StoreUnusable` with one line for the user when the directory cannot be
 * written, another process has the store open, or it was written in another format or naming.
 */
export const openEmbeddedStore = async ({directory, naming, clock = systemClock, hot}: EmbeddedStoreOptions): Promise<Store> => {
  // The native library is loaded only by those who choose this backend.
  const {open} = await import('lmdb');
  const path = reserve(directory);
  let tree: Tree | undefined;
  try {
    // Without overlappingSync a write resolves only once it is on disk. Batching by turns would leave promises nobody holds, whose
    // rejection on a full disk ends the process; batches are explicit instead.
    tree = open({path, overlappingSync: false, eventTurnBatching: false, encoding: 'binary', keyEncoder, maxDbs: 1});
    claim(tree, directory, naming);
    const engine = new EmbeddedEngine(tree, path, new HotRanges(clock, {...hotDefaults, ...hot}), () => release(path));
    const store = new LocalStore(engine, clock);
    void engine.sweep().catch(() => {}); // The next compaction would take it along.
    return store;
  } catch (error) {
    await tree?.close();
    release(path);
    throw unusable(directory, error);
  }
};
