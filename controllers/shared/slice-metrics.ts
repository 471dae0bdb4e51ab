import {exponentialBuckets, type Meter} from '#src/base/meter.js';

/** What one set of ports has and would need. */
export interface Efficiency {
  readonly endpoints: number;
  readonly slices: number;
}

interface Totals extends Efficiency {
  readonly desired: number;
}
const none: Totals = {endpoints: 0, slices: 0, desired: 0};

export interface SliceMetricsOptions {
  /** What the names of all figures begin with. */
  readonly prefix: string;
  /** So many endpoints a slice holds. */
  readonly maxEndpoints: number;
  /** How many slices there are for a service without endpoints. */
  readonly atLeast: number;
}

/** Bounds of counts of endpoints. */
export const endpointCounts = exponentialBuckets(2, 2, 15);

/** The figures of all who write slices: what they do, what there is, and how few slices would hold it if all were full. */
export const commonSliceMetrics = (meter: Meter, {prefix, maxEndpoints, atLeast}: SliceMetricsOptions) => {
  const counts = (name: string, help: string) => meter.histogram({name: `${prefix}_${name}`, help, buckets: endpointCounts});
  const added = counts('endpoints_added_per_sync', 'Endpoints added by one look at a service.');
  const removed = counts('endpoints_removed_per_sync', 'Endpoints removed by one look at a service.');
  const endpoints = meter.gauge({name: `${prefix}_endpoints_desired`, help: 'Endpoints of all services.'});
  const slices = meter.gauge({name: `${prefix}_num_endpoint_slices`, help: 'Endpoint slices.'});
  const desired = meter.gauge({name: `${prefix}_desired_endpoint_slices`, help: 'Endpoint slices that there would be if endpoints were spread perfectly.'});
  const changes = meter.counter({name: `${prefix}_changes`, help: 'Changes of endpoint slices.', labels: ['operation']});

  const totals = (parts: Iterable<Efficiency>): Totals => {
    const sum = {...none};
    for (const part of parts) {
      sum.endpoints += part.endpoints;
      sum.slices += part.slices;
      sum.desired += Math.ceil(part.endpoints / maxEndpoints);
    }
    return {...sum, desired: Math.max(atLeast, sum.desired)};
  };
  const known = new Map<string, Map<string, Totals>>();
  const grow = (was: Totals, is: Totals) => {
    endpoints.add({}, is.endpoints - was.endpoints);
    slices.add({}, is.slices - was.slices);
    desired.add({}, is.desired - was.desired);
  };
  return {
    changed: (operation: 'create' | 'update' | 'delete') => changes.add({operation}),
    counted(how: {readonly added: number; readonly removed: number}) {
      added.observe(how.added);
      removed.observe(how.removed);
    },
    /** What the service has, of one part of it that is looked at apart from others. */
    packed(service: string, part: string, sets: Iterable<Efficiency>) {
      let parts = known.get(service);
      if (!parts) known.set(service, (parts = new Map()));
      const is = totals(sets);
      grow(parts.get(part) ?? none, is);
      parts.set(part, is);
    },
    forget(service: string) {
      for (const was of known.get(service)?.values() ?? []) grow(was, none);
      known.delete(service);
    },
  };
};
