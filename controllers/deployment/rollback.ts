import type {kinds, ObjectOf} from '#src/api/kinds.js';
import {annotationsAfterRollback, annotationsOf, placeOf, revisionOf, type Keys} from './annotations.js';
import type {Deployment, ReplicaSet} from './kinds.js';
import {ensureNewest} from './newest.js';
import {hashLabel, sameTemplate} from './replica-sets.js';
import type {Round} from './round.js';

/** The revision to which the deployment is to go back, 0 for the one before; undefined when it is not to. */
export const rollbackOf = (deployment: Deployment, keys: Keys): bigint | undefined => placeOf(annotationsOf(deployment)[keys.rollback] ?? '');

/** The second highest revision; 0 if there is none. */
const lastRevision = (sets: readonly ReplicaSet[], keys: Keys): bigint => {
  const revisions = sets.map(set => revisionOf(set, keys)).filter(revision => revision !== undefined);
  return revisions.sort((a, b) => Number(b - a))[1] ?? 0n;
};

/** The deployment with the template of an earlier replica set. */
const returned = (deployment: Deployment, set: ReplicaSet): Deployment => {
  const {metadata, ...rest} = set.spec?.template ?? {};
  const {[hashLabel]: _, ...labels} = metadata?.labels ?? {};
  return {...deployment, spec: {...deployment.spec!, template: {...rest, metadata: {...metadata, labels}}}};
};

/** Writes the deployment without the annotation that asked for the rollback. */
const write = async ({desk}: Round, deployment: Deployment): Promise<void> => {
  const {[desk.keys.rollback]: _, ...annotations} = annotationsOf(deployment);
  await desk.deployments.update({...deployment, metadata: {...deployment.metadata, annotations}} as ObjectOf<typeof kinds.deployments>);
};

/** Gives a deployment the template of the revision it asks for. Whatever comes of it, it is not tried again. */
export const rollBack = async (round: Round, asked: bigint): Promise<void> => {
  await ensureNewest(round);
  const {deployment, all, desk} = round;
  const revision = asked || lastRevision(all, desk.keys);
  const set = revision === 0n ? undefined : all.find(each => revisionOf(each, desk.keys) === revision);
  if (!set) {
    desk.events.warning(deployment, 'DeploymentRollbackRevisionNotFound', revision === 0n ? 'Unable to find last revision.' : 'Unable to find the revision to rollback to.');
    return write(round, deployment);
  }
  const {name} = deployment.metadata ?? {};
  if (sameTemplate(deployment.spec?.template, set.spec?.template)) {
    desk.events.warning(deployment, 'DeploymentRollbackTemplateUnchanged', `The rollback revision contains the same template as current deployment "${name}"`);
    return write(round, deployment);
  }
  const next = returned(deployment, set);
  await write(round, {...next, metadata: {...next.metadata, annotations: annotationsAfterRollback(deployment, set, desk.keys)}});
  desk.events.normal(deployment, 'DeploymentRollback', `Rolled back deployment "${name}" to revision ${revision}`);
};
