import type {Counter, Gauge, Histogram, Labels, Meter} from '#src/base/meter.js';

/** How an address or port is chosen: by the client, or by the server. */
export type Scope = 'static' | 'dynamic';

/** Counts allocations from a pool, with the original's names and labels. */
export class AllocationCounts {
  readonly #allocations: Counter;
  readonly #errors: Counter;

  constructor(
    meter: Meter,
    prefix: string,
    {one, many, labels}: {readonly one: string; readonly many: string; readonly labels: readonly string[]},
  ) {
    this.#allocations = meter.counter({name: `${prefix}_allocation_total`, help: `Number of ${many} allocations`, labels});
    this.#errors = meter.counter({name: `${prefix}_allocation_errors_total`, help: `Number of errors trying to allocate ${one}`, labels});
  }

  allocated(scope: Scope, labels: Labels = {}): void {
    this.#allocations.add({...labels, scope});
  }

  failed(scope: Scope, labels: Labels = {}): void {
    this.#errors.add({...labels, scope});
  }
}

/** The metrics of the allocation of service addresses, by range. */
export interface AddressMetrics {
  readonly counts: AllocationCounts;
  /** How long a successful allocation took, in seconds. */
  readonly durations: Histogram;
}

export const addressMetrics = (meter: Meter, prefix: string): AddressMetrics => ({
  counts: new AllocationCounts(meter, `${prefix}_clusterip_allocator`, {
    one: 'Cluster IPs',
    many: 'Cluster IPs',
    labels: ['cidr', 'scope'],
  }),
  durations: meter.histogram({
    name: `${prefix}_clusterip_allocator_allocation_duration_seconds`,
    help: 'Duration in seconds to allocate a Cluster IP by ServiceCIDR',
    labels: ['cidr'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  }),
});

/** The metrics of the allocation of node ports. */
export interface PortMetrics {
  readonly counts: AllocationCounts;
  readonly allocated: Gauge;
  readonly available: Gauge;
}

export const portMetrics = (meter: Meter, prefix: string): PortMetrics => ({
  counts: new AllocationCounts(meter, `${prefix}_nodeport_allocator`, {one: 'NodePort', many: 'NodePort', labels: ['scope']}),
  allocated: meter.gauge({
    name: `${prefix}_nodeport_allocator_allocated_ports`,
    help: 'Gauge measuring the number of allocated NodePorts for Services',
  }),
  available: meter.gauge({
    name: `${prefix}_nodeport_allocator_available_ports`,
    help: 'Gauge measuring the number of available NodePorts for Services',
  }),
});
