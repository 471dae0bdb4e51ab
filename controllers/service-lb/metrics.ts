import type {Meter} from '#src/base/meter.js';

const prefix = 'service_controller';
const buckets = Array.from({length: 15}, (_, i) => 2 ** i);

/** The metrics of load balancers. */
export const balancerMetrics = (meter: Meter) => {
  const syncs = meter.counter({
    name: `${prefix}_loadbalancer_sync_total`,
    help: 'A metric counting the amount of times any load balancer has been configured, as an effect of service/node changes on the cluster',
  });
  const errors = meter.counter({
    name: `${prefix}_nodesync_error_total`,
    help: 'A metric counting the amount of times any load balancer has been configured and errored, as an effect of node changes on the cluster',
  });
  const syncSeconds = meter.histogram({
    name: `${prefix}_nodesync_latency_seconds`,
    help: 'A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates.',
    buckets,
  });
  const hostSeconds = meter.histogram({
    name: `${prefix}_update_loadbalancer_host_latency_seconds`,
    help: 'A metric measuring the latency for updating each load balancer hosts.',
    buckets,
  });
  return {
    syncs: {inc: () => syncs.add()},
    nodeSyncFailed: () => errors.add(),
    nodesSynced: (seconds: number) => syncSeconds.observe(seconds),
    hostsUpdated: (seconds: number) => hostSeconds.observe(seconds),
  };
};

export type BalancerMetrics = ReturnType<typeof balancerMetrics>;
