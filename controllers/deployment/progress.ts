import {parseTime} from '#src/api/time.js';
import {requeueAfter, settled, type Result} from '#src/runtime/controller.js';
import {condition, conditionOf, withCondition, withoutCondition, type Conditions, type DeploymentCondition} from './conditions.js';
import type {Deployment, DeploymentStatus, ReplicaSet} from './kinds.js';
import {replicasOf} from './replica-sets.js';

const withoutLimit = 2 ** 31 - 1;

/** Returns the progress deadline in seconds; undefined for no deadline, which the largest number means as well. */
export const progressDeadlineOf = ({spec}: Deployment): number | undefined =>
  spec?.progressDeadlineSeconds === withoutLimit ? undefined : spec?.progressDeadlineSeconds;

/** The Progressing condition and its reasons. */
export const progressing = 'Progressing';
export const reasons = {
  created: 'NewReplicaSetCreated',
  notCreated: 'ReplicaSetCreateError',
  found: 'FoundNewReplicaSet',
  updated: 'ReplicaSetUpdated',
  complete: 'NewReplicaSetAvailable',
  timedOut: 'ProgressDeadlineExceeded',
  paused: 'DeploymentPaused',
  resumed: 'DeploymentResumed',
} as const;

const failing = 'ReplicaFailure';

/** Whether all pods are updated and available, and no others exist. */
export const isComplete = (deployment: Deployment, status: DeploymentStatus | undefined): boolean => {
  const desired = replicasOf(deployment);
  const {updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0} = status ?? {};
  return (
    updatedReplicas === desired &&
    replicas === desired &&
    availableReplicas === desired &&
    observedGeneration >= (deployment.metadata?.generation ?? 0)
  );
};

/** Whether there are more updated, ready or available pods, or fewer old ones, than before. */
const hasProgressed = (before: DeploymentStatus = {}, now: DeploymentStatus): boolean => {
  const old = ({replicas = 0, updatedReplicas = 0}: DeploymentStatus) => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
};

/** Returns when the progress deadline ends, in ms. */
const deadlineAfter = ({lastUpdateTime}: DeploymentCondition, seconds: number): number => (parseTime(lastUpdateTime) ?? 0) + seconds * 1000;

/** A completed rollout does not time out: later changes of its pods are not part of it. */
const hasTimedOut = (last: DeploymentCondition | undefined, seconds: number, now: number): boolean => {
  if (!last || last.reason === reasons.complete) return false;
  return last.reason === reasons.timedOut || deadlineAfter(last, seconds) < now;
};

const withProgress = (deployment: Deployment, status: DeploymentStatus, newest: ReplicaSet | undefined, now: number): Conditions => {
  const conditions = status.conditions ?? [];
  const seconds = progressDeadlineOf(deployment);
  if (seconds === undefined) return withoutCondition(conditions, progressing);
  const last = conditionOf(deployment.status?.conditions ?? [], progressing);
  if ((status.replicas ?? 0) === (status.updatedReplicas ?? 0) && last?.reason === reasons.complete) return conditions;

  const subject = newest ? `ReplicaSet "${newest.metadata?.name}"` : `Deployment "${deployment.metadata?.name}"`;
  if (isComplete(deployment, status))
    return withCondition(conditions, condition(progressing, 'True', reasons.complete, `${subject} has successfully progressed.`, now));
  if (hasProgressed(deployment.status, status)) {
    const next = condition(progressing, 'True', reasons.updated, `${subject} is progressing.`, now);
    // Each progress updates the time, even if the condition is otherwise unchanged.
    const {lastTransitionTime = next.lastTransitionTime} = last?.status === 'True' ? last : {};
    return [...withoutCondition(conditions, progressing), {...next, ...(lastTransitionTime === undefined ? {} : {lastTransitionTime})}];
  }
  if (hasTimedOut(conditionOf(conditions, progressing), seconds, now)) {
    return withCondition(conditions, condition(progressing, 'False', reasons.timedOut, `${subject} has timed out progressing.`, now));
  }
  return conditions;
};

/** Failures of replica sets to create or delete pods are reported on the deployment, those of the newest set first. */
const withFailure = (conditions: Conditions, newest: ReplicaSet | undefined, all: readonly ReplicaSet[]): Conditions => {
  const failure = [...(newest ? [newest] : []), ...all].flatMap(({status}) => status?.conditions ?? []).find(({type}) => type === failing);
  if (!failure) return withoutCondition(conditions, failing);
  const {lastTransitionTime} = failure;
  return withCondition(conditions, {...failure, ...(lastTransitionTime === undefined ? {} : {lastUpdateTime: lastTransitionTime})});
};

/** Returns the status with the conditions of the rollout. */
export const withRollout = (
  deployment: Deployment,
  status: DeploymentStatus,
  newest: ReplicaSet | undefined,
  all: readonly ReplicaSet[],
  now: number,
): DeploymentStatus => {
  const {conditions: _, ...counters} = status;
  const conditions = withFailure(withProgress(deployment, status, newest, now), newest, all);
  return {...counters, ...(conditions.length > 0 ? {conditions} : {})};
};

/**
 * Returns when to check again for a timeout.
 * Differs from upstream: a completed rollout, which cannot time out, is not requeued.
 */
export const nextCheck = (deployment: Deployment, status: DeploymentStatus, now: number): Result => {
  const seconds = progressDeadlineOf(deployment);
  const last = conditionOf(deployment.status?.conditions ?? [], progressing);
  if (
    seconds === undefined ||
    !last ||
    isComplete(deployment, status) ||
    last.reason === reasons.timedOut ||
    last.reason === reasons.complete
  )
    return settled;
  const left = deadlineAfter(last, seconds) - now;
  return requeueAfter(left < 1000 ? Math.max(left, 0) + 1 : left + 1000);
};
