// Which job, or orphaned pod, a change of a job or pod queues, and after which delay.

import {controlledBy} from '#controllers/shared/children/children.js';
import {endOf} from '#controllers/shared/jobs.js';
import {controllingParent} from '#controllers/shared/children/parents.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import type {Change} from '#informers/change.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {controllerOf, sameController} from '#src/model/owners.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {Releases} from './finalizers.js';
import {foreignManager, isTracked, jobPods, type CachedJob, type CachedPod, type Job, type JobNames} from './kinds.js';
import type {JobMetrics} from './metrics.js';

export const jobLoop = 'jobs';
export const orphanLoop = 'orphans';

/** The delay after events of pods and own writes, so that one sync handles several. */
export const batchMs = 1000;

export interface WatchingParts {
  readonly marks: JobNames;
  readonly metrics: JobMetrics;
  readonly expected: TrackingExpectations;
  readonly released: Releases;
}

/** Queues the jobs, and the orphaned pods, that a change concerns. */
export const watchJobs = (
  context: Pick<KeyedContext, 'listen' | 'lister' | 'enqueue' | 'naming'>,
  {marks, metrics, expected, released}: WatchingParts,
): void => {
  const {listen, lister, enqueue, naming} = context;
  const jobs = lister(kinds.jobs);
  const pods = lister(kinds.pods);
  const enqueueOrphan = (pod: CachedPod) => enqueue(keyOf(pod), {loop: orphanLoop});
  const enqueuePodsOf = (job: CachedJob) => {
    for (const pod of controlledBy(pods, job)) if (isTracked(pod, marks)) enqueueOrphan(pod);
  };

  const jobChanged = (change: Change<Job>): void => {
    const job = change.object;
    const isStatusChange = change.type === 'updated' && change.old.metadata?.generation === job.metadata?.generation;
    enqueue(keyOf(job), {loop: jobLoop, afterMs: isStatusChange ? batchMs : 0});
    if (change.type === 'added') {
      const manager = foreignManager(job, marks);
      if (manager !== undefined) metrics.managedElsewhere(manager);
    } else if (change.type === 'deleted' || endOf(job)) enqueuePodsOf(job);
  };

  const countEnded = (old: CachedPod | undefined, now: CachedPod | undefined): void => {
    const isHeld = (pod: CachedPod | undefined) => pod !== undefined && isTerminal(pod) && isTracked(pod, marks);
    const [was, is] = [isHeld(old), isHeld(now)];
    if (was !== is) metrics.finalizerOfEndedPod(is ? 'add' : 'delete');
  };

  /** Records removed finalizers; pods with a finalizer that no job will remove go to the orphan loop. */
  const podChanged = (change: Change<Pod>): void => {
    const pod = change.object;
    const isGone = change.type === 'deleted';
    const old = change.type === 'updated' ? change.old : undefined;
    countEnded(isGone ? pod : old, isGone ? undefined : pod);
    const job = controllingParent(pod, kinds.jobs, jobs, naming);
    if (isGone || !isTracked(pod, marks)) {
      const former = old && !sameController(old, pod) ? controllingParent(old, kinds.jobs, jobs, naming) : undefined;
      for (const owner of [job, former]) if (owner) released.seen(keyText(keyOf(owner)), pod.metadata?.uid ?? '');
      return;
    }
    if (!controllerOf(pod) || (pod.metadata?.deletionTimestamp && (!job || endOf(job)))) enqueueOrphan(pod);
  };

  listen(kinds.jobs, jobChanged);
  listen(kinds.pods, podChanged);
  watchPods(
    {listen, lister, naming, enqueue: (key, how) => enqueue(key, {...how, loop: jobLoop})},
    {
      parents: kinds.jobs,
      selecting: jobPods,
      batchMs,
      created: (key, pod) => expected.created(key, keyText(keyOf(pod))),
      deleted: (key, pod) => expected.deleted(key, keyText(keyOf(pod))),
    },
  );
};
