// The replica set of a deployment's current template: brings an existing one up to date, or creates it. A name that is
// taken by another template is retried with a higher collision count.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {hasCause, isAlreadyExists} from '#src/api/status.js';
import {controllerRefTo, isControlledBy} from '#src/model/owners.js';
import {templateHashInSteps} from '#src/model/template-hash.js';
import {sameJson} from '#src/api/equal.js';
import {messageOf} from '#src/base/message.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {annotationsOf, annotationsOfNewest, revisionOf, sizeAnnotations} from './annotations.js';
import {condition, conditionOf, withCondition} from './conditions.js';
import {progressDeadlineOf, progressing, reasons} from './progress.js';
import {maxSurge, newestSize} from './sizes.js';
import type {DeploymentStatus, ReplicaSet} from './kinds.js';
import {hashLabel, sameTemplate, replicasOf} from './replica-sets.js';
import type {DeploymentSync} from './sync.js';

const maxNameLength = 253;

const nextRevision = ({old, context}: DeploymentSync): bigint => {
  const revisions = old.map(set => revisionOf(set, context.keys) ?? 0n);
  return 1n + revisions.reduce((highest, revision) => (revision > highest ? revision : highest), 0n);
};

const withProgressing = (
  sync: DeploymentSync,
  ...details: readonly [status: 'True' | 'False', reason: string, message: string]
): DeploymentStatus => {
  const {status = {}} = sync.deployment;
  return {...status, conditions: withCondition(status.conditions ?? [], condition(progressing, ...details, sync.now))};
};

/** Writes the deployment's revision, and `status` if given. */
const updateDeployment = async (
  sync: DeploymentSync,
  revision: string | undefined,
  status: DeploymentStatus | undefined,
): Promise<void> => {
  const {deployment, context} = sync;
  const before = annotationsOf(deployment);
  const annotations = revision === undefined ? before : {...before, [context.keys.revision]: revision};
  if (status === undefined && sameJson(before, annotations)) return;
  await sync.updateStatus(status ?? deployment.status ?? {}, annotations);
};

/**
 * Updates the replica set of the current template, if there is one: it inherits the deployment's annotations and gets
 * the highest revision, which is also written to the deployment.
 */
export const syncNewest = async (sync: DeploymentSync): Promise<void> => {
  const {deployment, context} = sync;
  if (!sync.newest) return;
  const {minReadySeconds} = deployment.spec ?? {};
  const before = annotationsOf(sync.newest);
  const annotations = annotationsOfNewest(deployment, before, nextRevision(sync), context.keys);
  if (!sameJson(before, annotations) || (sync.newest.spec?.minReadySeconds ?? 0) !== (minReadySeconds ?? 0)) {
    const {spec, metadata} = sync.newest;
    await sync.updateSet({...sync.newest, metadata: {...metadata, annotations}, spec: {...spec!, minReadySeconds: minReadySeconds ?? 0}});
  }
  const hasCondition =
    progressDeadlineOf(deployment) === undefined || conditionOf(deployment.status?.conditions ?? [], progressing) !== undefined;
  const status = hasCondition
    ? undefined
    : withProgressing(sync, 'True', reasons.found, `Found new replica set "${sync.newest.metadata?.name}"`);
  await updateDeployment(sync, annotations[context.keys.revision], status);
};

const newSet = async (sync: DeploymentSync): Promise<ReplicaSet> => {
  const {deployment, all, context} = sync;
  const {template, selector, minReadySeconds} = deployment.spec!;
  const {name = '', namespace = ''} = deployment.metadata ?? {};
  const hash = await runStepsYielding(templateHashInSteps(template, deployment.status?.collisionCount), new Yielder(context.clock));
  const labels = {...template.metadata?.labels, [hashLabel]: hash};
  const sizes = sizeAnnotations(replicasOf(deployment), replicasOf(deployment) + maxSurge(deployment), context.keys);
  return {
    metadata: {
      name: `${name.slice(0, maxNameLength - hash.length - 1)}-${hash}`,
      namespace,
      labels,
      annotations: {...annotationsOfNewest(deployment, {}, nextRevision(sync), context.keys), ...sizes},
      ownerReferences: [controllerRefTo(deployment, kinds.deployments, context.naming)],
    },
    spec: {
      replicas: newestSize(deployment, all, 0),
      ...(minReadySeconds === undefined ? {} : {minReadySeconds}),
      selector: {...selector, matchLabels: {...selector.matchLabels, [hashLabel]: hash}},
      template: {...template, metadata: {...template.metadata, labels}},
    },
  };
};

/**
 * Returns the existing replica set of that name if it belongs to the deployment and has its template (stale cache).
 * Otherwise increments the collision count and throws.
 */
const useExisting = async (sync: DeploymentSync, made: ReplicaSet, cause: unknown): Promise<ReplicaSet> => {
  const {deployment, context} = sync;
  const existing = await context.liveSets.get(made.metadata?.name ?? '', {namespace: made.metadata?.namespace ?? ''});
  if (isControlledBy(existing, deployment) && sameTemplate(existing.spec?.template, deployment.spec?.template)) return existing;
  await sync.updateStatus({...deployment.status, collisionCount: (deployment.status?.collisionCount ?? 0) + 1});
  throw cause;
};

const reportCreateError = async (sync: DeploymentSync, made: ReplicaSet, error: unknown): Promise<void> => {
  const {deployment, context} = sync;
  const message = `Failed to create new replica set "${made.metadata?.name}": ${messageOf(error)}`;
  // The creation error matters; a failure to report it does not.
  if (progressDeadlineOf(deployment) !== undefined)
    await sync.updateStatus(withProgressing(sync, 'False', reasons.notCreated, message)).catch(() => {});
  context.events.warning(deployment, reasons.notCreated, message);
};

/** Creates the replica set of the current template, if there is none. */
export const ensureNewest = async (sync: DeploymentSync): Promise<void> => {
  if (sync.newest) return;
  const {context} = sync;
  const made = await newSet(sync);
  let isNew = true;
  try {
    sync.newest = await context.sets.create(made as ObjectOf<typeof kinds.replicaSets>);
  } catch (error) {
    if (isAlreadyExists(error)) {
      sync.newest = await useExisting(sync, made, error);
      isNew = false;
    } else {
      if (!hasCause(error, 'NamespaceTerminating')) await reportCreateError(sync, made, error);
      throw error;
    }
  }
  const {name} = sync.newest.metadata ?? {};
  const size = replicasOf(made);
  if (isNew && size > 0) context.events.normal(sync.deployment, 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${size}`);
  const reportsProgress = isNew && progressDeadlineOf(sync.deployment) !== undefined;
  const status = reportsProgress ? withProgressing(sync, 'True', reasons.created, `Created new replica set "${name}"`) : undefined;
  await updateDeployment(sync, annotationsOf(made)[context.keys.revision], status);
};
