import {unlessMissing} from '#src/client/missing.js';
import {controllingParent} from '#controllers/shared/children/parents.js';
import {endOf} from '#controllers/shared/jobs.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {controllerOf} from '#src/model/owners.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import type {Untrack} from './finalizers.js';
import {foreignManager, type CachedPod, type JobNames} from './kinds.js';

/** Removes finalizers from pods that no job counts any more. */
export const orphanReconciler = (
  {lister, naming}: Pick<KeyedContext, 'lister' | 'naming'>,
  {marks, untrack}: {readonly marks: JobNames; readonly untrack: Untrack},
): Reconcile => {
  const jobs = lister(kinds.jobs);
  const pods = lister(kinds.pods);

  const isCounted = (pod: CachedPod): boolean => {
    const owner = controllerOf(pod);
    if (!owner) return false;
    if (owner.kind !== kinds.jobs.kind || owner.apiVersion !== apiVersionOf(naming, kinds.jobs)) return true;
    const job = controllingParent(pod, kinds.jobs, jobs, naming);
    return job !== undefined && (foreignManager(job, marks) !== undefined || !endOf(job));
  };

  return async key => {
    const pod = pods.get(key);
    if (pod && !isCounted(pod)) await unlessMissing(untrack(pod));
    return settled;
  };
};
