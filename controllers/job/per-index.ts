import {counts, matchFailure} from './failure-policy.js';
import {finishTime} from './finish-time.js';
import {hasIndex, indexesOf, parseIndexes, union, type Indexes} from './indexes.js';
import {hasFailed, indexOf, limitPerIndex, validIndexOf, type CachedJob, type CachedPod, type JobNames} from './kinds.js';

/** The earlier failures of an index, in the annotations of a pod. */
interface Failures {
  readonly counted: number;
  readonly ignored: number;
}

/** Annotations can be edited: an invalid count is 0. */
const countIn = (pod: CachedPod, annotation: string): number => {
  const text = pod.metadata?.annotations?.[annotation] ?? '';
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  return value >= 0 && value < 2 ** 31 ? value : 0;
};

const failuresBefore = (pod: CachedPod, marks: JobNames): Failures => ({
  counted: countIn(pod, marks.indexFailures),
  ignored: countIn(pod, marks.ignoredIndexFailures),
});

/** Returns all failures before the pod, counted and ignored ones. */
export const allFailuresBefore = (pod: CachedPod, marks: JobNames): number => {
  const {counted, ignored} = failuresBefore(pod, marks);
  return counted + ignored;
};

/** Returns the failures of the index including the pod itself. */
const failuresWith = (job: CachedJob, pod: CachedPod, marks: JobNames): Failures => {
  const {counted, ignored} = failuresBefore(pod, marks);
  return counts(matchFailure(job, pod)) ? {counted: counted + 1, ignored} : {counted, ignored: ignored + 1};
};

/** Returns the failure annotations of a replacement pod, or of the first pod of its index. */
export const failureAnnotations = (job: CachedJob, replaced: CachedPod | undefined, marks: JobNames): Record<string, string> => {
  const {counted, ignored} = replaced ? failuresWith(job, replaced, marks) : {counted: 0, ignored: 0};
  return {[marks.indexFailures]: String(counted), ...(ignored > 0 ? {[marks.ignoredIndexFailures]: String(ignored)} : {})};
};

const failsIndex = (job: CachedJob, pod: CachedPod, marks: JobNames): boolean => {
  if (!hasFailed(pod, job)) return false;
  const match = matchFailure(job, pod);
  return match?.action === 'FailIndex' || (counts(match) && failuresBefore(pod, marks).counted >= limitPerIndex(job)!);
};

/** Returns the failed indexes: those in the status and those of pods that failed since. */
export const failedIndexesOf = (job: CachedJob, pods: readonly CachedPod[], marks: JobNames): Indexes => {
  const since = pods.filter(pod => failsIndex(job, pod, marks)).map(pod => validIndexOf(pod, job, marks));
  return union(
    parseIndexes(job.status?.failedIndexes ?? '', job.spec?.completions ?? 0),
    indexesOf(since.filter(index => index !== undefined)),
  );
};

export interface WaitingFor {
  /** Pods with valid indexes that may still be counted. */
  readonly candidates: readonly CachedPod[];
  readonly active: readonly CachedPod[];
  /** Indexes that need no further pod. */
  readonly settled: Indexes;
  readonly marks: JobNames;
}

/** Returns the last failed pod of each index that waits for a replacement: its failure count has to be passed on. */
export const waitingPods = (job: CachedJob, {candidates, active, settled, marks}: WaitingFor): Map<number, CachedPod> => {
  const alive = new Set(active.map(pod => indexOf(pod, marks)));
  const last = new Map<number, CachedPod>();
  for (const pod of candidates) {
    const index = indexOf(pod, marks);
    if (index === undefined || !hasFailed(pod, job) || alive.has(index) || hasIndex(settled, index)) continue;
    const known = last.get(index);
    if (!known || (allFailuresBefore(known, marks) <= allFailuresBefore(pod, marks) && finishTime(pod) >= finishTime(known)))
      last.set(index, pod);
  }
  return last;
};
