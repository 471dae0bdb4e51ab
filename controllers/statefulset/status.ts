import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isTerminating, isRunningAndReady, isServing, revisionOfPod, type StatefulSet, type StatefulSetStatus} from './kinds.js';
import {sizeOf} from './ordinals.js';
import type {RevisionPair} from './revisions.js';

/** Returns the status with these pods counted. */
export const statusOf = (
  set: StatefulSet,
  pods: readonly Frozen<Pod>[],
  {current, update, collisionCount}: RevisionPair,
  now: number,
): StatefulSetStatus => {
  const live = pods.filter(pod => !isTerminating(pod));
  const madeFrom = (name: string | undefined) => live.filter(pod => revisionOfPod(pod) === name).length;
  const ready = pods.filter(isRunningAndReady);
  return {
    observedGeneration: set.metadata?.generation ?? 0,
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter(pod => isServing(pod, set, now)).length,
    currentReplicas: madeFrom(current.metadata?.name),
    updatedReplicas: madeFrom(update.metadata?.name),
    currentRevision: current.metadata?.name ?? '',
    updateRevision: update.metadata?.name ?? '',
    collisionCount,
  };
};

/** Completes a rollout once all pods are updated and ready. */
export const completed = (set: StatefulSet, status: StatefulSetStatus): StatefulSetStatus => {
  const size = sizeOf(set);
  const {updatedReplicas, readyReplicas, replicas} = status;
  if (set.spec?.updateStrategy?.type !== 'RollingUpdate' || updatedReplicas !== size || readyReplicas !== size || replicas !== size)
    return status;
  return {...status, currentReplicas: updatedReplicas, currentRevision: status.updateRevision ?? ''};
};

const always: readonly (keyof StatefulSetStatus)[] = ['replicas', 'availableReplicas', 'collisionCount'];

/** Returns the status to write: most counts of zero are omitted. */
export const written = (status: StatefulSetStatus): StatefulSetStatus =>
  Object.fromEntries(
    Object.entries(status).filter(([name, value]) => value !== 0 || always.includes(name as keyof StatefulSetStatus)),
  ) as unknown as StatefulSetStatus;
