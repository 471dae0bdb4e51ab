import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController} from '#src/runtime/controller.js';
import {jobReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentJobSyncs'> & WaitingPodsOptions;

/**
 * Runs the pods of jobs: creates and replaces them until enough have succeeded, ends the job when too many have failed
 * or a deadline has passed, and counts each pod exactly once. A finalizer keeps every pod until it is counted; a second
 * loop removes it from orphaned pods.
 */
export default defineController<Options>({
  doc: 'Creates the pods of each job until the required number has succeeded or the backoff limit is exceeded.',
  name: 'job-controller',
  serviceAccount: 'job-controller',
  configuration: {JobController: {ConcurrentJobSyncs: 'concurrent-job-syncs'}},
  flags: ['max-waiting-pods'],
  queue: {baseDelayMs: 1000, maxDelayMs: 60_000, unshared: true},
  workers: options => options.concurrentJobSyncs,
  reads: [kinds.jobs, kinds.pods],
  create: jobReconciler,
});
