import {commonSliceMetrics} from '#controllers/shared/endpoints/slice-metrics.js';
import type {Meter} from '#src/base/meter.js';

const prefix = 'endpoint_slice_controller';

/** The controller's metrics. */
export const sliceMetrics = (meter: Meter, maxEndpoints: number) => {
  const common = commonSliceMetrics(meter, {prefix, maxEndpoints, atLeast: 1});
  const perSync = meter.histogram({
    name: `${prefix}_endpointslices_changed_per_sync`,
    help: 'Endpoint slices changed by one look at a service.',
    labels: ['topology', 'traffic_distribution'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const syncs = meter.counter({name: `${prefix}_syncs`, help: 'Looks at services by their result.', labels: ['result']});
  const distributions = meter.gauge({
    name: `${prefix}_services_count_by_traffic_distribution`,
    help: 'Services that ask for their traffic to be spread in some way.',
    labels: ['traffic_distribution'],
  });

  const distributed = new Map<string, string>();
  /** Records the service's traffic distribution; undefined when it has none. */
  const distribute = (service: string, distribution: string | undefined) => {
    const was = distributed.get(service);
    if (was === distribution) return;
    if (was !== undefined) distributions.add({traffic_distribution: was}, -1);
    if (distribution === undefined) distributed.delete(service);
    else {
      distributed.set(service, distribution);
      distributions.add({traffic_distribution: distribution}, 1);
    }
  };
  return {
    ...common,
    distribute,
    synced: (result: 'success' | 'stale' | 'error') => syncs.add({result}),
    changedPerSync: (count: number, topology: string, distribution: string) =>
      perSync.observe(count, {topology, traffic_distribution: distribution}),
    forget(service: string) {
      common.forget(service);
      distribute(service, undefined);
    },
  };
};

export type SliceMetrics = ReturnType<typeof sliceMetrics>;
