import {possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import type {Lister} from '#informers/lister.js';
import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {isControlledBy} from '#src/model/owners.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {BackoffRecord} from './backoff.js';
import {condition, withCondition, type JobEnd} from './conditions.js';
import {completionOf, deadlineIn, endOfJob} from './end.js';
import {batchMs, jobLoop} from './event-handlers.js';
import type {Releases} from './finalizers.js';
import {isSuspended, isTracked, jobPods, type CachedJob, type CachedPod, type JobNames} from './kinds.js';
import type {PodChanges, PodManager} from './manage.js';
import type {Action} from './metrics.js';
import {progressOf, type Progress} from './progress.js';
import {jobSyncOf, type JobSync} from './sync.js';
import type {Tracker} from './track.js';

/** The changes of a sync, and whether the job ends. */
interface SyncOutcome {
  readonly managed: PodChanges | undefined;
  readonly end: JobEnd | undefined;
}

interface JobSyncerParts {
  readonly pods: Lister<Pod>;
  readonly marks: JobNames;
  readonly expected: TrackingExpectations;
  readonly released: Releases;
  readonly records: ReadonlyMap<string, BackoffRecord>;
  readonly manager: PodManager;
  readonly track: Tracker;
}

/**
 * Syncs a job that is not finished: changes its pods, then counts them. Calls `onAction` with what was done to pods.
 */
type JobSyncer = (key: string, job: CachedJob, onAction: (action: Action) => void) => Promise<void>;

/** Returns the pods of a job, including those adopted now. */
const podsReader = ({client}: Pick<KeyedContext, 'client'>, {pods, marks}: Pick<JobSyncerParts, 'pods' | 'marks'>) => {
  const claim = claimer({client, parents: kinds.jobs, children: kinds.pods});
  return async (job: CachedJob): Promise<readonly CachedPod[]> => {
    const selector = jobPods.selectorOf(job);
    if (!selector) throw new Error("couldn't convert Job selector");
    const claimed = await claim(job, possibleChildren(pods, job, selector), {selector, finalizers: [marks.finalizer]});
    // Pods adopted just now have the finalizer, which the cache lacks.
    return claimed.map(pod =>
      isControlledBy(pod, job) || isTracked(pod, marks)
        ? pod
        : {...pod, metadata: {...pod.metadata, finalizers: [...(pod.metadata?.finalizers ?? []), marks.finalizer]}},
    );
  };
};

/** Sets the Suspended condition when it changes; the start time is reset on resumption. Returns the event to record. */
const setSuspension = ({job, now}: JobSync, progress: Progress): {readonly reason: string; readonly message: string} | undefined => {
  const [reason, message, status] = isSuspended(job)
    ? (['Suspended', 'Job suspended', 'True'] as const)
    : (['Resumed', 'Job resumed', 'False'] as const);
  const conditions = withCondition(progress.conditions, condition('Suspended', status, {reason: `Job${reason}`, message}, now));
  if (!conditions) return undefined;
  progress.conditions = conditions;
  if (reason === 'Resumed') progress.startTime = wireTime(now);
  return {reason, message};
};

export const jobSyncer = (context: Pick<KeyedContext, 'client' | 'clock' | 'events' | 'enqueue'>, parts: JobSyncerParts): JobSyncer => {
  const {clock, events, enqueue} = context;
  const {marks, expected, released, records, manager, track} = parts;
  const podsOf = podsReader(context, parts);

  /** Deletes the pods of a job that is to end; while some may remain, it does not end. */
  const stop = async (sync: JobSync, jobEnd: JobEnd, isUpToDate: boolean): Promise<SyncOutcome> => {
    const managed = await manager.deleteAll(sync);
    return {managed: {...managed, action: 'reconciling'}, end: managed.deleted === sync.active.length && isUpToDate ? jobEnd : undefined};
  };

  const continueJob = async (sync: JobSync, isUpToDate: boolean): Promise<SyncOutcome> => {
    const deadline = deadlineIn(sync.job, sync.now);
    if (deadline !== undefined) enqueue(keyOf(sync.job), {loop: jobLoop, afterMs: deadline});
    const managed = isUpToDate && !sync.job.metadata?.deletionTimestamp ? await manager.manage(sync) : undefined;
    if (managed?.requeueAfterMs !== undefined)
      enqueue(keyOf(sync.job), {loop: jobLoop, afterMs: Math.max(managed.requeueAfterMs, batchMs)});
    const {created = 0, deleted = 0} = managed ?? {};
    return {managed, end: completionOf(sync, sync.active.length + created - deleted)};
  };

  return async (key, job, onAction) => {
    // Checked before the pods are read: later events queue the job again.
    const isUpToDate = expected.satisfied(key);
    const sync = jobSyncOf({
      key,
      job,
      pods: await podsOf(job),
      marks,
      released: released.of(key),
      record: records.get(key),
      now: clock.now(),
    });
    const progress = progressOf(job);
    if (!isSuspended(job)) progress.startTime ??= wireTime(sync.now);

    const early = endOfJob(sync);
    const {managed, end: jobEnd} = early ? await stop(sync, early, isUpToDate) : await continueJob(sync, isUpToDate);
    if (managed) onAction(managed.action);
    const suspension = early || jobEnd || !managed ? undefined : setSuspension(sync, progress);
    if (suspension) events.normal(job, suspension.reason, suspension.message);

    const {created = 0, deleted = 0, deletedReady = 0} = managed ?? {};
    const counters = {
      active: sync.active.length + created - deleted,
      ready: sync.ready - deletedReady,
      terminating: sync.terminating + deleted,
    };
    const {status = {}} = job;
    const changed =
      suspension !== undefined ||
      counters.active !== (status.active ?? 0) ||
      counters.ready !== status.ready ||
      counters.terminating !== status.terminating;
    await track({sync, progress: Object.assign(progress, counters), end: jobEnd, changed});
    if (managed?.error !== undefined) throw managed.error;
  };
};
