import {resolveIntOrPercent} from '#src/model/int-or-percent.js';
import {annotationsOf, wholeNumber, type AnnotationKeys} from './annotations.js';
import type {Deployment, ReplicaSet} from './kinds.js';
import {isActive, isObserved, presentIn, wantedIn, replicasOf} from './replica-sets.js';

export const isRolling = ({spec}: Deployment): boolean => spec?.strategy?.type === 'RollingUpdate';

/** Returns maxSurge and maxUnavailable as numbers. Never both 0, as no rollout could begin. */
const bounds = (deployment: Deployment): {readonly surge: number; readonly unavailable: number} => {
  const {maxSurge = 0, maxUnavailable = 0} = deployment.spec?.strategy?.rollingUpdate ?? {};
  const surge = resolveIntOrPercent(maxSurge, replicasOf(deployment), 'up');
  const unavailable = resolveIntOrPercent(maxUnavailable, replicasOf(deployment), 'down');
  return {surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable};
};

export const maxSurge = (deployment: Deployment): number => (isRolling(deployment) ? bounds(deployment).surge : 0);

export const maxUnavailable = (deployment: Deployment): number =>
  isRolling(deployment) && replicasOf(deployment) > 0 ? Math.min(bounds(deployment).unavailable, replicasOf(deployment)) : 0;

/**
 * Returns the size of the newest set, within the surge limit. `present` is its current size. Differs from upstream,
 * which counts requested pods only: while deletions of old pods fail, more than the limit exist there.
 */
export const newestSize = (deployment: Deployment, all: readonly ReplicaSet[], present: number): number => {
  const desired = replicasOf(deployment);
  if (!isRolling(deployment)) return desired;
  const room = desired + maxSurge(deployment) - presentIn(all);
  return room <= 0 ? present : present + Math.min(room, desired - present);
};

/** Whether the set alone has all requested pods, and they are available. */
export const isSaturated = (deployment: Deployment, set: ReplicaSet | undefined, keys: AnnotationKeys): boolean => {
  const desired = replicasOf(deployment);
  return (
    set !== undefined &&
    isObserved(set) &&
    replicasOf(set) === desired &&
    wholeNumber(annotationsOf(set)[keys.desired]) === desired &&
    (set.status?.availableReplicas ?? 0) === desired
  );
};

/**
 * Returns the set that gets the size of the deployment: the only active one, or the newest if none is active. Undefined
 * where several are active.
 */
export const onlyActive = (newest: ReplicaSet | undefined, old: readonly ReplicaSet[]): ReplicaSet | undefined => {
  const active = [...old, ...(newest ? [newest] : [])].filter(isActive);
  if (active.length > 1) return undefined;
  return active[0] ?? newest ?? old.at(-1);
};

const rounded = (value: number): number => (value < 0 ? Math.trunc(value - 0.5) : Math.trunc(value + 0.5));

/** Returns by how much a set grows or shrinks proportionally. */
const proportion = (set: ReplicaSet, deployment: Deployment, keys: AnnotationKeys): number => {
  const size = replicasOf(set);
  if (replicasOf(deployment) === 0) return -size;
  const before = wholeNumber(annotationsOf(set)[keys.maxReplicas]) || (deployment.status?.replicas ?? 0);
  return before === 0 ? 0 : rounded((size * (replicasOf(deployment) + maxSurge(deployment))) / before) - size;
};

/**
 * Returns the sizes of all active sets when the deployment is scaled during a rollout: each proportionally, the
 * remainder to the largest, in the order in which they are to be written. `sets` are in order of age.
 */
export const proportionalSizes = (
  deployment: Deployment,
  sets: readonly ReplicaSet[],
  keys: AnnotationKeys,
): readonly (readonly [ReplicaSet, number])[] => {
  const desired = replicasOf(deployment);
  const change = (desired > 0 ? desired + maxSurge(deployment) : 0) - wantedIn(sets);
  // Of sets of equal size the newer are scaled up first, the older down first.
  const inOrder = change > 0 ? sets.toReversed() : change < 0 ? [...sets] : sets;
  const ordered = change === 0 ? inOrder : inOrder.toSorted((a, b) => replicasOf(b) - replicasOf(a));
  let left = change;
  const sizes = ordered.map((set): [ReplicaSet, number] => {
    const delta =
      left === 0 ? 0 : change > 0 ? Math.min(proportion(set, deployment, keys), left) : Math.max(proportion(set, deployment, keys), left);
    left -= delta;
    return [set, replicasOf(set) + delta];
  });
  const [largest] = sizes;
  if (largest && left !== 0) largest[1] = Math.max(0, largest[1] + left);
  return sizes;
};
