import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import type {KubeObject} from '#src/api/types.js';

/** Tracks the last version that a controller wrote of each object, so that it does not act on a stale cache. */
export interface OwnWrites {
  wrote(object: Frozen<KubeObject>): void;
  /** Whether the cached object is older than the last write. The event of the newer one will follow. */
  isStale(cached: Frozen<KubeObject>): boolean;
  forget(key: string): void;
}

export const ownWrites = (): OwnWrites => {
  const last = new Map<string, {readonly uid: string | undefined; readonly version: string}>();
  return {
    wrote: object => void last.set(keyText(keyOf(object)), {uid: object.metadata?.uid, version: object.metadata?.resourceVersion ?? ''}),
    isStale(cached) {
      const written = last.get(keyText(keyOf(cached)));
      return (
        written !== undefined &&
        written.uid === cached.metadata?.uid &&
        isOlderVersion(cached.metadata?.resourceVersion ?? '', written.version)
      );
    },
    forget: key => void last.delete(key),
  };
};
