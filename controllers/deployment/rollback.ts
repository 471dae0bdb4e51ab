import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {annotationsAfterRollback, annotationsOf, parseRevision, revisionOf, type AnnotationKeys} from './annotations.js';
import type {Deployment, ReplicaSet} from './kinds.js';
import {ensureNewest} from './newest.js';
import {hashLabel, sameTemplate} from './replica-sets.js';
import type {DeploymentSync} from './sync.js';

/** Returns the requested rollback revision, 0 for the previous one; undefined if none is requested. */
export const rollbackOf = (deployment: Deployment, keys: AnnotationKeys): bigint | undefined =>
  parseRevision(annotationsOf(deployment)[keys.rollback] ?? '');

/** Returns the second highest revision; 0 if there is none. */
const lastRevision = (sets: readonly ReplicaSet[], keys: AnnotationKeys): bigint => {
  const revisions = sets.map(set => revisionOf(set, keys)).filter(revision => revision !== undefined);
  return revisions.sort((a, b) => Number(b - a))[1] ?? 0n;
};

/** Returns the deployment with the template of a replica set. */
const withTemplateOf = (deployment: Deployment, set: ReplicaSet): Deployment => {
  const {metadata, ...rest} = set.spec?.template ?? {};
  const {[hashLabel]: _, ...labels} = metadata?.labels ?? {};
  return {...deployment, spec: {...deployment.spec!, template: {...rest, metadata: {...metadata, labels}}}};
};

/** Writes the deployment without the rollback annotation. */
const write = async ({context}: DeploymentSync, deployment: Deployment): Promise<void> => {
  const {[context.keys.rollback]: _, ...annotations} = annotationsOf(deployment);
  await context.deployments.update({...deployment, metadata: {...deployment.metadata, annotations}} as ObjectOf<typeof kinds.deployments>);
};

/**
 * Rolls the deployment back to the requested revision. The annotation is removed in any case, so that it is not
 * retried.
 */
export const rollBack = async (sync: DeploymentSync, requested: bigint): Promise<void> => {
  await ensureNewest(sync);
  const {deployment, all, context} = sync;
  const revision = requested || lastRevision(all, context.keys);
  const set = revision === 0n ? undefined : all.find(each => revisionOf(each, context.keys) === revision);
  if (!set) {
    context.events.warning(
      deployment,
      'DeploymentRollbackRevisionNotFound',
      revision === 0n ? 'Unable to find last revision.' : 'Unable to find the revision to rollback to.',
    );
    return write(sync, deployment);
  }
  const {name} = deployment.metadata ?? {};
  if (sameTemplate(deployment.spec?.template, set.spec?.template)) {
    context.events.warning(
      deployment,
      'DeploymentRollbackTemplateUnchanged',
      `The rollback revision contains the same template as current deployment "${name}"`,
    );
    return write(sync, deployment);
  }
  const next = withTemplateOf(deployment, set);
  await write(sync, {...next, metadata: {...next.metadata, annotations: annotationsAfterRollback(deployment, set, context.keys)}});
  context.events.normal(deployment, 'DeploymentRollback', `Rolled back deployment "${name}" to revision ${revision}`);
};
