import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import type {KubeObject} from '#src/api/types.js';

/** Knows what a controller wrote last of each object, so that it does not act on a state that it has changed itself. */
export interface OwnWrites {
  wrote(object: Frozen<KubeObject>): void;
  /** Whether the cached object is from before the last write. The change that brings the newer one is yet to come. */
  isStale(cached: Frozen<KubeObject>): boolean;
  forget(key: string): void;
}

export const ownWrites = (): OwnWrites => {
  const last = new Map<string, {readonly uid: string | undefined; readonly version: string}>();
  return {
    wrote: object => void last.set(keyText(keyOf(object)), {uid: object.metadata?.uid, version: object.metadata?.resourceVersion ?? ''}),
    isStale(cached) {
      const written = last.get(keyText(keyOf(cached)));
      return written !== undefined && written.uid === cached.metadata?.uid && isOlderVersion(cached.metadata?.resourceVersion ?? '', written.version);
    },
    forget: key => void last.delete(key),
  };
};
