import {defineController} from '#src/runtime/controller.js';
import {mirroringReconciler, type Options} from './reconcile.js';

/** Mirrors the Endpoints of services without a selector, which are managed manually, to endpoint slices. */
export default defineController<Options>({
  doc: 'Mirrors Endpoints of services without a selector to endpoint slices.',
  name: 'endpointslice-mirroring-controller',
  serviceAccount: 'endpointslicemirroring-controller',
  eventSource: 'endpoint-slice-mirroring-controller',
  configuration: {
    EndpointSliceMirroringController: {
      MirroringConcurrentServiceEndpointSyncs: 'mirroring-concurrent-service-endpoint-syncs',
      MirroringMaxEndpointsPerSubset: 'mirroring-max-endpoints-per-subset',
      MirroringEndpointUpdatesBatchPeriod: 'mirroring-endpointslice-updates-batch-period',
    },
  },
  queue: {name: 'endpoint_slice_mirroring', baseDelayMs: 1000, maxDelayMs: 100_000, maxRetries: 15},
  workers: options => options.mirroringConcurrentServiceEndpointSyncs,
  create: mirroringReconciler,
});
