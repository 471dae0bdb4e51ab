import {annotationsOf, sizeAnnotations, wholeNumber} from './annotations.js';
import {isRolling, isSaturated, maxSurge, onlyActive, proportionalSizes} from './sizes.js';
import type {ReplicaSet} from './kinds.js';
import {isActive, replicasOf} from './replica-sets.js';
import type {DeploymentSync} from './sync.js';

/** Sets the size of a replica set and its size annotations. Returns whether the size changed. */
const resize = async (sync: DeploymentSync, set: ReplicaSet, size: number): Promise<boolean> => {
  const {deployment, context} = sync;
  const annotations = sizeAnnotations(replicasOf(deployment), replicasOf(deployment) + maxSurge(deployment), context.keys);
  const before = replicasOf(set);
  const hasAnnotations = Object.entries(annotations).every(([key, value]) => annotationsOf(set)[key] === value);
  if (before === size && hasAnnotations) return false;
  const {name} = set.metadata ?? {};
  await sync.updateSet({
    ...set,
    metadata: {...set.metadata, annotations: {...annotationsOf(set), ...annotations}},
    spec: {...set.spec!, replicas: size},
  });
  if (before === size) return false;
  context.events.normal(
    deployment,
    'ScalingReplicaSet',
    `Scaled ${before < size ? 'up' : 'down'} replica set ${name} from ${before} to ${size}`,
  );
  return true;
};

/** Scales a replica set, unless it has the size. */
export const scaleTo = (sync: DeploymentSync, set: ReplicaSet, size: number): Promise<boolean> =>
  replicasOf(set) === size ? Promise.resolve(false) : resize(sync, set, size);

/** Whether the deployment was scaled since its replica sets were last sized. */
export const isScaled = ({deployment, all, context}: DeploymentSync): boolean =>
  all.filter(isActive).some(set => {
    const recorded = wholeNumber(annotationsOf(set)[context.keys.desired]);
    return recorded !== undefined && recorded !== replicasOf(deployment);
  });

/** Scales the replica sets proportionally to the deployment, without progressing a rollout. */
export const scale = async (sync: DeploymentSync): Promise<void> => {
  const {deployment, newest, old, all, context} = sync;
  const only = onlyActive(newest, old);
  if (only) {
    await scaleTo(sync, only, replicasOf(deployment));
  } else if (isSaturated(deployment, newest, context.keys)) {
    for (const set of old.filter(isActive)) await scaleTo(sync, set, 0);
  } else if (isRolling(deployment)) {
    for (const [set, size] of proportionalSizes(deployment, all.filter(isActive), context.keys)) await resize(sync, set, size);
  }
};
