import {isNotFound} from '#src/api/status.js';
import type {Deployment, ReplicaSet} from './kinds.js';
import {byRevision, isActive, isObserved} from './replica-sets.js';
import type {DeploymentSync} from './sync.js';

const withoutLimit = 2 ** 31 - 1;

/** Returns how many old replica sets are kept; undefined for all. */
const historyLimitOf = ({spec}: Deployment): number | undefined =>
  spec?.revisionHistoryLimit === withoutLimit ? undefined : spec?.revisionHistoryLimit;

const isIdle = (set: ReplicaSet): boolean => !isActive(set) && (set.status?.replicas ?? 0) === 0 && isObserved(set);

/** Deletes the old replica sets beyond the history limit, lowest revisions first, unless they still have pods. */
export const cleanupHistory = async ({deployment, old, context}: DeploymentSync): Promise<void> => {
  const limit = historyLimitOf(deployment);
  if (limit === undefined) return;
  const kept = old.filter(({metadata}) => !metadata?.deletionTimestamp);
  const surplus = kept.toSorted(byRevision(context.keys)).slice(0, Math.max(0, kept.length - limit));
  for (const set of surplus.filter(isIdle)) {
    await context.sets.delete(set).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
};
