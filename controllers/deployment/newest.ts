import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {hasCause, isAlreadyExists} from '#src/api/status.js';
import {controllerRefTo, isControlledBy} from '#src/model/owners.js';
import {templateHash} from '#src/model/template-hash.js';
import {sameJson} from '#src/api/equal.js';
import {messageOf} from '#src/base/message.js';
import {annotationsOf, annotationsOfNewest, revisionOf, sizeAnnotations} from './annotations.js';
import {condition, conditionOf, withCondition} from './conditions.js';
import {progressDeadlineOf, replicasOf, type DeploymentStatus, type ReplicaSet} from './kinds.js';
import {progressing, reasons} from './progress.js';
import {hashLabel, sameTemplate} from './replica-sets.js';
import type {Round} from './round.js';
import {maxSurge, newestSize} from './sizes.js';

const longestName = 253;

const nextRevision = ({old, desk}: Round): bigint => {
  const places = old.map(set => revisionOf(set, desk.keys) ?? 0n);
  return 1n + places.reduce((highest, place) => (place > highest ? place : highest), 0n);
};

const withProgressing = (round: Round, ...told: readonly [status: 'True' | 'False', reason: string, message: string]): DeploymentStatus => {
  const {status = {}} = round.deployment;
  return {...status, conditions: withCondition(status.conditions ?? [], condition(progressing, ...told, round.now))};
};

/** Tells the deployment its revision, and `status` unless it is told already. */
const tellDeployment = async (round: Round, revision: string | undefined, status: DeploymentStatus | undefined): Promise<void> => {
  const {deployment, desk} = round;
  const before = annotationsOf(deployment);
  const annotations = revision === undefined ? before : {...before, [desk.keys.revision]: revision};
  if (status === undefined && sameJson(before, annotations)) return;
  await round.updateStatus(status ?? deployment.status ?? {}, annotations);
};

/**
 * Brings the replica set of the present template up to date, if there is one: it takes over the deployment's annotations and has the highest
 * revision, which the deployment then tells as well.
 */
export const syncNewest = async (round: Round): Promise<void> => {
  const {deployment, desk} = round;
  if (!round.newest) return;
  const {minReadySeconds} = deployment.spec ?? {};
  const before = annotationsOf(round.newest);
  const annotations = annotationsOfNewest(deployment, before, nextRevision(round), desk.keys);
  if (!sameJson(before, annotations) || (round.newest.spec?.minReadySeconds ?? 0) !== (minReadySeconds ?? 0)) {
    const {spec, metadata} = round.newest;
    await round.updateSet({...round.newest, metadata: {...metadata, annotations}, spec: {...spec!, minReadySeconds: minReadySeconds ?? 0}});
  }
  const isNoticed = progressDeadlineOf(deployment) === undefined || conditionOf(deployment.status?.conditions ?? [], progressing) !== undefined;
  const status = isNoticed ? undefined : withProgressing(round, 'True', reasons.found, `Found new replica set "${round.newest.metadata?.name}"`);
  await tellDeployment(round, annotations[desk.keys.revision], status);
};

const newSet = (round: Round): ReplicaSet => {
  const {deployment, all, desk} = round;
  const {template, selector, minReadySeconds} = deployment.spec!;
  const {name = '', namespace = ''} = deployment.metadata ?? {};
  const hash = templateHash(template, deployment.status?.collisionCount);
  const labels = {...template.metadata?.labels, [hashLabel]: hash};
  const sizes = sizeAnnotations(replicasOf(deployment), replicasOf(deployment) + maxSurge(deployment), desk.keys);
  return {
    metadata: {
      name: `${name.slice(0, longestName - hash.length - 1)}-${hash}`,
      namespace,
      labels,
      annotations: {...annotationsOfNewest(deployment, {}, nextRevision(round), desk.keys), ...sizes},
      ownerReferences: [controllerRefTo(deployment, kinds.deployments, desk.naming)],
    },
    spec: {
      replicas: newestSize(deployment, all, 0),
      ...(minReadySeconds === undefined ? {} : {minReadySeconds}),
      selector: {...selector, matchLabels: {...selector.matchLabels, [hashLabel]: hash}},
      template: {...template, metadata: {...template.metadata, labels}},
    },
  };
};

/** The set that has the name already, if it is the deployment's and made of its template: the cache was behind. Otherwise another name is needed. */
const takeExisting = async (round: Round, made: ReplicaSet, refusal: unknown): Promise<ReplicaSet> => {
  const {deployment, desk} = round;
  const existing = await desk.liveSets.get(made.metadata?.name ?? '', {namespace: made.metadata?.namespace ?? ''});
  if (isControlledBy(existing, deployment) && sameTemplate(existing.spec?.template, deployment.spec?.template)) return existing;
  await round.updateStatus({...deployment.status, collisionCount: (deployment.status?.collisionCount ?? 0) + 1});
  throw refusal;
};

const tellRefusal = async (round: Round, made: ReplicaSet, error: unknown): Promise<void> => {
  const {deployment, desk} = round;
  const message = `Failed to create new replica set "${made.metadata?.name}": ${messageOf(error)}`;
  // That the set could not be made is what matters; whether it could be told is not.
  if (progressDeadlineOf(deployment) !== undefined) await round.updateStatus(withProgressing(round, 'False', reasons.notCreated, message)).catch(() => {});
  desk.events.warning(deployment, reasons.notCreated, message);
};

/** Makes the replica set of the present template, if there is none. */
export const ensureNewest = async (round: Round): Promise<void> => {
  if (round.newest) return;
  const {desk} = round;
  const made = newSet(round);
  let isNew = true;
  try {
    round.newest = await desk.sets.create(made as ObjectOf<typeof kinds.replicaSets>);
  } catch (error) {
    if (isAlreadyExists(error)) {
      round.newest = await takeExisting(round, made, error);
      isNew = false;
    } else {
      if (!hasCause(error, 'NamespaceTerminating')) await tellRefusal(round, made, error);
      throw error;
    }
  }
  const {name} = round.newest.metadata ?? {};
  const size = replicasOf(made);
  if (isNew && size > 0) desk.events.normal(round.deployment, 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${size}`);
  const isTold = isNew && progressDeadlineOf(round.deployment) !== undefined;
  const status = isTold ? withProgressing(round, 'True', reasons.created, `Created new replica set "${name}"`) : undefined;
  await tellDeployment(round, annotationsOf(made)[desk.keys.revision], status);
};
