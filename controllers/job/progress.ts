import type {Frozen} from '#src/api/key.js';
import type {CachedJob, JobCondition, JobStatus} from './kinds.js';

/** A job's status during a sync. */
export interface Progress {
  conditions: Frozen<JobCondition>[];
  startTime: string | undefined;
  completionTime: string | undefined;
  active: number;
  ready: number;
  terminating: number;
  succeeded: number;
  failed: number;
  completedIndexes: string;
  /** Undefined without failure limits per index. */
  failedIndexes: string | undefined;
  /** UIDs of finished pods whose finalizers may not be removed yet. */
  uncounted: {succeeded: string[]; failed: string[]};
}

/** Reads the current status. */
export const progressOf = ({status = {}}: CachedJob): Progress => ({
  conditions: [...(status.conditions ?? [])],
  startTime: status.startTime,
  completionTime: status.completionTime,
  active: status.active ?? 0,
  ready: status.ready ?? 0,
  terminating: status.terminating ?? 0,
  succeeded: status.succeeded ?? 0,
  failed: status.failed ?? 0,
  completedIndexes: status.completedIndexes ?? '',
  failedIndexes: status.failedIndexes,
  uncounted: {
    succeeded: [...(status.uncountedTerminatedPods?.succeeded ?? [])],
    failed: [...(status.uncountedTerminatedPods?.failed ?? [])],
  },
});

const nonEmpty = <K extends string, V>(name: K, value: V): {[P in K]?: V} =>
  value === 0 || value === '' || value === undefined || (Array.isArray(value) && value.length === 0)
    ? {}
    : ({[name]: value} as {[P in K]: V});

/** Returns the status to write. Zeros are omitted, except for fields that report them. */
export const statusOf = (progress: Progress): JobStatus => {
  const {conditions, startTime, completionTime, active, ready, terminating, succeeded, failed, completedIndexes, failedIndexes, uncounted} =
    progress;
  return {
    ...nonEmpty('conditions', [...conditions] as JobCondition[]),
    ...(startTime === undefined ? {} : {startTime}),
    ...(completionTime === undefined ? {} : {completionTime}),
    ...nonEmpty('active', active),
    ...nonEmpty('succeeded', succeeded),
    ...nonEmpty('failed', failed),
    ...nonEmpty('completedIndexes', completedIndexes),
    ...(failedIndexes === undefined ? {} : {failedIndexes}),
    uncountedTerminatedPods: {...nonEmpty('succeeded', uncounted.succeeded), ...nonEmpty('failed', uncounted.failed)},
    ready,
    terminating,
  };
};

/** Counts the pods whose finalizers are removed: all that are not in `tracked`. Returns whether there were any. */
export const countUntracked = (progress: Progress, tracked: ReadonlySet<string>): boolean => {
  let changed = false;
  for (const end of ['succeeded', 'failed'] as const) {
    const left = progress.uncounted[end].filter(uid => tracked.has(uid));
    const counted = progress.uncounted[end].length - left.length;
    if (counted === 0) continue;
    progress[end] += counted;
    progress.uncounted[end] = left;
    changed = true;
  }
  return changed;
};
