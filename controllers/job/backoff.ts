import {exponential} from '#src/base/backoff.js';
import {finishTime} from './finish-time.js';
import type {CachedPod} from './kinds.js';

/** The failures of a job's pods since the last success. */
export interface BackoffRecord {
  readonly failures: number;
  readonly lastFailureAt: number;
}

const none: BackoffRecord = {failures: 0, lastFailureAt: 0};
const delayAfter = exponential(10_000, 600_000);

/** Returns the remaining backoff in ms. */
export const remainingDelay = (failures: number, lastFailureAt: number, now: number): number =>
  failures === 0 ? 0 : Math.max(0, delayAfter(failures - 1) - (now - lastFailureAt));

const latest = (times: readonly number[]): number => times.reduce((a, b) => Math.max(a, b));

/** Returns the record, updated with pods that finished since. */
export const nextRecord = (before: BackoffRecord = none, succeeded: readonly CachedPod[], failed: readonly CachedPod[]): BackoffRecord => {
  const failedAt = failed.map(finishTime);
  if (succeeded.length === 0)
    return failed.length === 0 ? before : {failures: before.failures + failed.length, lastFailureAt: latest(failedAt)};
  const lastSuccessAt = latest(succeeded.map(finishTime));
  const since = failedAt.filter(at => at > lastSuccessAt);
  return since.length === 0 ? none : {failures: since.length, lastFailureAt: latest(since)};
};
