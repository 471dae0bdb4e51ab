import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import type {Selecting} from '#informers/selecting.js';
import {sameJson} from '#src/api/equal.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {hasCause} from '#src/api/status.js';
import {settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {keysIn} from './annotations.js';
import {condition, conditionOf, withCondition} from './conditions.js';
import {cleanupHistory} from './history.js';
import {isRolling} from './sizes.js';
import {progressDeadlineOf, isComplete, nextCheck, progressing, reasons, withRollout} from './progress.js';
import type {Deployment} from './kinds.js';
import {syncNewest} from './newest.js';
import {replace, roll} from './rollout.js';
import {rollBack, rollbackOf} from './rollback.js';
import {DeploymentSync, type DeploymentContext} from './sync.js';
import {isScaled, scale} from './scaling.js';
import {nextStatus} from './status.js';

/** Writes the replica counts of the status, without rollout conditions. */
const updateCounts = async (sync: DeploymentSync): Promise<Result> => {
  const {deployment, context: deploymentContext, newest, all, now} = sync;
  const status = nextStatus(deployment, {newest, all, tellsTerminating: deploymentContext.reportsTerminating, now});
  if (!sameJson(deployment.status, status)) await sync.updateStatus(status);
  return settled;
};

/** Writes the status with the rollout's progress, or requeues to check for a timeout. */
const updateRolloutStatus = async (sync: DeploymentSync): Promise<Result> => {
  const {deployment, context: deploymentContext, newest, all, now} = sync;
  const counts = nextStatus(deployment, {newest, all, tellsTerminating: deploymentContext.reportsTerminating, now});
  const status = withRollout(deployment, counts, newest, all, now);
  if (sameJson(deployment.status, status)) return nextCheck(deployment, status, now);
  await sync.updateStatus(status);
  return settled;
};

/** Records that a rollout was paused or resumed, so that the pause does not count towards the deadline. */
const recordPause = async (sync: DeploymentSync): Promise<void> => {
  const {deployment, now} = sync;
  if (progressDeadlineOf(deployment) === undefined) return;
  const conditions = deployment.status?.conditions ?? [];
  const last = conditionOf(conditions, progressing)?.reason;
  const isPaused = deployment.spec?.paused ?? false;
  if (last === reasons.timedOut || isPaused === (last === reasons.paused)) return;
  const next = isPaused
    ? condition(progressing, 'Unknown', reasons.paused, 'Deployment is paused', now)
    : condition(progressing, 'Unknown', reasons.resumed, 'Deployment is resumed', now);
  await sync.updateStatus({...deployment.status, conditions: withCondition(conditions, next)});
};

const syncDeployment = async (sync: DeploymentSync): Promise<Result> => {
  const {context: deploymentContext} = sync;
  if (sync.deployment.metadata?.deletionTimestamp) {
    await syncNewest(sync);
    return updateCounts(sync);
  }
  await recordPause(sync);
  await syncNewest(sync);
  const {spec} = sync.deployment;
  const rollback = rollbackOf(sync.deployment, deploymentContext.keys);
  if (!spec?.paused && rollback !== undefined) {
    await rollBack(sync, rollback);
    return settled;
  }
  if (spec?.paused || isScaled(sync)) {
    await scale(sync);
    if (spec?.paused && rollback === undefined) await cleanupHistory(sync);
    return updateCounts(sync);
  }
  const isUnderWay = isRolling(sync.deployment) ? await roll(sync) : await replace(sync);
  if (!isUnderWay && isComplete(sync.deployment, sync.deployment.status)) await cleanupHistory(sync);
  return updateRolloutStatus(sync);
};

/** Reconciles deployments through replica sets, one for each template. */
export const deploymentReconciler = (context: KeyedContext, selecting: Selecting<ObjectOf<typeof kinds.deployments>>): Reconcile => {
  const {lister, client, writer, events, clock, naming, gates} = context;
  const deployments = lister(kinds.deployments);
  const sets = indexingChildren(lister(kinds.replicaSets));
  const claim = claimer({client, parents: kinds.deployments, children: kinds.replicaSets});
  const deploymentContext: DeploymentContext = {
    deployments: writer(kinds.deployments),
    sets: writer(kinds.replicaSets),
    liveSets: client.resource(kinds.replicaSets),
    pods: lister(kinds.pods),
    events,
    clock,
    naming,
    keys: keysIn(naming),
    reportsTerminating: gates.enabled('DeploymentReplicaSetTerminatingReplicas'),
  };

  const rejectEmptySelector = async (deployment: Deployment): Promise<Result> => {
    events.warning(deployment, 'SelectingAll', 'This deployment is selecting all pods. A non-empty selector is required.');
    const {generation = 0} = deployment.metadata ?? {};
    const sync = new DeploymentSync(deploymentContext, deployment, []);
    if ((deployment.status?.observedGeneration ?? 0) < generation)
      await sync.updateStatus({...deployment.status, observedGeneration: generation});
    return settled;
  };

  return async key => {
    const deployment = deployments.get(key);
    if (!deployment) return settled;
    const selector = selecting.selectorOf(deployment);
    if (!selector) throw new Error(`deployment ${key.namespace}/${key.name} has invalid label selector`);
    if (selector.empty) return rejectEmptySelector(deployment);
    try {
      return await syncDeployment(
        new DeploymentSync(
          deploymentContext,
          deployment,
          await claim(deployment, possibleChildren(sets, deployment, selector), {selector}),
        ),
      );
    } catch (error) {
      // Nothing can be created in a terminating namespace.
      if (hasCause(error, 'NamespaceTerminating')) return settled;
      throw error;
    }
  };
};
