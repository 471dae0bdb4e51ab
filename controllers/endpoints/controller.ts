import {defineController} from '#src/runtime/controller.js';
import {endpointsReconciler, type Options} from './reconcile.js';

/** Maintains one Endpoints object for each service, with the ready and the not ready addresses of its pods. */
export default defineController<Options>({
  doc: 'Maintains an Endpoints object with the pod addresses of each service.',
  name: 'endpoints-controller',
  serviceAccount: 'endpoint-controller',
  eventSource: 'endpoint-controller',
  configuration: {
    EndpointController: {ConcurrentEndpointSyncs: 'concurrent-endpoint-syncs', EndpointUpdatesBatchPeriod: 'endpoint-updates-batch-period'},
  },
  queue: {name: 'endpoint', maxRetries: 15},
  workers: options => options.concurrentEndpointSyncs,
  create: endpointsReconciler,
});
