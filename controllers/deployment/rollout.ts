import {controlledBy} from '#controllers/shared/children/children.js';
import {isTerminal} from '#src/model/pod/state.js';
import {ensureNewest} from './newest.js';
import {maxUnavailable, newestSize} from './sizes.js';
import type {ReplicaSet} from './kinds.js';
import {countedIn, isActive, isObserved, wantedIn, replicasOf} from './replica-sets.js';
import type {DeploymentSync} from './sync.js';
import {scaleTo} from './scaling.js';

const uidOf = ({metadata}: ReplicaSet): string => metadata?.uid ?? '';

/**
 * Returns the available pods of the sets, by uid, whose status tells them: it describes the present spec, and no
 * surplus of pods is being deleted. Whatever the status of another says, its pods may be gone already.
 */
const knownAvailability = (sets: readonly ReplicaSet[]): ReadonlyMap<string, number> =>
  new Map(
    sets.flatMap(set => {
      const available = set.status?.availableReplicas ?? 0;
      return isObserved(set) && available <= replicasOf(set) ? [[uidOf(set), available]] : [];
    }),
  );

/** Scales old sets down, the oldest first: at most `budget` pods, and of each set at most `spare`. Returns how many. */
const scaleDown = async (sync: DeploymentSync, budget: number, spare: (set: ReplicaSet) => number): Promise<number> => {
  let removed = 0;
  for (const set of sync.old.filter(isActive)) {
    const count = Math.min(budget - removed, spare(set));
    if (count <= 0) continue;
    await scaleTo(sync, set, replicasOf(set) - count);
    removed += count;
  }
  return removed;
};

/** Scales old sets down while enough pods are known to stay available: unhealthy pods first. */
const scaleDownOld = async (sync: DeploymentSync): Promise<boolean> => {
  const {deployment, newest} = sync;
  if (wantedIn(sync.old) === 0) return false;
  const known = knownAvailability(sync.all);
  const available = (set: ReplicaSet): number => known.get(uidOf(set)) ?? 0;
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const missing = newest ? replicasOf(newest) - available(newest) : 0;
  const budget = wantedIn(sync.all) - minAvailable - missing;
  if (budget <= 0) return false;
  const unhealthy = await scaleDown(sync, budget, set => (known.has(uidOf(set)) ? replicasOf(set) - available(set) : 0));
  const surplus = sync.all.reduce((sum, set) => sum + available(set), 0) - minAvailable;
  const healthy = await scaleDown(sync, surplus, set => (known.has(uidOf(set)) ? replicasOf(set) : 0));
  return unhealthy + healthy > 0;
};

/**
 * One step of a rolling update: scales the newest set up, or else the old ones down. Returns whether anything changed.
 */
export const roll = async (sync: DeploymentSync): Promise<boolean> => {
  await ensureNewest(sync);
  const {deployment} = sync;
  const newest = sync.newest!;
  const desired = replicasOf(deployment);
  const size = replicasOf(newest) >= desired ? desired : newestSize(deployment, sync.all, replicasOf(newest));
  return (await scaleTo(sync, newest, size)) || (await scaleDownOld(sync));
};

/** A set whose status is behind may have created pods that no cache knows yet. */
const hasOldPods = ({old, context}: DeploymentSync): boolean =>
  !old.every(isObserved) ||
  countedIn(old, 'replicas') > 0 ||
  old.some(set => controlledBy(context.pods, set).some(pod => !isTerminal(pod)));

/** One step of Recreate: creates the newest set when no old pod is left. Returns whether old pods remain. */
export const replace = async (sync: DeploymentSync): Promise<boolean> => {
  let isShrinking = false;
  for (const set of sync.old.filter(isActive)) isShrinking = (await scaleTo(sync, set, 0)) || isShrinking;
  if (isShrinking || hasOldPods(sync)) return true;
  await ensureNewest(sync);
  await scaleTo(sync, sync.newest!, replicasOf(sync.deployment));
  return false;
};
