import {condition, withCondition, type Conditions} from './conditions.js';
import {maxUnavailable} from './sizes.js';
import type {Deployment, DeploymentStatus, ReplicaSet} from './kinds.js';
import {countedIn, terminatingIn, wantedIn, replicasOf} from './replica-sets.js';

const counter = (name: string, count: number): object => (count > 0 ? {[name]: count} : {});

const nextConditions = (deployment: Deployment, available: number, now: number): Conditions => {
  const availability =
    available >= replicasOf(deployment) - maxUnavailable(deployment)
      ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.', now)
      : condition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.', now);
  return withCondition(deployment.status?.conditions ?? [], availability);
};

export interface StatusInput {
  readonly newest: ReplicaSet | undefined;
  readonly all: readonly ReplicaSet[];
  /** Whether to report the number of terminating pods. */
  readonly tellsTerminating: boolean;
  readonly now: number;
}

/** Returns the status computed from the replica sets. Counters of zero are omitted, as upstream does. */
export const nextStatus = (deployment: Deployment, {newest, all, tellsTerminating, now}: StatusInput): DeploymentStatus => {
  const available = countedIn(all, 'availableReplicas');
  const terminating = tellsTerminating ? terminatingIn(all) : undefined;
  const {collisionCount} = deployment.status ?? {};
  return {
    observedGeneration: deployment.metadata?.generation ?? 0,
    ...counter('replicas', countedIn(all, 'replicas')),
    ...counter('updatedReplicas', newest?.status?.replicas ?? 0),
    ...counter('readyReplicas', countedIn(all, 'readyReplicas')),
    ...counter('availableReplicas', available),
    ...counter('unavailableReplicas', wantedIn(all) - available),
    ...(terminating === undefined ? {} : {terminatingReplicas: terminating}),
    ...(collisionCount === undefined ? {} : {collisionCount}),
    conditions: nextConditions(deployment, available, now),
  };
};
