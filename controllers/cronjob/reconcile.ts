import {indexing} from '#informers/lister.js';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {exponentialBuckets} from '#src/base/meter.js';
import {parseTime} from '#src/api/time.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {childrenOf, syncActive, trimHistory, type CronJobSync} from './active-jobs.js';
import {byControllerName, type CronJob} from './kinds.js';
import {readDueStart, readSchedule} from './readable-schedule.js';
import {nextStartIn} from './schedule.js';
import {isStarted, replaceActive, start, type StartContext} from './start.js';

/** `Thu, 01 Jan 2026 00:00:00 +0000` (RFC 1123 with a numeric zone). */
const rfc1123 = (ms: number): string => new Date(ms).toUTCString().replace('GMT', '+0000');

/** Starts jobs at their scheduled times and maintains the status. */
export const cronJobReconciler = (context: KeyedContext): Reconcile => {
  const {lister, writer, clock, events, meter} = context;
  const cronJobs = lister(kinds.cronJobs);
  const jobs = indexing(lister(kinds.jobs), byControllerName);
  const skew = meter.histogram({
    name: 'cronjob_controller_job_creation_skew_duration_seconds',
    help: 'Time between when a cronjob is scheduled to be run, and when the corresponding job is created',
    buckets: exponentialBuckets(1, 2, 10),
  });
  const startContext: StartContext = {
    ...context,
    created: ({metadata}: KubeObject, at) => skew.observe(((parseTime(metadata?.creationTimestamp) ?? at) - at) / 1000),
  };

  /**
   * Starts the job unless the deadline or the concurrency policy prevents it. Returns whether to wait for the next
   * time.
   */
  const startIfAllowed = async (sync: CronJobSync, at: number, now: number): Promise<boolean> => {
    const {cronJob, status} = sync;
    const {startingDeadlineSeconds, concurrencyPolicy} = cronJob.spec ?? {};
    if (startingDeadlineSeconds !== undefined && at + startingDeadlineSeconds * 1000 < now) {
      events.warning(cronJob, 'MissSchedule', `Missed scheduled time to start a job: ${rfc1123(at)}`);
      return true;
    }
    if (isStarted(sync, at)) return true;
    if (concurrencyPolicy === 'Forbid' && (status.active ?? []).length > 0) {
      events.normal(cronJob, 'JobAlreadyActive', 'Not starting job because prior execution is running and concurrency policy is Forbid');
      return true;
    }
    if (concurrencyPolicy === 'Replace') await replaceActive(startContext, sync);
    return start(startContext, sync, at);
  };

  const syncCronJob = async (sync: CronJobSync): Promise<Result> => {
    const now = clock.now();
    const children = childrenOf(jobs, sync.cronJob);
    await trimHistory(context, sync, children);
    await syncActive(context, sync, children);
    if (sync.cronJob.metadata?.deletionTimestamp) return settled;
    const schedule = await readSchedule(sync.cronJob, context);
    const due = schedule && readDueStart(sync.cronJob, schedule, {now, events});
    if (!schedule || !due) return settled;
    if (due.at !== undefined) {
      if (due.missed === 'many')
        events.warning(
          sync.cronJob,
          'TooManyMissedTimes',
          'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
        );
      if (!(await startIfAllowed(sync, due.at, now))) return settled;
    }
    return requeueAfter(nextStartIn({...sync.cronJob, status: sync.status}, schedule, now));
  };

  return async key => {
    const cronJob = cronJobs.get(key);
    if (!cronJob) return settled;
    const sync: CronJobSync = {cronJob, status: structuredClone(cronJob.status ?? {}) as NonNullable<CronJob['status']>, changed: false};
    const writeStatus = async () => {
      const {active = [], ...rest} = sync.status;
      if (sync.changed)
        await writer(kinds.cronJobs).updateStatus({...sync.cronJob, status: {...rest, ...(active.length > 0 ? {active} : {})}} as CronJob);
    };
    let result: Result;
    try {
      result = await syncCronJob(sync);
    } catch (error) {
      // What was done so far is written to the status.
      await writeStatus();
      throw error;
    }
    await writeStatus();
    return result;
  };
};
