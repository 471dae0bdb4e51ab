import {trueCondition} from '#controllers/shared/jobs.js';
import {parseTime} from '#src/api/time.js';
import {completeFor, failedFor, type JobEnd} from './conditions.js';
import {matchFailure} from './failure-policy.js';
import {countIndexes} from './indexes.js';
import {hasFailed, isIndexed, type CachedJob, type CachedPod} from './kinds.js';
import type {JobSync} from './sync.js';
import {matchSuccess} from './success-policy.js';

/** In how many ms the job has been active for too long; undefined where that does not matter. */
export const deadlineIn = (job: CachedJob, now: number): number | undefined => {
  const {spec, status} = job;
  // The time of a job that is just being resumed begins now, as the API promises, although its status does not say so yet.
  const startedAt = (trueCondition(job, 'Suspended') ? undefined : parseTime(status?.startTime)) ?? now;
  return spec?.activeDeadlineSeconds === undefined || spec.suspend ? undefined : startedAt + spec.activeDeadlineSeconds * 1000 - now;
};

/** Whether containers that are started again and again in their pods have used up the limit. */
const restartedTooOften = ({spec}: CachedJob, pods: readonly CachedPod[]): boolean => {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const {status} of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue;
    for (const {restartCount} of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) restarts += restartCount;
  }
  return spec.backoffLimit === 0 ? restarts > 0 : restarts >= (spec.backoffLimit ?? 0);
};

/** The verdict that the status has already. */
const recordedEnd = (job: CachedJob): JobEnd | undefined => {
  const met = trueCondition(job, 'SuccessCriteriaMet');
  if (met) return completeFor(met.reason ?? '', met.message ?? '');
  const failure = trueCondition(job, 'FailureTarget');
  return failure && failedFor(failure.reason ?? '', failure.message ?? '');
};

const byFailurePolicy = ({job, pods}: JobSync): JobEnd | undefined => {
  if (!job.spec?.podFailurePolicy) return undefined;
  for (const pod of pods) {
    const message = hasFailed(pod, job) ? matchFailure(job, pod)?.failsJob : undefined;
    if (message !== undefined) return failedFor('PodFailurePolicy', message);
  }
  return undefined;
};

const byLimits = ({job, pods, failed, now}: JobSync): JobEnd | undefined => {
  if (failed > (job.spec?.backoffLimit ?? 0) || restartedTooOften(job, pods)) return failedFor('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  return (deadlineIn(job, now) ?? 1) <= 0 ? failedFor('DeadlineExceeded', 'Job was active longer than specified deadline') : undefined;
};

const byIndexes = ({job, failedIndexes, succeededIndexes}: JobSync): JobEnd | undefined => {
  if (!failedIndexes) return undefined;
  const failed = countIndexes(failedIndexes);
  const {maxFailedIndexes, completions = 0} = job.spec ?? {};
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes) return failedFor('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  return failed > 0 && failed + countIndexes(succeededIndexes) >= completions ? failedFor('FailedIndexes', 'Job has failed indexes') : undefined;
};

const bySuccessPolicy = ({job, succeededIndexes}: JobSync): JobEnd | undefined => {
  const message = isIndexed(job) ? matchSuccess(job, succeededIndexes) : undefined;
  return message === undefined ? undefined : completeFor('SuccessPolicy', message);
};

/** Why the job is to end although its pods may still be at work; the first reason counts. */
export const endOfJob = (sync: JobSync): JobEnd | undefined =>
  recordedEnd(sync.job) ?? byFailurePolicy(sync) ?? byLimits(sync) ?? byIndexes(sync) ?? bySuccessPolicy(sync);

/** Whether as many pods have succeeded as were asked for, with so many still at work. */
export const completionOf = ({job, succeeded}: JobSync, active: number): JobEnd | undefined => {
  const {completions} = job.spec ?? {};
  const isDone = active === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions);
  return isDone ? completeFor('CompletionsReached', 'Reached expected number of succeeded pods') : undefined;
};
