import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {isAvailable, isReady} from '#src/model/pod/state.js';
import {messageOf} from '#src/base/message.js';
import type {PodGroup} from './pod-groups.js';

/** The status of replica sets and replication controllers. */
export type ReplicaStatus = NonNullable<ObjectOf<typeof kinds.replicaSets>['status']>;
type ReplicaCondition = NonNullable<ReplicaStatus['conditions']>[number];

/** A parent with a number of pods of one template. */
export interface Replicated extends KubeObject {
  metadata?: ObjectMeta;
  spec?: {replicas?: number; minReadySeconds?: number; template?: PodTemplateSpec};
  status?: Partial<ReplicaStatus>;
}

export interface ReplicaCount {
  /** The active pods before the changes of this sync. */
  readonly active: readonly PodGroup[];
  /** Undefined if not to be reported. */
  readonly terminating: number | undefined;
  /** Why the number of pods could not be changed. */
  readonly failure: unknown;
  readonly now: number;
}

const failureType = 'ReplicaFailure';

/** Returns the number of pods in all groups. */
export const countOfAll = (groups: readonly PodGroup[]): number => groups.reduce((sum, {count}) => sum + count, 0);

const nextConditions = (parent: Frozen<Replicated>, {active, failure, now}: ReplicaCount): readonly Frozen<ReplicaCondition>[] => {
  const conditions = parent.status?.conditions ?? [];
  const isReported = conditions.some(({type}) => type === failureType);
  if (failure === undefined) return isReported ? conditions.filter(({type}) => type !== failureType) : conditions;
  // The first failure is reported until it is resolved.
  if (isReported) return conditions;
  const surplus = countOfAll(active) - (parent.spec?.replicas ?? 0);
  const reason = surplus < 0 ? {reason: 'FailedCreate'} : surplus > 0 ? {reason: 'FailedDelete'} : {};
  return [...conditions, {type: failureType, status: 'True', lastTransitionTime: wireTime(now), ...reason, message: messageOf(failure)}];
};

/** Returns the status. Counters of zero are omitted, as upstream does. */
export const nextReplicaStatus = (parent: Frozen<Replicated>, count: ReplicaCount): Frozen<ReplicaStatus> => {
  const {active, terminating, now} = count;
  const desired = Object.entries(parent.spec?.template?.metadata?.labels ?? {});
  const minReadySeconds = parent.spec?.minReadySeconds ?? 0;
  const fullyLabeledReplicas = countOfAll(
    active.filter(({representative}) => desired.every(([key, value]) => representative.metadata?.labels?.[key] === value)),
  );
  const ready = active.filter(({representative}) => isReady(representative));
  const readyReplicas = countOfAll(ready);
  const availableReplicas =
    minReadySeconds === 0 ? readyReplicas : ready.flatMap(each => each.pods()).filter(pod => isAvailable(pod, minReadySeconds, now)).length;
  const conditions = nextConditions(parent, count);
  return {
    replicas: countOfAll(active),
    ...(fullyLabeledReplicas > 0 ? {fullyLabeledReplicas} : {}),
    ...(readyReplicas > 0 ? {readyReplicas} : {}),
    ...(availableReplicas > 0 ? {availableReplicas} : {}),
    ...(terminating === undefined ? {} : {terminatingReplicas: terminating}),
    observedGeneration: parent.metadata?.generation ?? 0,
    ...(conditions.length > 0 ? {conditions} : {}),
  };
};
