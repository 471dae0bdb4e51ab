import {isActive, isReady, isTerminating} from '#src/model/pod/state.js';
import {nextRecord, type BackoffRecord} from './backoff.js';
import {counts, matchFailure} from './failure-policy.js';
import {countIndexes, indexesOf, parseIndexes, union, type Indexes} from './indexes.js';
import {hasFailed, isIndexed, isTracked, limitPerIndex, validIndexOf, type CachedJob, type CachedPod, type JobNames} from './kinds.js';
import {failedIndexesOf, waitingPods} from './per-index.js';

/** What one look at a job finds. */
export interface JobSync {
  readonly key: string;
  readonly job: CachedJob;
  readonly now: number;
  readonly pods: readonly CachedPod[];
  readonly active: readonly CachedPod[];
  readonly ready: number;
  readonly terminating: number;
  /** The pods that may still be counted: their finalizer is there, and is not being taken away. */
  readonly tracked: ReadonlySet<string>;
  readonly uncounted: {readonly succeeded: ReadonlySet<string>; readonly failed: ReadonlySet<string>};
  /** With those that are not in the status yet. */
  readonly succeeded: number;
  readonly failed: number;
  readonly record: BackoffRecord;
  /** Of indexed jobs: as the status has it, and with those that have succeeded since. */
  readonly succeededBefore: Indexes;
  readonly succeededIndexes: Indexes;
  /** Where indexes have limits of their own. */
  readonly failedIndexes: Indexes | undefined;
  /** Failed pods, by index, that stay until another has taken over their count of failures. */
  readonly waiting: ReadonlyMap<number, CachedPod>;
}

export interface JobSyncInput {
  readonly key: string;
  readonly job: CachedJob;
  readonly pods: readonly CachedPod[];
  readonly marks: JobNames;
  /** UIDs of pods whose finalizer was taken away, as the cache may not know yet. */
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
    waiting: failedIndexes ? waitingPods(job, {candidates: valid, active, settled: union(succeededIndexes, failedIndexes), marks}) : new Map(),
  };
};
