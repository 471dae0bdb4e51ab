import {systemClock, type Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {LocalStore} from '#src/storage/local/store.js';
import type {Store} from '#src/storage/store.js';
import {claim, isOwned} from './claim.js';
import {noteClosed} from './closing.js';
import {dataFile, lockFile, mark, release, reopenable, reserve, unreplaced, unusable} from './directory.js';
import {hotDefaults, HotRanges, type HotLimits} from './hot-ranges.js';
import {EmbeddedEngine} from './engine.js';
import {mapDefaults, MappedTree, type MapOptions} from './mapped-tree.js';
import {Presence} from './presence.js';
import {shrunk, type ShrinkOptions} from './shrink.js';
import {treeSettings, type Tree} from './writes.js';

export interface EmbeddedStoreOptions {
  /** Created if missing, accessible to the owner only. */
  readonly directory: string;
  /** The naming of the stored objects; a store with another one is refused. */
  readonly naming: string;
  readonly clock?: Clock;
  readonly log?: Log;
  /**
   * The bound on the bytes of history, beyond which the oldest revisions are compacted; 256 MiB unless given, zero for
   * none.
   */
  readonly historyBytes?: number;
  /** Limits of the range cache. */
  readonly hot?: Partial<HotLimits>;
  /** When and how a start makes a data file smaller that is mostly free. */
  readonly shrink?: ShrinkOptions;
  /** How much of the data file stays mapped. */
  readonly map?: MapOptions;
}

const defaultHistoryBytes = 256 << 20;

/**
 * Opens or creates the store in a directory. Rejects with `StoreUnusable`, with one line for the user, when the
 * directory is not writable, another process has the store open, its format or naming differ, or its data are damaged,
 * cut off or missing.
 */
export const openEmbeddedStore = async (options: EmbeddedStoreOptions): Promise<Store> => {
  const {directory, naming, clock = systemClock, hot, log = noLog, historyBytes = defaultHistoryBytes, shrink, map} = options;
  // The native library is loaded only for this backend.
  const {open} = await import('lmdb');
  const {path, use} = await reserve(directory, clock);
  let tree: Tree | undefined;
  let presence: Presence | undefined;
  try {
    const checkUnreplaced = unreplaced(path);
    tree = open({path, ...treeSettings});
    checkUnreplaced();
    claim(tree, directory, naming);
    checkUnreplaced();
    mark(path, naming);
    let engine: EmbeddedEngine | undefined;
    const held = new Presence(path, lockFile, clock, () => engine?.lose());
    presence = held;
    const checkOwned = (): void => {
      checkUnreplaced();
      held.check();
    };
    tree = await shrunk(tree, {...shrink, path, naming, use, open, checkOwned, log, clock});
    held.check();
    held.noteLock();
    const reopen = (): Tree => {
      const again: Tree = open({path, ...treeSettings});
      if (!isOwned(again)) engine?.lose();
      return again;
    };
    const mapped = new MappedTree(tree, {...mapDefaults, ...map, clock, open: reopen, isReopenable: reopenable(path)});
    engine = new EmbeddedEngine(mapped, {
      directory: path,
      hot: new HotRanges(clock, {...hotDefaults, ...hot}),
      log,
      clock,
      historyBytes,
      isLockReplaced: () => held.isLockReplaced,
      release: isSound => {
        if (isSound) noteClosed(path, dataFile, log);
        held[Symbol.dispose]();
        release(path);
      },
    });
    const store = new LocalStore(engine, clock);
    engine.resume();
    return store;
  } catch (error) {
    presence?.[Symbol.dispose]();
    await tree?.close();
    release(path);
    throw unusable(directory, error);
  }
};
