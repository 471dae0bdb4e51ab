import {aggregate} from '#controllers/shared/aggregate.js';
import type {ResourceClient} from '#src/client/client.js';
import {unlessMissing} from '#src/client/missing.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Namespace} from '#src/api/types.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {discoveryProblem, nextConditions, parsingProblem, type ContentDeletion} from './conditions.js';
import {ContentDeleter} from './content.js';
import {deleteContent} from './deletion.js';

type Namespaces = ResourceClient<Namespace>;

/**
 * Writes the result of `change`; on a conflict, of the latest version. Returns undefined if the namespace is gone.
 */
const write = async (
  namespaces: Namespaces,
  namespace: Namespace,
  subresource: string,
  change: (latest: Namespace) => Namespace | undefined,
): Promise<Namespace | undefined> => {
  for (let latest = namespace; ;) {
    const changed = change(latest);
    if (!changed) return latest;
    try {
      return await namespaces.update(changed, {subresource});
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error)) throw error;
    }
    latest = await namespaces.get(namespace.metadata?.name ?? '');
    if (latest.metadata?.uid !== namespace.metadata?.uid) throw new Error('namespace uid has changed across retries');
  }
};

/** Deletes the content of a namespace, then removes the finalizer. Requeues while something is left. */
export const namespaceReconciler = ({lister, client, clock, naming}: KeyedContext<never>): Reconcile => {
  const cached = lister(kinds.namespaces);
  const namespaces = client.resource(kinds.namespaces);
  const content = new ContentDeleter(client, clock);

  const updateConditions = async (namespace: Namespace, deletion: ContentDeletion): Promise<Namespace> => {
    const conditions = nextConditions(namespace.status?.conditions ?? [], deletion, {naming, now: wireTime(clock.now())});
    if (!conditions) return namespace;
    return namespaces.update({...namespace, status: {...namespace.status, conditions}}, {subresource: 'status'});
  };

  return async ({name}, {signal, log}) => {
    if (!cached.get(name)) return settled;
    // The cache may be stale; nothing may be deleted by mistake.
    const live = await unlessMissing(namespaces.get(name));
    if (!live?.metadata?.deletionTimestamp) return settled;
    const marked = await unlessMissing(write(namespaces, live, 'status', markTerminating));
    if (!marked?.metadata?.deletionTimestamp || (marked.spec?.finalizers ?? []).length === 0) return settled;

    const deletion = await deleteContent(client, content, marked, signal);
    const latest = await updateConditions(marked, deletion).catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) log.error({err: error}, 'the conditions of a namespace could not be written');
      return marked;
    });
    const error = failureOf(deletion);
    if (error) throw error;
    const estimate = Math.max(0, ...deletion.leftovers.map(([, {estimateSeconds}]) => estimateSeconds));
    if (estimate > 0) return requeueAfter((Math.floor(estimate / 2) + 1) * 1000);
    await unlessMissing(write(namespaces, latest, 'finalize', latest => withoutFinalizer(latest, naming.namespaceFinalizer)));
    return settled;
  };
};

const markTerminating = (namespace: Namespace): Namespace | undefined =>
  namespace.metadata?.deletionTimestamp && namespace.status?.phase !== 'Terminating'
    ? {...namespace, status: {...namespace.status, phase: 'Terminating'}}
    : undefined;

const withoutFinalizer = (namespace: Namespace, finalizer: string): Namespace => ({
  ...namespace,
  spec: {...namespace.spec, finalizers: [...new Set((namespace.spec?.finalizers ?? []).filter(each => each !== finalizer))].sort()},
});

const failureOf = (deletion: ContentDeletion): Error | undefined => {
  const problems = [discoveryProblem(deletion), parsingProblem(deletion)]
    .filter(problem => problem !== undefined)
    .map(problem => new Error(problem));
  return aggregate([
    ...problems,
    ...deletion.leftovers.flatMap(([, {error, isOverdue}]) => (error === undefined || isOverdue ? [] : [error])),
  ]);
};
