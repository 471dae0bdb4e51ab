import {defineController} from '#src/runtime/controller.js';
import type {Options} from './options.js';
import {sliceReconciler} from './reconcile.js';

/** Maintains the endpoint slices of services, one set for each address family and set of ports. */
export default defineController<Options>({
  doc: 'Maintains endpoint slices with the pod addresses of each service.',
  name: 'endpointslice-controller',
  serviceAccount: 'endpointslice-controller',
  eventSource: 'endpoint-slice-controller',
  configuration: {
    EndpointSliceController: {
      ConcurrentServiceEndpointSyncs: 'concurrent-service-endpoint-syncs',
      MaxEndpointsPerSlice: 'max-endpoints-per-slice',
      EndpointUpdatesBatchPeriod: 'endpointslice-updates-batch-period',
    },
  },
  queue: {name: 'endpoint_slice', baseDelayMs: 1000, maxRetries: 15},
  workers: options => options.concurrentServiceEndpointSyncs,
  create: sliceReconciler,
});
