import {exponentialBuckets, type Meter} from '#src/base/meter.js';

/** The current endpoints and slices of one set of ports. */
export interface Efficiency {
  readonly endpoints: number;
  readonly slices: number;
}

interface Totals extends Efficiency {
  readonly desired: number;
}
const none: Totals = {endpoints: 0, slices: 0, desired: 0};

export interface SliceMetricsOptions {
  /** The prefix of the metric names. */
  readonly prefix: string;
  /** The most endpoints of a slice. */
  readonly maxEndpoints: number;
  /** The number of slices of a service without endpoints. */
  readonly atLeast: number;
}

/** Histogram buckets for endpoint counts. */
export const endpointCounts = exponentialBuckets(2, 2, 15);

/** The common metrics of controllers that write slices: changes, totals, and the lowest possible number of slices. */
export const commonSliceMetrics = (meter: Meter, {prefix, maxEndpoints, atLeast}: SliceMetricsOptions) => {
  const counts = (name: string, help: string) => meter.histogram({name: `${prefix}_${name}`, help, buckets: endpointCounts});
  const added = counts('endpoints_added_per_sync', 'Endpoints added by one look at a service.');
  const removed = counts('endpoints_removed_per_sync', 'Endpoints removed by one look at a service.');
  const endpoints = meter.gauge({name: `${prefix}_endpoints_desired`, help: 'Endpoints of all services.'});
  const slices = meter.gauge({name: `${prefix}_num_endpoint_slices`, help: 'Endpoint slices.'});
  const desired = meter.gauge({
    name: `${prefix}_desired_endpoint_slices`,
    help: 'Endpoint slices that there would be if endpoints were spread perfectly.',
  });
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
    /** Records the endpoints and slices of a part of a service. */
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
