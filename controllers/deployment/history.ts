import {isNotFound} from '#src/api/status.js';
import {historyLimitOf, replicasOf, type ReplicaSet} from './kinds.js';
import {byRevision} from './replica-sets.js';
import type {Round} from './round.js';

const isIdle = (set: ReplicaSet): boolean => {
  const {replicas = 0, observedGeneration = 0} = set.status ?? {};
  return replicasOf(set) === 0 && replicas === 0 && observedGeneration >= (set.metadata?.generation ?? 0);
};

/** Deletes the old sets beyond the limit, those of the lowest revisions, unless they have pods still. */
export const forgetOld = async ({deployment, old, desk}: Round): Promise<void> => {
  const limit = historyLimitOf(deployment);
  if (limit === undefined) return;
  const kept = old.filter(({metadata}) => !metadata?.deletionTimestamp);
  const surplus = kept.toSorted(byRevision(desk.keys)).slice(0, Math.max(0, kept.length - limit));
  for (const set of surplus.filter(isIdle)) {
    await desk.sets.delete(set).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
};
