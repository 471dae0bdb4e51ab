import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import {countIndexes, parseIndexes} from './indexes.js';
import {isIndexed, limitPerIndex, type CachedJob} from './kinds.js';
import type {Progress} from './progress.js';

/** The action of a sync. */
export type Action = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

type Counters = Pick<Progress, 'succeeded' | 'failed' | 'completedIndexes' | 'failedIndexes'>;

const modeOf = (job: CachedJob): string => (isIndexed(job) ? 'Indexed' : 'NonIndexed');

/** The controller's metrics, under upstream's names. */
export const jobMetrics = (meter: Meter) => {
  const subsystem = 'job_controller';
  const counter = (name: string, help: string, ...labels: string[]) => meter.counter({name: `${subsystem}_${name}`, help, labels});
  const syncLabels = ['completion_mode', 'result', 'action'];
  const syncTime = meter.histogram({
    name: `${subsystem}_job_sync_duration_seconds`,
    help: 'The time it took to sync a job',
    labels: syncLabels,
    buckets: exponentialBuckets(0.004, 2, 15),
  });
  const syncs = counter('job_syncs_total', 'The number of job syncs', ...syncLabels);
  const finished = counter('jobs_finished_total', 'The number of finished jobs', 'completion_mode', 'result', 'reason');
  const foreign = counter('jobs_by_external_controller_total', 'The number of Jobs managed by an external controller', 'controller_name');
  const podsFinished = counter(
    'job_pods_finished_total',
    'The number of finished Pods that are fully tracked',
    'completion_mode',
    'result',
  );
  const byPolicy = counter(
    'pod_failures_handled_by_failure_policy_total',
    'The number of failed Pods handled by failure policy with respect to the action of the matched rule.',
    'action',
  );
  const withFinalizer = counter(
    'terminated_pods_tracking_finalizer_total',
    'The number of terminated pods (phase=Failed|Succeeded) that have the finalizer that jobs track them by. The event label can be "add" or "delete".',
    'event',
  );
  const indexes = counter(
    'job_finished_indexes_total',
    'The number of finished indexes, by status (succeeded or failed) and by what limits failures (perIndex or global).',
    'status',
    'backoffLimit',
  );
  const created = counter(
    'job_pods_creation_total',
    'The number of Pods created by the Job controller, by the reason for the creation and whether it succeeded.',
    'reason',
    'status',
  );

  /** Counts what was added to the status. A reduced job loses indexes that did not finish. */
  const counted = (job: CachedJob, now: Counters, before: Counters): void => {
    const mode = modeOf(job);
    let succeeded = now.succeeded - before.succeeded;
    if (isIndexed(job)) {
      const total = (text: string | undefined) => countIndexes(parseIndexes(text ?? '', job.spec?.completions ?? 0));
      const backoffLimit = limitPerIndex(job) === undefined ? 'global' : 'perIndex';
      succeeded = total(now.completedIndexes) - total(before.completedIndexes);
      if (succeeded > 0) indexes.add({status: 'succeeded', backoffLimit}, succeeded);
      const failed = total(now.failedIndexes) - total(before.failedIndexes);
      if (failed > 0) indexes.add({status: 'failed', backoffLimit}, failed);
    }
    if (succeeded > 0) podsFinished.add({completion_mode: mode, result: 'succeeded'}, succeeded);
    if (now.failed > before.failed) podsFinished.add({completion_mode: mode, result: 'failed'}, now.failed - before.failed);
  };

  return {
    counted,
    synced(job: CachedJob, result: 'success' | 'error', action: Action, seconds: number) {
      const labels = {completion_mode: modeOf(job), result, action};
      syncTime.observe(seconds, labels);
      syncs.add(labels);
    },
    finished: (job: CachedJob, result: 'succeeded' | 'failed', reason: string) =>
      finished.add({completion_mode: modeOf(job), result, reason}),
    managedElsewhere: (name: string) => foreign.add({controller_name: name}),
    failureHandled: (action: string) => byPolicy.add({action}),
    finalizerOfEndedPod: (event: 'add' | 'delete') => withFinalizer.add({event}),
    created(reason: string, succeeded: number, failed: number) {
      if (succeeded > 0) created.add({reason, status: 'succeeded'}, succeeded);
      if (failed > 0) created.add({reason, status: 'failed'}, failed);
    },
  };
};
export type JobMetrics = ReturnType<typeof jobMetrics>;
