import {filingChildren, possibleChildren} from '#controllers/shared/children.js';
import {claimer} from '#controllers/shared/claiming.js';
import type {Selecting} from '#informers/selecting.js';
import {sameJson} from '#src/api/equal.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {hasCause} from '#src/api/status.js';
import {settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {keysIn} from './annotations.js';
import {condition, conditionOf, withCondition} from './conditions.js';
import {forgetOld} from './history.js';
import {isRolling, progressDeadlineOf, type Deployment} from './kinds.js';
import {syncNewest} from './newest.js';
import {isComplete, nextCheck, progressing, reasons, withRollout} from './progress.js';
import {replace, roll} from './rollout.js';
import {rollBack, rollbackOf} from './rollback.js';
import {Round, type Desk} from './round.js';
import {isScaled, scale} from './scaling.js';
import {nextStatus} from './status.js';

/** Writes what the sets make of the status, without a word on a rollout. */
const tellCounts = async (round: Round): Promise<Result> => {
  const {deployment, desk, newest, all, now} = round;
  const status = nextStatus(deployment, {newest, all, tellsTerminating: desk.tellsTerminating, now});
  if (!sameJson(deployment.status, status)) await round.updateStatus(status);
  return settled;
};

/** Writes the status with how the rollout comes on, or says when to look again. */
const tellRollout = async (round: Round): Promise<Result> => {
  const {deployment, desk, newest, all, now} = round;
  const counts = nextStatus(deployment, {newest, all, tellsTerminating: desk.tellsTerminating, now});
  const status = withRollout(deployment, counts, newest, all, now);
  if (sameJson(deployment.status, status)) return nextCheck(deployment, status, now);
  await round.updateStatus(status);
  return settled;
};

/** Notes that a rollout was paused or goes on, so that the time between does not count as its delay. */
const notePause = async (round: Round): Promise<void> => {
  const {deployment, now} = round;
  if (progressDeadlineOf(deployment) === undefined) return;
  const conditions = deployment.status?.conditions ?? [];
  const last = conditionOf(conditions, progressing)?.reason;
  const isPaused = deployment.spec?.paused ?? false;
  if (last === reasons.timedOut || isPaused === (last === reasons.paused)) return;
  const next = isPaused
    ? condition(progressing, 'Unknown', reasons.paused, 'Deployment is paused', now)
    : condition(progressing, 'Unknown', reasons.resumed, 'Deployment is resumed', now);
  await round.updateStatus({...deployment.status, conditions: withCondition(conditions, next)});
};

const act = async (round: Round): Promise<Result> => {
  const {desk} = round;
  if (round.deployment.metadata?.deletionTimestamp) {
    await syncNewest(round);
    return tellCounts(round);
  }
  await notePause(round);
  await syncNewest(round);
  const {spec} = round.deployment;
  const rollback = rollbackOf(round.deployment, desk.keys);
  if (!spec?.paused && rollback !== undefined) {
    await rollBack(round, rollback);
    return settled;
  }
  if (spec?.paused || isScaled(round)) {
    await scale(round);
    if (spec?.paused && rollback === undefined) await forgetOld(round);
    return tellCounts(round);
  }
  const isUnderWay = isRolling(round.deployment) ? await roll(round) : await replace(round);
  if (!isUnderWay && isComplete(round.deployment, round.deployment.status)) await forgetOld(round);
  return tellRollout(round);
};

/** Rolls out the template of a deployment through replica sets, one for each template it ever had. */
export const roller = (context: KeyedContext, selecting: Selecting<ObjectOf<typeof kinds.deployments>>): Reconcile => {
  const {lister, client, writer, events, clock, naming, gates} = context;
  const deployments = lister(kinds.deployments);
  const sets = filingChildren(lister(kinds.replicaSets));
  const claim = claimer({client, parents: kinds.deployments, children: kinds.replicaSets});
  const desk: Desk = {
    deployments: writer(kinds.deployments),
    sets: writer(kinds.replicaSets),
    liveSets: client.resource(kinds.replicaSets),
    pods: lister(kinds.pods),
    events,
    clock,
    naming,
    keys: keysIn(naming),
    tellsTerminating: gates.enabled('DeploymentReplicaSetTerminatingReplicas'),
  };

  const refuse = async (deployment: Deployment): Promise<Result> => {
    events.warning(deployment, 'SelectingAll', 'This deployment is selecting all pods. A non-empty selector is required.');
    const {generation = 0} = deployment.metadata ?? {};
    const round = new Round(desk, deployment, []);
    if ((deployment.status?.observedGeneration ?? 0) < generation) await round.updateStatus({...deployment.status, observedGeneration: generation});
    return settled;
  };

  return async key => {
    const deployment = deployments.get(key);
    if (!deployment) return settled;
    const selector = selecting.selectorOf(deployment);
    if (!selector) throw new Error(`deployment ${key.namespace}/${key.name} has invalid label selector`);
    if (selector.empty) return refuse(deployment);
    try {
      return await act(new Round(desk, deployment, await claim(deployment, possibleChildren(sets, deployment, selector), {selector})));
    } catch (error) {
      // Nothing can be made there any more, and nothing has to be.
      if (hasCause(error, 'NamespaceTerminating')) return settled;
      throw error;
    }
  };
};
