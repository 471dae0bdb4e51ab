import type {Job} from '#controllers/shared/jobs.js';
import {unlessMissing} from '#src/client/missing.js';
import {copyOf, keyOf, type Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {hasCause, isAlreadyExists} from '#src/api/status.js';
import {parseTime, wireTime} from '#src/api/time.js';
import {wallClockOf, formatWallTime} from '#src/model/zoned-time.js';
import {controllerRefTo, isControlledBy} from '#src/model/owners.js';
import {Expected, type KeyedContext} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {deleteJob, isActive, type ChildContext, type CronJobSync} from './active-jobs.js';
import type {CachedCronJob, CronJobStatus} from './kinds.js';

export type StartContext = ChildContext & Pick<KeyedContext, 'naming'> & {created(job: Job, at: number): void};

/** Returns the job name of a start, the same for each retry. */
const jobName = ({metadata}: CachedCronJob, at: number): string => `${metadata?.name}-${Math.floor(at / 60_000)}`;

const jobFor = (cronJob: CachedCronJob, at: number, naming: Naming): Job => {
  const {metadata, spec} = cronJob.spec!.jobTemplate;
  // Without a time zone the timestamp is in UTC.
  const stamp = formatWallTime(at, wallClockOf(cronJob.spec?.timeZone ?? 'UTC'));
  return copyOf<Job>({
    metadata: {
      name: jobName(cronJob, at),
      namespace: cronJob.metadata?.namespace ?? '',
      labels: metadata?.labels ?? {},
      annotations: {...metadata?.annotations, [naming.subKey('batch', 'cronjob-scheduled-timestamp')]: stamp},
      ownerReferences: [controllerRefTo(cronJob, kinds.cronJobs, naming)],
    },
    ...(spec ? {spec} : {}),
  } as Frozen<Job>);
};

/** Whether the job of a start was created, according to the status. */
const isStarted = ({cronJob, status}: CronJobSync, at: number): boolean =>
  (status.active ?? []).some(({name, namespace}) => name === jobName(cronJob, at) && namespace === cronJob.metadata?.namespace) ||
  parseTime(status.lastScheduleTime) === at;

/** `Thu, 01 Jan 2026 00:00:00 +0000` (RFC 1123 with a numeric zone). */
const rfc1123 = (ms: number): string => new Date(ms).toUTCString().replace('GMT', '+0000');

/** Deletes the active jobs. Rejects when one of them cannot be deleted. */
const replaceActive = async (context: ChildContext, sync: CronJobSync): Promise<void> => {
  for (const {name = '', namespace = ''} of sync.status.active ?? []) {
    const job = await context.client
      .resource(kinds.jobs)
      .get(name, {namespace})
      .catch((error: unknown) => {
        context.events.warning(sync.cronJob, 'FailedGet', `Get job: ${messageOf(error)}`);
        throw error;
      });
    if (!(await deleteJob(context, sync, job))) throw new Error(`could not replace job ${namespace}/${name}`);
  }
};

/**
 * Creates the job, or returns the existing one of the same start if the status lacks it; undefined when there is
 * nothing to record.
 */
const create = async (
  {client, writer, events, naming, created}: StartContext,
  {cronJob, status}: CronJobSync,
  at: number,
): Promise<Job | undefined> => {
  const desired = jobFor(cronJob, at, naming);
  try {
    const job = await writer(kinds.jobs).create(desired);
    created(job, at);
    events.normal(cronJob, 'SuccessfulCreate', `Created job ${job.metadata?.name}`);
    return job;
  } catch (error) {
    // Not worth an event: retried with backoff until the cron job is deleted too.
    if (hasCause(error, 'NamespaceTerminating')) throw new Expected(messageOf(error), {cause: error});
    if (!isAlreadyExists(error)) {
      events.warning(cronJob, 'FailedCreate', `Error creating job: ${messageOf(error)}`);
      throw error;
    }
    const {namespace, name} = keyOf(desired);
    const existing = await unlessMissing(client.resource(kinds.jobs).get(name, {namespace}));
    if (!existing) throw error;
    return isControlledBy(existing, cronJob) && !isActive(status, existing.metadata?.uid) ? existing : undefined;
  }
};

/** Starts the job and adds it to the status. Returns whether there was anything to add. */
const start = async (context: StartContext, sync: CronJobSync, at: number): Promise<boolean> => {
  const job = await create(context, sync, at);
  if (!job) return false;
  const {namespace = '', name = '', uid = '', resourceVersion = ''} = job.metadata ?? {};
  const reference = {kind: kinds.jobs.kind, namespace, name, uid, apiVersion: apiVersionOf(context.naming, kinds.jobs), resourceVersion};
  const active: NonNullable<CronJobStatus['active']> = [...(sync.status.active ?? []), reference];
  Object.assign(sync.status, {active, lastScheduleTime: wireTime(at)});
  sync.changed = true;
  return true;
};

interface DueStart {
  readonly at: number;
  /** Whether so many starts were missed that not all were counted. */
  readonly isLastOfMany: boolean;
  readonly now: number;
}

/**
 * Starts the job unless the deadline or the concurrency policy prevents it. Returns whether to wait for the next time.
 */
export const startIfAllowed = async (context: StartContext, sync: CronJobSync, {at, isLastOfMany, now}: DueStart): Promise<boolean> => {
  const {cronJob, status} = sync;
  const {startingDeadlineSeconds, concurrencyPolicy} = cronJob.spec ?? {};
  const {events} = context;
  if (isLastOfMany)
    events.warning(
      cronJob,
      'TooManyMissedTimes',
      'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    );
  if (startingDeadlineSeconds !== undefined && at + startingDeadlineSeconds * 1000 < now) {
    events.warning(cronJob, 'MissSchedule', `Missed scheduled time to start a job: ${rfc1123(at)}`);
    return true;
  }
  if (isStarted(sync, at)) return true;
  if (concurrencyPolicy === 'Forbid' && (status.active ?? []).length > 0) {
    events.normal(cronJob, 'JobAlreadyActive', 'Not starting job because prior execution is running and concurrency policy is Forbid');
    return true;
  }
  if (concurrencyPolicy === 'Replace') await replaceActive(context, sync);
  return start(context, sync, at);
};
