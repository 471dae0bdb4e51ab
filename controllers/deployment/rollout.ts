import {controlledBy} from '#controllers/shared/children/children.js';
import {isTerminal} from '#src/model/pod/state.js';
import {ensureNewest} from './newest.js';
import {replicasOf, type ReplicaSet} from './kinds.js';
import {countedIn, isActive, wantedIn} from './replica-sets.js';
import type {DeploymentSync} from './sync.js';
import {scaleTo} from './scaling.js';
import {maxUnavailable, newestSize} from './sizes.js';

const available = ({status}: ReplicaSet): number => status?.availableReplicas ?? 0;

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

/** Scales old sets down while enough pods stay available: unhealthy pods first. */
const scaleDownOld = async (sync: DeploymentSync): Promise<boolean> => {
  const {deployment, newest} = sync;
  if (wantedIn(sync.old) === 0) return false;
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const missing = newest ? replicasOf(newest) - available(newest) : 0;
  const budget = wantedIn(sync.all) - minAvailable - missing;
  if (budget <= 0) return false;
  const unhealthy = await scaleDown(sync, budget, set => replicasOf(set) - available(set));
  const counted = sync.all.filter(set => set === sync.newest || isActive(set));
  const surplus = countedIn(counted, 'availableReplicas') - minAvailable;
  const healthy = await scaleDown(sync, surplus, replicasOf);
  return unhealthy + healthy > 0;
};

/** One step of a rolling update: scales the newest set up, or else the old ones down. Returns whether anything changed. */
export const roll = async (sync: DeploymentSync): Promise<boolean> => {
  await ensureNewest(sync);
  const {deployment} = sync;
  const newest = sync.newest!;
  const desired = replicasOf(deployment);
  const size = replicasOf(newest) >= desired ? desired : newestSize(deployment, sync.all, replicasOf(newest));
  return (await scaleTo(sync, newest, size)) || (await scaleDownOld(sync));
};

const hasOldPods = ({old, context}: DeploymentSync): boolean =>
  countedIn(old, 'replicas') > 0 || old.some(set => controlledBy(context.pods, set).some(pod => !isTerminal(pod)));

/** One step of Recreate: creates the newest set when no old pod is left. Returns whether old pods remain. */
export const replace = async (sync: DeploymentSync): Promise<boolean> => {
  let isShrinking = false;
  for (const set of sync.old.filter(isActive)) isShrinking = (await scaleTo(sync, set, 0)) || isShrinking;
  if (isShrinking || hasOldPods(sync)) return true;
  await ensureNewest(sync);
  await scaleTo(sync, sync.newest!, replicasOf(sync.deployment));
  return false;
};
