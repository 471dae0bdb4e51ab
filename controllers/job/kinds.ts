// Types and names that the files of the job controller share, and short questions to a job's spec.

import {selecting} from '#informers/selecting.js';
import type {Job} from '#controllers/shared/jobs.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isTerminal} from '#src/model/pod/state.js';

export type {Job, JobCondition, JobStatus} from '#controllers/shared/jobs.js';
export type CachedJob = Frozen<Job>;
export type CachedPod = Frozen<Pod>;

/** The pods that jobs select. */
export const jobPods = selecting<Job>(({spec}) => spec?.selector);

/** The names of finalizers, labels and annotations on jobs' pods. */
export interface JobNames {
  /** Keeps a pod until it is counted. */
  readonly finalizer: string;
  /** An annotation and a label. */
  readonly index: string;
  readonly indexFailures: string;
  readonly ignoredIndexFailures: string;
  /** This controller's name in `managedBy`. */
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

/** Returns the failure limit of each index, if set. */
export const limitPerIndex = ({spec}: CachedJob): number | undefined => spec?.backoffLimitPerIndex;

export const isSuspended = ({spec}: CachedJob): boolean => spec?.suspend === true;

/** Whether a terminating pod is replaced only once it has failed. */
export const replacesFailedOnly = ({spec}: CachedJob): boolean =>
  spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined;

/** Returns the external controller that manages the job, if set. */
export const foreignManager = ({spec}: CachedJob, marks: JobNames): string | undefined =>
  spec?.managedBy !== undefined && spec.managedBy !== marks.manager ? spec.managedBy : undefined;

export const isTracked = ({metadata}: CachedPod, {finalizer}: JobNames): boolean => metadata?.finalizers?.includes(finalizer) ?? false;

/** Whether a pod counts as failed. A pod that is being deleted does too, as its final phase may never be reported. */
export const hasFailed = (pod: CachedPod, job: CachedJob): boolean => {
  if (pod.status?.phase === 'Failed') return true;
  return !replacesFailedOnly(job) && !isTerminal(pod) && pod.metadata?.deletionTimestamp !== undefined;
};

/** Returns the pod's index; undefined if it is missing or invalid. */
export const indexOf = ({metadata}: CachedPod, {index}: JobNames): number | undefined => {
  const text = metadata?.annotations?.[index];
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = Number(text);
  return value >= 0 ? value : undefined;
};

/** Returns the pod's index, if it is within the job's completions. */
export const validIndexOf = (pod: CachedPod, {spec}: CachedJob, marks: JobNames): number | undefined => {
  const index = indexOf(pod, marks);
  return index !== undefined && index < (spec?.completions ?? 0) ? index : undefined;
};
