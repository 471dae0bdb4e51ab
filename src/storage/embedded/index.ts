import {systemClock, type Clock} from '#src/base/clock.js';
import {LocalStore} from '#src/storage/local/store.js';
import type {Store} from '#src/storage/store.js';
import {claim} from './claim.js';
import {release, reserve, unusable} from './directory.js';
import {hotDefaults, HotRanges, type HotLimits} from './hot-ranges.js';
import {EmbeddedEngine} from './engine.js';
import {treeSettings, type Tree} from './writes.js';

export interface EmbeddedStoreOptions {
  /** Created if missing, for the owner only. */
  readonly directory: string;
  /** The naming of the stored objects; a store with another one is refused. */
  readonly naming: string;
  readonly clock?: Clock;
  /** Limits of the range cache. */
  readonly hot?: Partial<HotLimits>;
}

/**
 * Opens or creates the store in a directory. Rejects with `StoreUnusable`, with one line for the user, when the directory is not
 * writable, another process has the store open, or its format or naming differ.
 */
export const openEmbeddedStore = async ({directory, naming, clock = systemClock, hot}: EmbeddedStoreOptions): Promise<Store> => {
  // The native library is loaded only for this backend.
  const {open} = await import('lmdb');
  const path = reserve(directory);
  let tree: Tree | undefined;
  try {
    tree = open({path, ...treeSettings});
    claim(tree, directory, naming);
    const engine = new EmbeddedEngine(tree, path, new HotRanges(clock, {...hotDefaults, ...hot}), () => release(path));
    const store = new LocalStore(engine, clock);
    void engine.sweep().catch(() => {}); // The next compaction continues the sweep.
    return store;
  } catch (error) {
    await tree?.close();
    release(path);
    throw unusable(directory, error);
  }
};
