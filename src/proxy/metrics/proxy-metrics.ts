// The metrics of the proxy, by the names of the original.

import {exponentialBuckets, type Counter, type Gauge, type Histogram, type Meter} from '#src/base/meter.js';

const prefix = 'kubeproxy';
const byFamily = ['ip_family'];
const syncBuckets = exponentialBuckets(0.001, 2, 15);

const from = (start: number, step: number, count: number): number[] => Array.from({length: count}, (_, index) => start + step * index);
/** Seconds: parts of one, each up to a minute, then steps of five, and of thirty. */
const programmingBuckets = [...from(0.25, 0.25, 2), ...from(1, 1, 59), ...from(60, 5, 12), ...from(120, 30, 7)];

/** The metrics of all modes. */
export interface ProxyMetrics {
  readonly syncDuration: Histogram;
  readonly fullSyncDuration: Histogram;
  readonly partialSyncDuration: Histogram;
  readonly lastSync: Gauge;
  readonly lastQueued: Gauge;
  readonly networkProgramming: Histogram;
  readonly endpointChanges: Counter;
  readonly endpointChangesPending: Gauge;
  readonly serviceChanges: Counter;
  readonly serviceChangesPending: Gauge;
  readonly withoutLocalEndpoints: Gauge;
  readonly healthz: Counter;
  readonly livez: Counter;
  readonly reconcileFlows: Histogram;
  readonly deletedFlows: Counter;
}

/** Creates the metrics of all modes. */
export const proxyMetrics = (meter: Meter): ProxyMetrics => {
  const duration = (name: string, help: string, buckets = syncBuckets) =>
    meter.histogram({name: `${prefix}_${name}`, help, labels: byFamily, buckets});
  const gauge = (name: string, help: string, labels?: readonly string[]) =>
    meter.gauge({name: `${prefix}_${name}`, help, ...(labels ? {labels} : {})});
  const counter = (name: string, help: string, labels?: readonly string[]) =>
    meter.counter({name: `${prefix}_${name}`, help, ...(labels ? {labels} : {})});
  return {
    syncDuration: duration('sync_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds'),
    fullSyncDuration: duration('sync_full_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds for full resyncs'),
    partialSyncDuration: duration('sync_partial_proxy_rules_duration_seconds', 'SyncProxyRules latency in seconds for partial resyncs'),
    lastSync: gauge('sync_proxy_rules_last_timestamp_seconds', 'The last time proxy rules were successfully synced', byFamily),
    lastQueued: gauge('sync_proxy_rules_last_queued_timestamp_seconds', 'The last time a sync of proxy rules was queued', byFamily),
    networkProgramming: duration(
      'network_programming_duration_seconds',
      'In Cluster Network Programming Latency in seconds',
      programmingBuckets,
    ),
    endpointChanges: counter('sync_proxy_rules_endpoint_changes_total', 'Cumulative proxy rules Endpoint changes'),
    endpointChangesPending: gauge('sync_proxy_rules_endpoint_changes_pending', 'Pending proxy rules Endpoint changes'),
    serviceChanges: counter('sync_proxy_rules_service_changes_total', 'Cumulative proxy rules Service changes'),
    serviceChangesPending: gauge('sync_proxy_rules_service_changes_pending', 'Pending proxy rules Service changes'),
    withoutLocalEndpoints: gauge(
      'sync_proxy_rules_no_local_endpoints_total',
      'Number of services with a Local traffic policy and no endpoints',
      ['traffic_policy', ...byFamily],
    ),
    healthz: counter('proxy_healthz_total', 'Cumulative proxy healthz HTTP status', ['code']),
    livez: counter('proxy_livez_total', 'Cumulative proxy livez HTTP status', ['code']),
    reconcileFlows: duration('conntrack_reconciler_sync_duration_seconds', 'ReconcileConntrackFlowsLatency latency in seconds'),
    deletedFlows: counter(
      'conntrack_reconciler_deleted_entries_total',
      'Cumulative conntrack flows deleted by conntrack reconciler',
      byFamily,
    ),
  };
};

/** The metrics of the mode nftables. */
export interface NftablesMetrics {
  readonly syncFailures: Counter;
  readonly cleanupFailures: Counter;
}

export const nftablesMetrics = (meter: Meter): NftablesMetrics => ({
  syncFailures: meter.counter({
    name: `${prefix}_sync_proxy_rules_nftables_sync_failures_total`,
    help: 'Cumulative proxy nftables sync failures',
    labels: byFamily,
  }),
  cleanupFailures: meter.counter({
    name: `${prefix}_sync_proxy_rules_nftables_cleanup_failures_total`,
    help: 'Cumulative proxy nftables cleanup failures',
    labels: byFamily,
  }),
});
