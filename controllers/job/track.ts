import type {OwnWrites} from '#controllers/shared/own-writes.js';
import {kinds} from '#src/api/kinds.js';
import {wireTime} from '#src/api/time.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {BackoffRecord} from './backoff.js';
import {condition, interimType, withCondition, type JobEnd} from './conditions.js';
import {counts, matchFailure} from './failure-policy.js';
import {releasePods, type Releases, type Untrack} from './finalizers.js';
import {countIndexes, formatIndexes, hasIndex, indexesOf, union} from './indexes.js';
import {hasFailed, indexOf, isIndexed, isTracked, validIndexOf, type CachedJob, type CachedPod, type JobNames} from './kinds.js';
import type {JobMetrics} from './metrics.js';
import {countUntracked, statusOf, type Progress} from './progress.js';
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

export interface TrackerParts {
  readonly marks: JobNames;
  readonly metrics: JobMetrics;
  readonly released: Releases;
  readonly untrack: Untrack;
  readonly written: OwnWrites;
  /** Stores the failure record once it is in the status. */
  remember(key: string, record: BackoffRecord): void;
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

/**
 * Counts finished pods exactly once: their UIDs are written to the status before their finalizers are removed, and counted
 * afterwards (KEP-2307). Ends the job when all are counted and none is terminating.
 */
export const tracker = ({writer, events, clock}: Pick<KeyedContext, 'writer' | 'events' | 'clock'>, {marks, metrics, released, untrack, written, remember}: TrackerParts) => {
  const jobs = writer(kinds.jobs);

  /** Whether the pod's state is not needed any more. */
  const canRelease = (pod: CachedPod, failed: boolean, {sync: {job, waiting}, end: jobEnd}: Tracking): boolean => {
    if (job.metadata?.deletionTimestamp || jobEnd || pod.status?.phase === 'Succeeded') return true;
    const index = indexOf(pod, marks);
    return failed && (index === undefined || waiting.get(index) !== pod);
  };

  const countPod = (pod: CachedPod, failed: boolean, {sync, progress, end: jobEnd}: Tracking, counted: Counted): void => {
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

  const countPods = (tracking: Tracking): Counted => {
    const {sync, progress} = tracking;
    const {job, pods, tracked} = sync;
    const counted: Counted = {release: [], succeededIndexes: [], actions: [], changed: false, full: false};
    const inOrder = isIndexed(job) ? [...pods].sort((a, b) => (indexOf(a, marks) ?? -1) - (indexOf(b, marks) ?? -1)) : pods;
    for (const pod of inOrder) {
      if (!isTracked(pod, marks) || !tracked.has(uidOf(pod))) continue;
      const failed = hasFailed(pod, job);
      if (!canRelease(pod, failed, tracking)) continue;
      counted.release.push(pod);
      countPod(pod, failed, tracking, counted);
      if (counted.succeededIndexes.length + progress.uncounted.succeeded.length + progress.uncounted.failed.length < maxUncounted) continue;
      counted.full = true;
      break;
    }
    return counted;
  };

  /** Writes the indexes into the status. Returns whether they changed. */
  const updateIndexes = ({sync: {job, succeededBefore, succeededIndexes, failedIndexes}, progress}: Tracking, {succeededIndexes: since, full}: Counted): boolean => {
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
  const end = (jobEnd: JobEnd, progress: Progress): boolean => {
    const {uncounted, terminating} = progress;
    if (uncounted.succeeded.length + uncounted.failed.length + terminating > 0) return false;
    const now = clock.now();
    progress.conditions = withCondition(progress.conditions, condition(jobEnd.ends, 'True', jobEnd, now)) ?? progress.conditions;
    if (jobEnd.ends === 'Complete') progress.completionTime = wireTime(now);
    return true;
  };

  const reportEnd = (job: CachedJob, jobEnd: JobEnd, {succeeded}: Progress): void => {
    const {ends, reason, message} = jobEnd;
    if (ends === 'Failed') events.warning(job, reason, message);
    else {
      if (succeeded > (job.spec?.completions ?? Infinity)) events.warning(job, 'TooManySucceededPods', 'Too many succeeded pods running after completion count reached');
      events.normal(job, 'Completed', 'Job completed');
    }
    metrics.finished(job, ends === 'Failed' ? 'failed' : 'succeeded', reason);
  };

  return async (tracking: Tracking): Promise<void> => {
    const {sync, progress, end: jobEnd} = tracking;
    const {key, record} = sync;
    let {job} = sync;
    let before = {...progress};
    const write = async () => {
      job = await jobs.updateStatus({...job, status: statusOf(progress)} as Parameters<typeof jobs.updateStatus>[0]);
      written.wrote(job);
      metrics.counted(job, progress, before);
      before = {...progress};
    };

    const tracked = new Set(sync.tracked);
    let changed = countUntracked(progress, tracked) || tracking.changed;
    const counted = countPods(tracking);
    changed = updateIndexes(tracking, counted) || counted.changed || changed;
    if (jobEnd) {
      const conditions = withCondition(progress.conditions, condition(interimType(jobEnd), 'True', jobEnd, clock.now()));
      if (conditions) progress.conditions = conditions;
      changed ||= conditions !== undefined;
    }
    if (changed) {
      await write();
      remember(key, record);
    }
    for (const action of counted.actions) metrics.failureHandled(action);

    const {uids, error} = await releasePods(key, counted.release, {untrack, expected: released});
    for (const uid of uids) tracked.delete(uid);
    changed = countUntracked(progress, tracked);
    if (error) {
      if (changed) await write();
      throw error;
    }
    const isFinished = jobEnd !== undefined && !counted.full && end(jobEnd, progress);
    if (changed || isFinished) await write();
    if (isFinished) reportEnd(job, jobEnd, progress);
  };
};
