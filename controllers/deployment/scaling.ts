import {annotationsOf, sizeAnnotations, wholeNumber} from './annotations.js';
import {isRolling, replicasOf, type ReplicaSet} from './kinds.js';
import {isActive} from './replica-sets.js';
import type {Round} from './round.js';
import {isSaturated, maxSurge, onlyActive, proportionalSizes} from './sizes.js';

/** Gives a set its size, and notes in it what the deployment asked for. Tells whether the size is another one. */
const resize = async (round: Round, set: ReplicaSet, size: number): Promise<boolean> => {
  const {deployment, desk} = round;
  const notes = sizeAnnotations(replicasOf(deployment), replicasOf(deployment) + maxSurge(deployment), desk.keys);
  const before = replicasOf(set);
  const isNoted = Object.entries(notes).every(([key, value]) => annotationsOf(set)[key] === value);
  if (before === size && isNoted) return false;
  const {name} = set.metadata ?? {};
  await round.updateSet({...set, metadata: {...set.metadata, annotations: {...annotationsOf(set), ...notes}}, spec: {...set.spec!, replicas: size}});
  if (before === size) return false;
  desk.events.normal(deployment, 'ScalingReplicaSet', `Scaled ${before < size ? 'up' : 'down'} replica set ${name} from ${before} to ${size}`);
  return true;
};

/** Gives a set its size, unless it has it. */
export const scaleTo = (round: Round, set: ReplicaSet, size: number): Promise<boolean> => (replicasOf(set) === size ? Promise.resolve(false) : resize(round, set, size));

/** Whether somebody gave the deployment another size since its sets were last sized. */
export const isScaled = ({deployment, all, desk}: Round): boolean =>
  all.filter(isActive).some(set => {
    const noted = wholeNumber(annotationsOf(set)[desk.keys.desired]);
    return noted !== undefined && noted !== replicasOf(deployment);
  });

/** Passes on the size of a deployment to its sets, in proportion, without moving a rollout on. */
export const scale = async (round: Round): Promise<void> => {
  const {deployment, newest, old, all, desk} = round;
  const only = onlyActive(newest, old);
  if (only) {
    await scaleTo(round, only, replicasOf(deployment));
  } else if (isSaturated(deployment, newest, desk.keys)) {
    for (const set of old.filter(isActive)) await scaleTo(round, set, 0);
  } else if (isRolling(deployment)) {
    for (const [set, size] of proportionalSizes(deployment, all.filter(isActive), desk.keys)) await resize(round, set, size);
  }
};
