// The last step of a sync: removes finalizers, counts finished pods and writes the status.

import type {OwnWrites} from '#controllers/shared/own-writes.js';
import {kinds} from '#src/api/kinds/index.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {BackoffRecord} from './backoff.js';
import {condition, interimType, withCondition, type JobEnd} from './conditions.js';
import {countPods, setEnd, updateIndexes, type Tracking} from './counting.js';
import {releasePods, type Releases, type Untrack} from './finalizers.js';
import type {CachedJob, JobNames} from './kinds.js';
import type {JobMetrics} from './metrics.js';
import {countUntracked, statusOf, type Progress} from './progress.js';

export interface TrackerParts {
  readonly marks: JobNames;
  readonly metrics: JobMetrics;
  readonly released: Releases;
  readonly untrack: Untrack;
  readonly written: OwnWrites;
  /** Stores the failure record once it is in the status. */
  remember(key: string, record: BackoffRecord): void;
}

/** Counts the pods of a sync and writes the status. */
export type Tracker = (tracking: Tracking) => Promise<void>;

/**
 * Counts finished pods exactly once: their UIDs are written to the status before their finalizers are removed, and
 * counted afterwards (KEP-2307). Ends the job when all are counted and none is terminating.
 */
export const tracker = (
  {writer, events, clock}: Pick<KeyedContext, 'writer' | 'events' | 'clock'>,
  {marks, metrics, released, untrack, written, remember}: TrackerParts,
): Tracker => {
  const jobs = writer(kinds.jobs);

  const reportEnd = (job: CachedJob, jobEnd: JobEnd, {succeeded}: Progress): void => {
    const {ends, reason, message} = jobEnd;
    if (ends === 'Failed') events.warning(job, reason, message);
    else {
      if (succeeded > (job.spec?.completions ?? Infinity))
        events.warning(job, 'TooManySucceededPods', 'Too many succeeded pods running after completion count reached');
      events.normal(job, 'Completed', 'Job completed');
    }
    metrics.finished(job, ends === 'Failed' ? 'failed' : 'succeeded', reason);
  };

  return async tracking => {
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
    const counted = countPods(tracking, marks);
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
    const isFinished = jobEnd !== undefined && !counted.full && setEnd(jobEnd, progress, clock.now());
    if (changed || isFinished) await write();
    if (isFinished) reportEnd(job, jobEnd, progress);
  };
};
