// The jobs of a cron job: finds them, keeps `status.active` in step with them, and deletes those beyond the history
// limits.

import {endOf, trueCondition} from '#controllers/shared/jobs.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {Job} from '#controllers/shared/jobs.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {byControllerName, type CachedCronJob, type CachedJob, type CronJob, type CronJobStatus} from './kinds.js';

type Active = NonNullable<CronJobStatus['active']>;

/** A sync of a cron job, with the status to be written. */
export interface CronJobSync {
  cronJob: CachedCronJob;
  status: CronJobStatus;
  changed: boolean;
}

export const isActive = ({active = []}: Frozen<CronJobStatus>, uid: string | undefined): boolean =>
  active.some(reference => reference.uid === uid);

const activeUids = ({active = []}: Frozen<CronJobStatus>): Set<string | undefined> => new Set(active.map(({uid}) => uid));

const removeActive = (sync: CronJobSync, uids: ReadonlySet<string | undefined>): void => {
  const active: Active = (sync.status.active ?? []).filter(({uid}) => !uids.has(uid));
  sync.status.active = active;
};

/** Returns the jobs that a cron job controls, regardless of their labels. */
export const childrenOf = (jobs: Lister<Job>, cronJob: CachedCronJob): readonly CachedJob[] => {
  const {namespace, name} = keyOf(cronJob);
  return jobs.by(byControllerName, `${namespace}/${name}`);
};

/** By start time; jobs that have not started are last. */
const byStart = (a: CachedJob, b: CachedJob): number => {
  const [left, right] = [a, b].map(({status}) => parseTime(status?.startTime) ?? Infinity) as [number, number];
  if (left !== right) return left - right;
  return (a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1;
};

export type ChildContext = Pick<KeyedContext, 'client' | 'writer' | 'events'>;

/** Deletes a job and, in the background, its pods. Returns whether it succeeded. */
export const deleteJob = async ({writer, events}: ChildContext, sync: CronJobSync, job: CachedJob): Promise<boolean> => {
  try {
    await writer(kinds.jobs).delete(job, {propagationPolicy: 'Background'});
  } catch (error) {
    events.warning(sync.cronJob, 'FailedDelete', `Deleted job: ${messageOf(error)}`);
    return false;
  }
  removeActive(sync, new Set([job.metadata?.uid]));
  sync.changed = true;
  events.normal(sync.cronJob, 'SuccessfulDelete', `Deleted job ${job.metadata?.name}`);
  return true;
};

/** Deletes the oldest finished jobs beyond the history limits. */
export const trimHistory = async (context: ChildContext, sync: CronJobSync, jobs: readonly CachedJob[]): Promise<void> => {
  const {successfulJobsHistoryLimit, failedJobsHistoryLimit} = sync.cronJob.spec ?? {};
  for (const [type, limit] of [
    ['Complete', successfulJobsHistoryLimit],
    ['Failed', failedJobsHistoryLimit],
  ] as const) {
    if (limit === undefined) continue;
    const finished = jobs.filter(job => endOf(job)?.type === type).sort(byStart);
    for (const job of finished.slice(0, Math.max(0, finished.length - limit))) await deleteJob(context, sync, job);
  }
};

const recordSuccess = (sync: CronJobSync, {status}: CachedJob): void => {
  const at = status?.completionTime;
  const known = parseTime(sync.status.lastSuccessfulTime);
  if (at === undefined || (known !== undefined && known >= (parseTime(at) ?? 0))) return;
  sync.status.lastSuccessfulTime = at;
  sync.changed = true;
};

/** Updates the list of active jobs from the existing jobs. */
const syncExisting = async ({client, events}: ChildContext, sync: CronJobSync, jobs: readonly CachedJob[]): Promise<void> => {
  const {namespace, name} = keyOf(sync.cronJob);
  let active = activeUids(sync.status);
  const ended = new Set<string | undefined>();
  try {
    for (const job of jobs) {
      const uid = job.metadata?.uid;
      const end = endOf(job);
      if (end) {
        if (active.delete(uid)) {
          ended.add(uid);
          events.normal(sync.cronJob, 'SawCompletedJob', `Saw completed job: ${job.metadata?.name}, condition: ${end.type}`);
          sync.changed = true;
        }
        if (trueCondition(job, 'Complete')) recordSuccess(sync, job);
      } else if (!active.has(uid)) {
        // The cache may lack the last write.
        const live: CronJob = await client.resource(kinds.cronJobs).get(name, {namespace});
        if (isActive(live.status ?? {}, uid)) {
          Object.assign(sync, {cronJob: live, status: structuredClone(live.status ?? {})});
          active = activeUids(sync.status);
          ended.clear();
        } else
          events.warning(sync.cronJob, 'UnexpectedJob', `Saw a job that the controller did not create or forgot: ${job.metadata?.name}`);
      }
    }
  } finally {
    if (ended.size > 0) removeActive(sync, ended);
  }
};

/** Removes deleted jobs from the list of active ones. */
const removeMissing = async ({client, events}: ChildContext, sync: CronJobSync, jobs: readonly CachedJob[]): Promise<void> => {
  const {namespace} = keyOf(sync.cronJob);
  const children = new Set(jobs.map(({metadata}) => metadata?.uid));
  const missing = new Set<string | undefined>();
  try {
    for (const reference of sync.status.active ?? []) {
      if (children.has(reference.uid)) continue;
      if (await unlessMissing(client.resource(kinds.jobs).get(reference.name ?? '', {namespace: reference.namespace ?? namespace})))
        continue;
      events.normal(sync.cronJob, 'MissingJob', `Active job went missing: ${reference.name}`);
      missing.add(reference.uid);
      sync.changed = true;
    }
  } finally {
    if (missing.size > 0) removeActive(sync, missing);
  }
};

/** Updates the list of active jobs from the existing and the deleted jobs. */
export const syncActive = async (context: ChildContext, sync: CronJobSync, jobs: readonly CachedJob[]): Promise<void> => {
  await syncExisting(context, sync, jobs);
  await removeMissing(context, sync, jobs);
};

/** Writes the status, if it has changed. */
export const writeStatus = async ({writer}: Pick<KeyedContext, 'writer'>, {cronJob, status, changed}: CronJobSync): Promise<void> => {
  if (!changed) return;
  const {active = [], ...rest} = status;
  await writer(kinds.cronJobs).updateStatus({...cronJob, status: {...rest, ...(active.length > 0 ? {active} : {})}} as CronJob);
};
