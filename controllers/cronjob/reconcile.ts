import {indexing} from '#informers/lister.js';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import {parseTime} from '#src/api/time.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {childrenOf, syncActive, trimHistory, writeStatus, type CronJobSync} from './active-jobs.js';
import {byControllerName, type CronJob} from './kinds.js';
import {readDueStart, readSchedule} from './readable-schedule.js';
import {nextStartIn} from './schedule.js';
import {startIfAllowed, type StartContext} from './start.js';

/** Returns what records how long after its time a job was created. */
const creationSkew = (meter: Meter): StartContext['created'] => {
  const skew = meter.histogram({
    name: 'cronjob_controller_job_creation_skew_duration_seconds',
    help: 'Time between when a cronjob is scheduled to be run, and when the corresponding job is created',
    buckets: exponentialBuckets(1, 2, 10),
  });
  return ({metadata}: KubeObject, at) => skew.observe(((parseTime(metadata?.creationTimestamp) ?? at) - at) / 1000);
};

/** Starts jobs at their scheduled times and maintains the status. */
export const cronJobReconciler = (context: KeyedContext): Reconcile => {
  const {lister, clock, events, meter} = context;
  const cronJobs = lister(kinds.cronJobs);
  const jobs = indexing(lister(kinds.jobs), byControllerName);
  const startContext: StartContext = {...context, created: creationSkew(meter)};

  const syncCronJob = async (sync: CronJobSync): Promise<Result> => {
    const now = clock.now();
    const children = childrenOf(jobs, sync.cronJob);
    await trimHistory(context, sync, children);
    await syncActive(context, sync, children);
    if (sync.cronJob.metadata?.deletionTimestamp) return settled;
    const schedule = await readSchedule(sync.cronJob, context);
    const due = schedule && readDueStart(sync.cronJob, schedule, {now, events});
    if (!schedule || !due) return settled;
    if (due.at !== undefined && !(await startIfAllowed(startContext, sync, {at: due.at, isLastOfMany: due.missed === 'many', now})))
      return settled;
    return requeueAfter(nextStartIn({...sync.cronJob, status: sync.status}, schedule, now));
  };

  return async key => {
    const cronJob = cronJobs.get(key);
    if (!cronJob) return settled;
    const sync: CronJobSync = {cronJob, status: structuredClone(cronJob.status ?? {}) as NonNullable<CronJob['status']>, changed: false};
    try {
      return await syncCronJob(sync);
    } finally {
      // Also after an error: what was done so far is written.
      await writeStatus(context, sync);
    }
  };
};
