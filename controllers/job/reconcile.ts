import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {endOf} from '#controllers/shared/jobs.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {wireTime} from '#src/api/time.js';
import {isControlledBy} from '#src/model/owners.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {settled, type KeyedContext, type Loops} from '#src/runtime/controller.js';
import type {BackoffRecord} from './backoff.js';
import {condition, withCondition, type JobEnd} from './conditions.js';
import {releases, untracker} from './finalizers.js';
import {foreignManager, isSuspended, isTracked, jobPods, jobNamesOf, type CachedJob, type CachedPod} from './kinds.js';
import {podManager, type PodChanges} from './manage.js';
import {jobMetrics, type Action} from './metrics.js';
import {orphanReconciler} from './orphans.js';
import {progressOf, type Progress} from './progress.js';
import {jobSyncOf, type JobSync} from './sync.js';
import {tracker} from './track.js';
import {deadlineIn, completionOf, endOfJob} from './end.js';
import {batchMs, watchJobs, jobLoop, orphanLoop} from './event-handlers.js';

/** The changes of a sync, and whether the job ends. */
interface SyncOutcome {
  readonly managed: PodChanges | undefined;
  readonly end: JobEnd | undefined;
}

/** Reconciles jobs: runs pods until enough have succeeded or too many have failed, and counts them. */
export const jobReconciler = (context: KeyedContext<WaitingPodsOptions>): Loops => {
  const {lister, client, clock, events, enqueue, naming} = context;
  const jobs = lister(kinds.jobs);
  const pods = indexingChildren(lister(kinds.pods));
  const marks = jobNamesOf(naming);
  const metrics = jobMetrics(context.meter);
  const expected = trackingExpectations(clock);
  const released = releases();
  const written = ownWrites();
  const records = new Map<string, BackoffRecord>();
  const untrack = untracker(context, marks);
  const claim = claimer({client, parents: kinds.jobs, children: kinds.pods});
  const manager = podManager(context, {marks, metrics, expected, untrack});
  const track = tracker(context, {marks, metrics, released, untrack, written, remember: (key, record) => void records.set(key, record)});
  watchJobs(context, {marks, metrics, expected, released});

  const forget = (key: string): void => {
    expected.forget(key);
    released.forget(key);
    written.forget(key);
    records.delete(key);
  };
  context.listen(kinds.jobs, ({type, object}) => {
    // A new job of the same name starts clean.
    if (type === 'deleted') forget(keyText(keyOf(object)));
  });

  const podsOf = async (job: CachedJob): Promise<readonly CachedPod[]> => {
    const selector = jobPods.selectorOf(job);
    if (!selector) throw new Error("couldn't convert Job selector");
    const claimed = await claim(job, possibleChildren(pods, job, selector), {selector, finalizers: [marks.finalizer]});
    // Pods adopted just now have the finalizer, which the cache lacks.
    return claimed.map(pod =>
      isControlledBy(pod, job) || isTracked(pod, marks) ? pod : {...pod, metadata: {...pod.metadata, finalizers: [...(pod.metadata?.finalizers ?? []), marks.finalizer]}},
    );
  };

  /** Sets the Suspended condition when it changes; the start time is reset on resumption. */
  const recordSuspension = ({job, now}: JobSync, progress: Progress): boolean => {
    const [reason, text, status] = isSuspended(job) ? (['Suspended', 'Job suspended', 'True'] as const) : (['Resumed', 'Job resumed', 'False'] as const);
    const conditions = withCondition(progress.conditions, condition('Suspended', status, {reason: `Job${reason}`, message: text}, now));
    if (!conditions) return false;
    progress.conditions = conditions;
    events.normal(job, reason, text);
    if (reason === 'Resumed') progress.startTime = wireTime(now);
    return true;
  };

  /** Deletes the pods of a job that is to end; while some may remain, it does not end. */
  const stop = async (sync: JobSync, jobEnd: JobEnd, isUpToDate: boolean): Promise<SyncOutcome> => {
    const managed = await manager.deleteAll(sync);
    return {managed: {...managed, action: 'reconciling'}, end: managed.deleted === sync.active.length && isUpToDate ? jobEnd : undefined};
  };

  const continueJob = async (sync: JobSync, isUpToDate: boolean): Promise<SyncOutcome> => {
    const deadline = deadlineIn(sync.job, sync.now);
    if (deadline !== undefined) enqueue(keyOf(sync.job), {loop: jobLoop, afterMs: deadline});
    const managed = isUpToDate && !sync.job.metadata?.deletionTimestamp ? await manager.manage(sync) : undefined;
    if (managed?.requeueAfterMs !== undefined) enqueue(keyOf(sync.job), {loop: jobLoop, afterMs: Math.max(managed.requeueAfterMs, batchMs)});
    const {created = 0, deleted = 0} = managed ?? {};
    return {managed, end: completionOf(sync, sync.active.length + created - deleted)};
  };

  /** Syncs a job that is not finished. */
  const syncJob = async (key: string, job: CachedJob, onAction: (action: Action) => void): Promise<void> => {
    // Checked before the pods are read: later events queue the job again.
    const isUpToDate = expected.satisfied(key);
    const sync = jobSyncOf({key, job, pods: await podsOf(job), marks, released: released.of(key), record: records.get(key), now: clock.now()});
    const progress = progressOf(job);
    if (!isSuspended(job)) progress.startTime ??= wireTime(sync.now);

    const early = endOfJob(sync);
    const {managed, end: jobEnd} = early ? await stop(sync, early, isUpToDate) : await continueJob(sync, isUpToDate);
    if (managed) onAction(managed.action);
    const isSuspensionNew = !early && !jobEnd && managed !== undefined && recordSuspension(sync, progress);

    const {created = 0, deleted = 0, deletedReady = 0} = managed ?? {};
    const counters = {active: sync.active.length + created - deleted, ready: sync.ready - deletedReady, terminating: sync.terminating + deleted};
    const {status = {}} = job;
    const changed = isSuspensionNew || counters.active !== (status.active ?? 0) || counters.ready !== status.ready || counters.terminating !== status.terminating;
    await track({sync, progress: Object.assign(progress, counters), end: jobEnd, changed});
    if (managed?.error !== undefined) throw managed.error;
  };

  const reconcile: Loops[string] = async (at, {log}) => {
    const key = keyText(at);
    const job = jobs.get(at);
    if (!job) {
      forget(key);
      return settled;
    }
    if (foreignManager(job, marks) !== undefined) return settled;
    if (endOf(job)) {
      records.delete(key);
      return settled;
    }
    if (!['NonIndexed', 'Indexed', undefined].includes(job.spec?.completionMode)) {
      events.warning(job, 'UnknownCompletionMode', 'Skipped Job sync because completion mode is unknown');
      return settled;
    }
    if (written.isStale(job)) {
      log.v(4).info({resourceVersion: job.metadata?.resourceVersion}, 'the cache does not know yet what was written last');
      return settled;
    }
    const started = clock.monotonic();
    let action: Action = 'reconciling';
    const done = (result: 'success' | 'error') => metrics.synced(job, result, action, (clock.monotonic() - started) / 1000);
    try {
      await syncJob(key, job, onAction => (action = onAction));
    } catch (error) {
      done('error');
      throw error;
    }
    done('success');
    return settled;
  };

  return {
    [jobLoop]: {reconcile, queueName: 'job'},
    [orphanLoop]: {reconcile: orphanReconciler(context, {marks, untrack}), workers: 1, queueName: 'job_orphan_pod'},
  };
};
