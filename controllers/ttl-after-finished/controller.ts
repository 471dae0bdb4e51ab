import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, mapped} from '#src/runtime/controller.js';
import {keyOf} from '#src/api/key.js';
import {collector, isTimed} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentTtlAfterFinishedSyncs'>;

/** Deletes finished jobs, and their pods before them, after their TTL. */
export default defineController<Options>({
  doc: 'Deletes finished jobs after their TTL (`ttlSecondsAfterFinished`).',
  name: 'ttl-after-finished-controller',
  serviceAccount: 'ttl-after-finished-controller',
  configuration: {TTLAfterFinishedController: {ConcurrentTTLSyncs: 'concurrent-ttl-after-finished-syncs'}},
  queue: {name: 'ttl_jobs_to_delete'},
  workers: options => options.concurrentTtlAfterFinishedSyncs,
  reads: [kinds.jobs],
  watches: [mapped(kinds.jobs, ({type, object}) => (type !== 'deleted' && isTimed(object) ? [keyOf(object)] : []))],
  create: collector,
});
