import {trueCondition} from '#controllers/shared/jobs.js';
import {parseTime} from '#src/api/time.js';
import {completeFor, failedFor, type JobEnd} from './conditions.js';
import {matchFailure} from './failure-policy.js';
import {countIndexes} from './indexes.js';
import {hasFailed, isIndexed, type CachedJob, type CachedPod} from './kinds.js';
import type {JobSync} from './sync.js';
import {matchSuccess} from './success-policy.js';

/** Returns in how many ms the active deadline passes; undefined if there is none. */
export const deadlineIn = (job: CachedJob, now: number): number | undefined => {
  const {spec, status} = job;
  // The deadline of a job that is being resumed begins now, although its status lacks it.
  const startedAt = (trueCondition(job, 'Suspended') ? undefined : parseTime(status?.startTime)) ?? now;
  return spec?.activeDeadlineSeconds === undefined || spec.suspend ? undefined : startedAt + spec.activeDeadlineSeconds * 1000 - now;
};

/** Whether containers restarted in their pods have reached the backoff limit. */
const restartedTooOften = ({spec}: CachedJob, pods: readonly CachedPod[]): boolean => {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const {status} of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue;
    for (const {restartCount} of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) restarts += restartCount;
  }
  return spec.backoffLimit === 0 ? restarts > 0 : restarts >= (spec.backoffLimit ?? 0);
};

/** Returns the end that is recorded in the status already. */
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
  if (failed > (job.spec?.backoffLimit ?? 0) || restartedTooOften(job, pods))
    return failedFor('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  return (deadlineIn(job, now) ?? 1) <= 0 ? failedFor('DeadlineExceeded', 'Job was active longer than specified deadline') : undefined;
};

const byIndexes = ({job, failedIndexes, succeededIndexes}: JobSync): JobEnd | undefined => {
  if (!failedIndexes) return undefined;
  const failed = countIndexes(failedIndexes);
  const {maxFailedIndexes, completions = 0} = job.spec ?? {};
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes)
    return failedFor('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  return failed > 0 && failed + countIndexes(succeededIndexes) >= completions
    ? failedFor('FailedIndexes', 'Job has failed indexes')
    : undefined;
};

const bySuccessPolicy = ({job, succeededIndexes}: JobSync): JobEnd | undefined => {
  const message = isIndexed(job) ? matchSuccess(job, succeededIndexes) : undefined;
  return message === undefined ? undefined : completeFor('SuccessPolicy', message);
};

/** Returns why the job is to end although pods may be active; the first reason applies. */
export const endOfJob = (sync: JobSync): JobEnd | undefined =>
  recordedEnd(sync.job) ?? byFailurePolicy(sync) ?? byLimits(sync) ?? byIndexes(sync) ?? bySuccessPolicy(sync);

/** Returns the completion if enough pods have succeeded and none is active. */
export const completionOf = ({job, succeeded}: JobSync, active: number): JobEnd | undefined => {
  const {completions} = job.spec ?? {};
  const isDone = active === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions);
  return isDone ? completeFor('CompletionsReached', 'Reached expected number of succeeded pods') : undefined;
};
