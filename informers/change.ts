import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * A change of a cached object. A resync is an update whose `old` is the same object. `initial` marks objects of the
 * first list, and those that were cached when the listener was added; `tombstone` marks a deletion that was found by a
 * relist, whose object may be stale.
 */
export type Change<T extends KubeObject = KubeObject> =
  | {readonly type: 'added'; readonly object: Frozen<T>; readonly initial: boolean}
  | {readonly type: 'updated'; readonly object: Frozen<T>; readonly old: Frozen<T>}
  | {readonly type: 'deleted'; readonly object: Frozen<T>; readonly tombstone: boolean};

/** Returns whether a change is none: an object of the first list, or a resync. */
export const isOnlyListed = (change: Change): boolean => (change.type === 'added' && change.initial) || isResync(change);

/** Returns whether a change is a resync, or has the same resource version again. */
export const isResync = (change: Change): boolean =>
  change.type === 'updated' && change.object.metadata?.resourceVersion === change.old.metadata?.resourceVersion;
