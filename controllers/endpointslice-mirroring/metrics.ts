import {endpointCounts, commonSliceMetrics} from '#controllers/shared/endpoints/slice-metrics.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';

const prefix = 'endpoint_slice_mirroring_controller';

/** The controller's metrics. */
export const mirrorMetrics = (meter: Meter, maxEndpoints: number) => {
  const counts = (name: string, help: string) => meter.histogram({name: `${prefix}_${name}`, help, buckets: endpointCounts});
  const updated = counts('endpoints_updated_per_sync', 'Endpoints changed by one look at an object.');
  const skipped = counts('addresses_skipped_per_sync', 'Addresses left out by one look at an object.');
  const duration = meter.histogram({
    name: `${prefix}_endpoints_sync_duration`,
    help: 'How long a look at an object takes, in seconds.',
    buckets: exponentialBuckets(0.001, 2, 15),
  });
  return {
    ...commonSliceMetrics(meter, {prefix, maxEndpoints, atLeast: 0}),
    updated: (count: number) => updated.observe(count),
    skipped: (count: number) => skipped.observe(count),
    observeDuration: (seconds: number) => duration.observe(seconds),
  };
};

export type MirrorMetrics = ReturnType<typeof mirrorMetrics>;
