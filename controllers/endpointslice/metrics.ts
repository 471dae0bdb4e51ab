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

/** How many slices there are, and how many there would be if all were full. A service always has one. */
const totals = (parts: Iterable<Efficiency>, most: number): Totals => {
  let [endpoints, slices, desired] = [0, 0, 0];
  for (const part of parts) {
    endpoints += part.endpoints;
    slices += part.slices;
    desired += Math.ceil(part.endpoints / most);
  }
  return {endpoints, slices, desired: Math.max(1, desired)};
};

const prefix = 'endpoint_slice_controller_';
const sizes = exponentialBuckets(2, 2, 15);

/** The controller's figures. */
export const sliceMetrics = (meter: Meter, most: number) => {
  const added = meter.histogram({name: `${prefix}endpoints_added_per_sync`, help: 'Endpoints added by one look at a service.', buckets: sizes});
  const removed = meter.histogram({name: `${prefix}endpoints_removed_per_sync`, help: 'Endpoints removed by one look at a service.', buckets: sizes});
  const endpoints = meter.gauge({name: `${prefix}endpoints_desired`, help: 'Endpoints of all services.'});
  const slices = meter.gauge({name: `${prefix}num_endpoint_slices`, help: 'Endpoint slices.'});
  const desired = meter.gauge({name: `${prefix}desired_endpoint_slices`, help: 'Endpoint slices that there would be if endpoints were spread perfectly.'});
  const changes = meter.counter({name: `${prefix}changes`, help: 'Changes of endpoint slices.', labels: ['operation']});
  const perSync = meter.histogram({
    name: `${prefix}endpointslices_changed_per_sync`,
    help: 'Endpoint slices changed by one look at a service.',
    labels: ['topology', 'traffic_distribution'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const syncs = meter.counter({name: `${prefix}syncs`, help: 'Looks at services by their result.', labels: ['result']});
  const distributions = meter.gauge({
    name: `${prefix}services_count_by_traffic_distribution`,
    help: 'Services that ask for their traffic to be spread in some way.',
    labels: ['traffic_distribution'],
  });

  const known = new Map<string, Map<string, Totals>>();
  const distributed = new Map<string, string>();
  const grow = (was: Totals, is: Totals) => {
    endpoints.add({}, is.endpoints - was.endpoints);
    slices.add({}, is.slices - was.slices);
    desired.add({}, is.desired - was.desired);
  };
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
    changed: (operation: string) => changes.add({operation}),
    synced: (result: 'success' | 'stale' | 'error') => syncs.add({result}),
    counted: (how: {readonly added: number; readonly removed: number}) => {
      added.observe(how.added);
      removed.observe(how.removed);
    },
    changedPerSync: (count: number, topology: string, distribution: string) => perSync.observe(count, {topology, traffic_distribution: distribution}),
    /** What the service has of one address type. */
    packed(service: string, addressType: string, parts: Iterable<Efficiency>) {
      let types = known.get(service);
      if (!types) known.set(service, (types = new Map()));
      const is = totals(parts, most);
      grow(types.get(addressType) ?? none, is);
      types.set(addressType, is);
    },
    distribute,
    forget(service: string) {
      for (const was of known.get(service)?.values() ?? []) grow(was, none);
      known.delete(service);
      distribute(service, undefined);
    },
  };
};
export type SliceMetrics = ReturnType<typeof sliceMetrics>;
