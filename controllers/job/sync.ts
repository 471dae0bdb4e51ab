import {isActive, isReady, isTerminating} from '#src/model/pod/state.js';
import {nextRecord, type BackoffRecord} from './backoff.js';
import {counts, matchFailure} from './failure-policy.js';
import {countIndexes, indexesOf, parseIndexes, union, type Indexes} from './indexes.js';
import {hasFailed, isIndexed, isTracked, limitPerIndex, validIndexOf, type CachedJob, type CachedPod, type JobNames} from './kinds.js';
import {failedIndexesOf, waitingPods} from './per-index.js';

/** The state of one sync of a job. */
export interface JobSync {
  readonly key: string;
  readonly job: CachedJob;
  readonly now: number;
  readonly pods: readonly CachedPod[];
  readonly active: readonly CachedPod[];
  readonly ready: number;
  readonly terminating: number;
  /** Pods that may still be counted: they have the finalizer, and it is not being removed. */
  readonly tracked: ReadonlySet<string>;
  readonly uncounted: {readonly succeeded: ReadonlySet<string>; readonly failed: ReadonlySet<string>};
  /** Including pods that are not in the status yet. */
  readonly succeeded: number;
  readonly failed: number;
  readonly record: BackoffRecord;
  /** For indexed jobs: from the status, and including indexes that succeeded since. */
  readonly succeededBefore: Indexes;
  readonly succeededIndexes: Indexes;
  /** With failure limits per index. */
  readonly failedIndexes: Indexes | undefined;
  /** Failed pods, by index, whose failure count is to be passed on to a replacement. */
  readonly waiting: ReadonlyMap<number, CachedPod>;
}

export interface JobSyncInput {
  readonly key: string;
  readonly job: CachedJob;
  readonly pods: readonly CachedPod[];
  readonly marks: JobNames;
  /** UIDs of pods whose finalizer was removed, which the cache may lack. */
  readonly released: ReadonlySet<string>;
  readonly record: BackoffRecord | undefined;
  readonly now: number;
}

const uidOf = ({metadata}: CachedPod): string => metadata?.uid ?? '';

const count = <T>(items: readonly T[], met: (item: T) => boolean): number => items.reduce((sum, item) => (met(item) ? sum + 1 : sum), 0);

export const jobSyncOf = ({key, job, pods, marks, released, record, now}: JobSyncInput): JobSync => {
  const {spec, status = {}} = job;
  const {succeeded = [], failed = []} = status.uncountedTerminatedPods ?? {};
  const uncounted = {succeeded: new Set(succeeded), failed: new Set(failed)};
  const withFinalizer = pods.filter(pod => isTracked(pod, marks));
  const open = withFinalizer.filter(pod => !released.has(uidOf(pod)));
  const indexed = isIndexed(job);
  const valid = indexed ? open.filter(pod => validIndexOf(pod, job, marks) !== undefined) : open;
  const newSucceeded = valid.filter(pod => pod.status?.phase === 'Succeeded' && !uncounted.succeeded.has(uidOf(pod)));
  const newFailed = valid.filter(pod => hasFailed(pod, job) && !uncounted.failed.has(uidOf(pod)));
  const active = pods.filter(isActive);
  const succeededBefore = indexed ? parseIndexes(status.completedIndexes ?? '', spec?.completions ?? 0) : [];
  const ended = indexed ? withFinalizer.filter(({status}) => status?.phase === 'Succeeded').map(pod => validIndexOf(pod, job, marks)) : [];
  const succeededIndexes = union(succeededBefore, indexesOf(ended.filter(index => index !== undefined)));
  const failedIndexes = indexed && limitPerIndex(job) !== undefined ? failedIndexesOf(job, withFinalizer, marks) : undefined;
  return {
    key,
    job,
    now,
    pods,
    active,
    ready: count(active, isReady),
    terminating: count(pods, isTerminating),
    tracked: new Set(open.map(uidOf)),
    uncounted,
    succeeded: indexed ? countIndexes(succeededIndexes) : (status.succeeded ?? 0) + newSucceeded.length + succeeded.length,
    failed: (status.failed ?? 0) + count(newFailed, pod => counts(matchFailure(job, pod))) + failed.length,
    record: nextRecord(record, newSucceeded, newFailed),
    succeededBefore,
    succeededIndexes,
    failedIndexes,
    waiting: failedIndexes
      ? waitingPods(job, {candidates: valid, active, settled: union(succeededIndexes, failedIndexes), marks})
      : new Map(),
  };
};
