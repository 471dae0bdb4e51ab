import {aggregate} from '#controllers/shared/aggregate.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {isTracked, type CachedPod, type JobNames} from './kinds.js';

/** Pods whose finalizer was removed while the cache may still show it, by job key. */
export interface Releases {
  expect(key: string, uids: Iterable<string>): void;
  /** Called when the cache shows the pod without the finalizer, or never will. */
  seen(key: string, uid: string): void;
  of(key: string): ReadonlySet<string>;
  forget(key: string): void;
}

const noUids: ReadonlySet<string> = new Set();

export const releases = (): Releases => {
  const expected = new Map<string, Set<string>>();
  return {
    expect(key, uids) {
      const known = expected.get(key) ?? new Set();
      for (const uid of uids) known.add(uid);
      if (known.size > 0) expected.set(key, known);
    },
    seen(key, uid) {
      const known = expected.get(key);
      if (known?.delete(uid) && known.size === 0) expected.delete(key);
    },
    of: key => new Set(expected.get(key) ?? noUids),
    forget: key => void expected.delete(key),
  };
};

/** Removes the finalizer of a pod. Returns whether it had one. Rejects as the server does. */
export type Untrack = (pod: CachedPod) => Promise<boolean>;

export const untracker = ({writer}: Pick<KeyedContext, 'writer'>, marks: JobNames): Untrack => {
  const pods = writer(kinds.pods);
  return async pod => {
    if (!isTracked(pod, marks)) return false;
    // The UID makes the patch conditional on this pod.
    await pods.patch(pod, 'strategic', {metadata: {uid: pod.metadata?.uid, '$deleteFromPrimitiveList/finalizers': [marks.finalizer]}});
    return true;
  };
};

export interface Released {
  /** UIDs of pods without the finalizer. */
  readonly uids: ReadonlySet<string>;
  readonly error: Error | undefined;
}

/** Removes the finalizers of pods of a job, concurrently. A deleted pod counts as without. */
export const releasePods = async (
  key: string,
  pods: readonly CachedPod[],
  {untrack, expected}: {readonly untrack: Untrack; readonly expected: Releases},
): Promise<Released> => {
  const uids = new Set<string>();
  const errors: unknown[] = [];
  expected.expect(
    key,
    pods.map(({metadata}) => metadata?.uid ?? ''),
  );
  await Promise.all(
    pods.map(async pod => {
      const uid = pod.metadata?.uid ?? '';
      try {
        await untrack(pod);
        uids.add(uid);
      } catch (error) {
        // The cache will not show a change.
        expected.seen(key, uid);
        if (isNotFound(error)) uids.add(uid);
        else errors.push(error);
      }
    }),
  );
  return {uids, error: aggregate(errors)};
};
