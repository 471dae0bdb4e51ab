import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * What happened to a cached object. A resync is an update whose `old` is the very object.
 * `initial` marks what was there when the listener joined; `tombstone` a deletion seen only by a relist, whose object may be stale.
 */
export type Change<T extends KubeObject = KubeObject> =
  | {readonly type: 'added'; readonly object: Frozen<T>; readonly initial: boolean}
  | {readonly type: 'updated'; readonly object: Frozen<T>; readonly old: Frozen<T>}
  | {readonly type: 'deleted'; readonly object: Frozen<T>; readonly tombstone: boolean};

/** Whether a change tells nothing new: the periodic reminder, or the same version again. */
export const isResync = (change: Change): boolean =>
  change.type === 'updated' && change.object.metadata?.resourceVersion === change.old.metadata?.resourceVersion;
