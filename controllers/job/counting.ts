import {wireTime} from '#src/api/time.js';
import {condition, withCondition, type JobEnd} from './conditions.js';
import {counts, matchFailure} from './failure-policy.js';
import {countIndexes, formatIndexes, hasIndex, indexesOf, union} from './indexes.js';
import {hasFailed, indexOf, isIndexed, isTracked, validIndexOf, type CachedPod, type JobNames} from './kinds.js';
import type {Progress} from './progress.js';
import type {JobSync} from './sync.js';

/** The most uncounted pods in the status, which would be too large otherwise. */
const maxUncounted = 500;

export interface Tracking {
  readonly sync: JobSync;
  /** The status to write. */
  readonly progress: Progress;
  readonly end: JobEnd | undefined;
  /** Whether the status has changed already. */
  readonly changed: boolean;
}

/** The pods found that can be released. */
interface Counted {
  readonly release: CachedPod[];
  readonly succeededIndexes: number[];
  readonly actions: string[];
  changed: boolean;
  /** Whether there are more than can be counted at once. */
  full: boolean;
}

const uidOf = ({metadata}: CachedPod): string => metadata?.uid ?? '';

/** Whether the pod's state is not needed any more. */
const canRelease = (pod: CachedPod, failed: boolean, {sync: {job, waiting}, end: jobEnd}: Tracking, marks: JobNames): boolean => {
  if (job.metadata?.deletionTimestamp || jobEnd || pod.status?.phase === 'Succeeded') return true;
  const index = indexOf(pod, marks);
  return failed && (index === undefined || waiting.get(index) !== pod);
};

const countPod = (pod: CachedPod, failed: boolean, {sync, progress, end: jobEnd}: Tracking, counted: Counted, marks: JobNames): void => {
  const {job, uncounted, succeededBefore} = sync;
  const uid = uidOf(pod);
  if (pod.status?.phase === 'Succeeded' && !uncounted.failed.has(uid)) {
    const index = validIndexOf(pod, job, marks);
    if (isIndexed(job)) {
      // Its index records that it is counted.
      if (index !== undefined && !hasIndex(succeededBefore, index)) counted.changed = counted.succeededIndexes.push(index) > 0;
    } else if (!uncounted.succeeded.has(uid)) counted.changed = progress.uncounted.succeeded.push(uid) > 0;
    return;
  }
  // When a job has failed, all unfinished pods have failed too.
  const isLost = failed || jobEnd?.ends === 'Failed';
  if (!isLost || uncounted.failed.has(uid) || (isIndexed(job) && validIndexOf(pod, job, marks) === undefined)) return;
  const match = matchFailure(job, pod);
  if (match) counted.actions.push(match.action);
  if (counts(match)) counted.changed = progress.uncounted.failed.push(uid) > 0;
};

/** Counts finished pods in the progress of a job, up to a limit, and finds those that can be released. */
export const countPods = (tracking: Tracking, marks: JobNames): Counted => {
  const {sync, progress} = tracking;
  const {job, pods, tracked} = sync;
  const counted: Counted = {release: [], succeededIndexes: [], actions: [], changed: false, full: false};
  const inOrder = isIndexed(job) ? [...pods].sort((a, b) => (indexOf(a, marks) ?? -1) - (indexOf(b, marks) ?? -1)) : pods;
  for (const pod of inOrder) {
    if (!isTracked(pod, marks) || !tracked.has(uidOf(pod))) continue;
    const failed = hasFailed(pod, job);
    if (!canRelease(pod, failed, tracking, marks)) continue;
    counted.release.push(pod);
    countPod(pod, failed, tracking, counted, marks);
    if (counted.succeededIndexes.length + progress.uncounted.succeeded.length + progress.uncounted.failed.length < maxUncounted) continue;
    counted.full = true;
    break;
  }
  return counted;
};

/** Sets the indexes of the progress. Returns whether they changed. */
export const updateIndexes = (
  {sync: {job, succeededBefore, succeededIndexes, failedIndexes}, progress}: Tracking,
  {succeededIndexes: since, full}: Counted,
): boolean => {
  if (!isIndexed(job)) return false;
  // Those beyond the limit keep their finalizers and are found again.
  const indexes = union(full ? succeededBefore : succeededIndexes, indexesOf(since));
  const before = [progress.completedIndexes, progress.failedIndexes];
  progress.succeeded = countIndexes(indexes);
  progress.completedIndexes = formatIndexes(indexes);
  progress.failedIndexes = failedIndexes && formatIndexes(failedIndexes);
  return before[0] !== progress.completedIndexes || before[1] !== progress.failedIndexes;
};

/** Sets the final condition, if all pods are counted. Returns whether it was set. */
export const setEnd = (jobEnd: JobEnd, progress: Progress, now: number): boolean => {
  const {uncounted, terminating} = progress;
  if (uncounted.succeeded.length + uncounted.failed.length + terminating > 0) return false;
  progress.conditions = withCondition(progress.conditions, condition(jobEnd.ends, 'True', jobEnd, now)) ?? progress.conditions;
  if (jobEnd.ends === 'Complete') progress.completionTime = wireTime(now);
  return true;
};
