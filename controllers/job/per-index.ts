import {counts, matchFailure} from './failure-policy.js';
import {finishTime} from './finish-time.js';
import {hasIndex, indexesOf, parseIndexes, union, type Indexes} from './indexes.js';
import {hasFailed, indexOf, limitPerIndex, validIndexOf, type CachedJob, type CachedPod, type JobNames} from './kinds.js';

/** Failures that an index has had before a pod, as the pod carries them. */
interface Failures {
  readonly counted: number;
  readonly ignored: number;
}

/** Anybody can write annotations: what is no count is none. */
const countIn = (pod: CachedPod, annotation: string): number => {
  const text = pod.metadata?.annotations?.[annotation] ?? '';
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  return value >= 0 && value < 2 ** 31 ? value : 0;
};

const failuresBefore = (pod: CachedPod, marks: JobNames): Failures => ({counted: countIn(pod, marks.indexFailures), ignored: countIn(pod, marks.ignoredIndexFailures)});

/** All failures before the pod, whether they count or not. */
export const allFailuresBefore = (pod: CachedPod, marks: JobNames): number => {
  const {counted, ignored} = failuresBefore(pod, marks);
  return counted + ignored;
};

/** Failures of the index with that of the pod itself. */
const failuresWith = (job: CachedJob, pod: CachedPod, marks: JobNames): Failures => {
  const {counted, ignored} = failuresBefore(pod, marks);
  return counts(matchFailure(job, pod)) ? {counted: counted + 1, ignored} : {counted, ignored: ignored + 1};
};

/** What a pod is annotated with that takes the place of another, or is the first of its index. */
export const failureAnnotations = (job: CachedJob, replaced: CachedPod | undefined, marks: JobNames): Record<string, string> => {
  const {counted, ignored} = replaced ? failuresWith(job, replaced, marks) : {counted: 0, ignored: 0};
  return {[marks.indexFailures]: String(counted), ...(ignored > 0 ? {[marks.ignoredIndexFailures]: String(ignored)} : {})};
};

const failsIndex = (job: CachedJob, pod: CachedPod, marks: JobNames): boolean => {
  if (!hasFailed(pod, job)) return false;
  const match = matchFailure(job, pod);
  return match?.action === 'FailIndex' || (counts(match) && failuresBefore(pod, marks).counted >= limitPerIndex(job)!);
};

/** The indexes that have failed, those of the status and those of pods that failed since. */
export const failedIndexesOf = (job: CachedJob, pods: readonly CachedPod[], marks: JobNames): Indexes => {
  const since = pods.filter(pod => failsIndex(job, pod, marks)).map(pod => validIndexOf(pod, job, marks));
  return union(parseIndexes(job.status?.failedIndexes ?? '', job.spec?.completions ?? 0), indexesOf(since.filter(index => index !== undefined)));
};

export interface WaitingFor {
  /** Pods of valid indexes that may still be counted. */
  readonly candidates: readonly CachedPod[];
  readonly active: readonly CachedPod[];
  /** Indexes that nothing is to be made for any more. */
  readonly settled: Indexes;
  readonly marks: JobNames;
}

/** The last failed pod of each index that waits for another pod: its count of failures has to be handed on. */
export const waitingPods = (job: CachedJob, {candidates, active, settled, marks}: WaitingFor): Map<number, CachedPod> => {
  const alive = new Set(active.map(pod => indexOf(pod, marks)));
  const last = new Map<number, CachedPod>();
  for (const pod of candidates) {
    const index = indexOf(pod, marks);
    if (index === undefined || !hasFailed(pod, job) || alive.has(index) || hasIndex(settled, index)) continue;
    const known = last.get(index);
    if (!known || (allFailuresBefore(known, marks) <= allFailuresBefore(pod, marks) && finishTime(pod) >= finishTime(known))) last.set(index, pod);
  }
  return last;
};
