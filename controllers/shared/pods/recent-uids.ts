import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

const bound = new CacheBound('pod_uids', 1 << 20);

const maxUids = 500;

/** Returns a set of the UIDs of pods that were used most recently. */
export const recentUids = () => {
  const uids = new Lru<string, true>(bound, {bytesOf: () => 8, maxEntries: maxUids});
  return {
    add: (uid: string): void => uids.set(uid, true),
    has: (uid: string): boolean => uids.get(uid) !== undefined,
  };
};
