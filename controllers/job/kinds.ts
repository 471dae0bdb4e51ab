import {selecting} from '#informers/selecting.js';
import type {Job} from '#controllers/shared/jobs.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isTerminal} from '#src/model/pod/state.js';

export type {Job, JobCondition, JobStatus} from '#controllers/shared/jobs.js';
export type CachedJob = Frozen<Job>;
export type CachedPod = Frozen<Pod>;

/** Which pods jobs select. */
export const jobPods = selecting<Job>(({spec}) => spec?.selector);

/** The names by which jobs mark their pods. */
export interface JobNames {
  /** Keeps a pod until it has been counted. */
  readonly finalizer: string;
  /** An annotation and a label. */
  readonly index: string;
  readonly indexFailures: string;
  readonly ignoredIndexFailures: string;
  /** What `managedBy` calls this controller. */
  readonly manager: string;
}

export const jobNamesOf = (naming: Naming): JobNames => ({
  finalizer: naming.subKey('batch', 'job-tracking'),
  index: naming.subKey('batch', 'job-completion-index'),
  indexFailures: naming.subKey('batch', 'job-index-failure-count'),
  ignoredIndexFailures: naming.subKey('batch', 'job-index-ignored-failure-count'),
  manager: naming.key('job-controller'),
});

export const isIndexed = ({spec}: CachedJob): boolean => spec?.completionMode === 'Indexed';

/** The limit of failures of each index, where each has its own. */
export const limitPerIndex = ({spec}: CachedJob): number | undefined => spec?.backoffLimitPerIndex;

export const isSuspended = ({spec}: CachedJob): boolean => spec?.suspend === true;

/** Whether a pod on its way out is replaced only once it has failed for good. */
export const replacesFailedOnly = ({spec}: CachedJob): boolean => spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined;

/** The other controller that takes care of the job, if one does. */
export const foreignManager = ({spec}: CachedJob, marks: JobNames): string | undefined =>
  spec?.managedBy !== undefined && spec.managedBy !== marks.manager ? spec.managedBy : undefined;

export const isTracked = ({metadata}: CachedPod, {finalizer}: JobNames): boolean => metadata?.finalizers?.includes(finalizer) ?? false;

/** Whether a pod counts as failed. One that is being deleted does too, as nobody may be left to say that it has. */
export const hasFailed = (pod: CachedPod, job: CachedJob): boolean => {
  if (pod.status?.phase === 'Failed') return true;
  return !replacesFailedOnly(job) && !isTerminal(pod) && pod.metadata?.deletionTimestamp !== undefined;
};

/** The pod's index; undefined where it has none that can be read. */
export const indexOf = ({metadata}: CachedPod, {index}: JobNames): number | undefined => {
  const text = metadata?.annotations?.[index];
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = Number(text);
  return value >= 0 ? value : undefined;
};

/** The pod's index, if the job has that many. */
export const validIndexOf = (pod: CachedPod, {spec}: CachedJob, marks: JobNames): number | undefined => {
  const index = indexOf(pod, marks);
  return index !== undefined && index < (spec?.completions ?? 0) ? index : undefined;
};
