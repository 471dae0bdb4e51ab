import {indexingChildren} from '#controllers/shared/children/children.js';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {endOf} from '#controllers/shared/jobs.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {settled, type KeyedContext, type Loops} from '#src/runtime/controller.js';
import type {BackoffRecord} from './backoff.js';
import {releases, untracker} from './finalizers.js';
import {foreignManager, jobNamesOf} from './kinds.js';
import {PodManager} from './manage.js';
import {jobMetrics, type Action} from './metrics.js';
import {orphanReconciler} from './orphans.js';
import {jobSyncer} from './job-syncer.js';
import {tracker} from './track.js';
import {watchJobs, jobLoop, orphanLoop} from './event-handlers.js';

/** Reconciles jobs: runs pods until enough have succeeded or too many have failed, and counts them. */
export const jobReconciler = (context: KeyedContext<WaitingPodsOptions>): Loops => {
  const {lister, clock, events, naming} = context;
  const jobs = lister(kinds.jobs);
  const pods = indexingChildren(lister(kinds.pods));
  const marks = jobNamesOf(naming);
  const metrics = jobMetrics(context.meter);
  const expected = trackingExpectations(clock);
  const released = releases();
  const written = ownWrites();
  const records = new Map<string, BackoffRecord>();
  const untrack = untracker(context, marks);
  const manager = new PodManager(context, {marks, metrics, expected, untrack});
  const track = tracker(context, {marks, metrics, released, untrack, written, remember: (key, record) => void records.set(key, record)});
  const syncJob = jobSyncer(context, {pods, marks, expected, released, records, manager, track});
  watchJobs(context, {marks, metrics, expected, released});

  const forget = (key: string): void => {
    expected.forget(key);
    released.forget(key);
    written.forget(key);
    records.delete(key);
  };
  context.listen(kinds.jobs, ({type, object}) => {
    // A new job of the same name starts clean.
    if (type === 'deleted') forget(keyText(keyOf(object)));
  });

  const reconcile: Loops[string] = async (at, {log}) => {
    const key = keyText(at);
    const job = jobs.get(at);
    if (!job) {
      forget(key);
      return settled;
    }
    if (foreignManager(job, marks) !== undefined) return settled;
    if (endOf(job)) {
      records.delete(key);
      return settled;
    }
    if (!['NonIndexed', 'Indexed', undefined].includes(job.spec?.completionMode)) {
      events.warning(job, 'UnknownCompletionMode', 'Skipped Job sync because completion mode is unknown');
      return settled;
    }
    if (written.isStale(job)) {
      log.v(4).info({resourceVersion: job.metadata?.resourceVersion}, 'the cache does not know yet what was written last');
      return settled;
    }
    const started = clock.monotonic();
    let action: Action = 'reconciling';
    const done = (result: 'success' | 'error') => metrics.synced(job, result, action, (clock.monotonic() - started) / 1000);
    try {
      await syncJob(key, job, onAction => (action = onAction));
    } catch (error) {
      done('error');
      throw error;
    }
    done('success');
    return settled;
  };

  return {
    [jobLoop]: {reconcile, queueName: 'job'},
    [orphanLoop]: {reconcile: orphanReconciler(context, {marks, untrack}), workers: 1, queueName: 'job_orphan_pod'},
  };
};
