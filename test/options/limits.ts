/**
 * The least and the greatest value that each numeric flag takes, written down apart from the tables: what lies below
 * and beyond is refused. `>0` takes everything above zero; `any` and `most` stand for the limits of the type.
 */
export interface Limits {
  readonly least: string;
  readonly most: string;
}

const group = (least: string, most: string, flags: string): [string, Limits][] =>
  flags
    .trim()
    .split(/\s+/)
    .map(flag => [flag, {least, most}]);

const everyProgram = [...group('0', 'most', 'v log-flush-frequency log-text-info-buffer-size')];

const port = [
  ...group('0', '4294967295', 'http2-max-streams-per-connection'),
  ...group(
    '0',
    'most',
    'secure-port authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl',
  ),
];

/** Each beside the defaults of the others. */
const election = [
  ...group('10000.001ms', '2147483647s', 'leader-elect-lease-duration'),
  ...group('2400.001ms', '14999.999ms', 'leader-elect-renew-deadline'),
  ...group('>0', '8333.333ms', 'leader-elect-retry-period'),
];

const apiserver = [
  ...everyProgram,
  ...port,
  ...group('any', 'most', 'default-not-ready-toleration-seconds default-unreachable-toleration-seconds'),
  ...group(
    '0',
    'most',
    'kvstore-compaction-interval embedded-history-bytes kvstore-count-metric-poll-period kvstore-db-metric-poll-interval peer-advertise-port livez-grace-period max-connections',
  ),
  ...group(
    '0',
    'most',
    'shutdown-delay-duration shutdown-watch-termination-grace-period max-requests-inflight max-mutating-requests-inflight audit-log-maxage audit-log-maxbackup audit-log-maxsize',
  ),
  ...group(
    '0',
    'most',
    'audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-qps audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-qps',
  ),
  ...group(
    '>0',
    'most',
    'storage-initialization-timeout kvstore-healthcheck-timeout kvstore-readycheck-timeout platlet-timeout request-timeout audit-webhook-initial-backoff',
  ),
  ...group('1', 'most', 'lease-reuse-duration-seconds delete-collection-workers min-request-timeout max-waiting-response-bytes'),
  ...group(
    '1',
    'most',
    'audit-log-batch-buffer-size audit-log-batch-max-size audit-log-truncate-max-batch-size audit-log-truncate-max-event-size',
  ),
  ...group(
    '1',
    'most',
    'audit-webhook-batch-buffer-size audit-webhook-batch-max-size audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size',
  ),
  ...group('0', 'most', 'max-connection-bytes-per-sec'),
  ...group('0', '0.02', 'goaway-chance'),
  ...group('0', '2500000h', 'event-ttl'),
  ...group('0', '4294967296s', 'service-account-max-token-expiration'),
  ...group('0', '0', 'plat-service-node-port'), // It may also be one of the node ports.
  ...group('10000.001ms', 'most', 'coordinated-leadership-lease-duration'),
  ...group('2400.001ms', '14999.999ms', 'coordinated-leadership-renew-deadline'),
  ...group('>0', '8333.333ms', 'coordinated-leadership-retry-period'),
];

const manager = [
  ...everyProgram,
  ...port,
  ...election,
  ...group('any', 'most', 'terminated-pod-gc-threshold plat-api-qps'),
  ...group('0', '128', 'node-cidr-mask-size'),
  ...group('1', '32', 'node-cidr-mask-size-ipv4'),
  ...group('1', '128', 'node-cidr-mask-size-ipv6'),
  ...group(
    '>0',
    'most',
    'legacy-service-account-token-clean-up-period horizontal-pod-autoscaler-sync-period namespace-sync-period resource-quota-sync-period',
  ),
  ...group('>0', 'most', 'pvclaimbinder-sync-period route-reconciliation-period node-startup-grace-period'),
  ...group(
    '0',
    'most',
    'cluster-signing-duration node-serving-approval-max-duration controller-shutdown-timeout controller-start-interval endpoint-updates-batch-period endpointslice-updates-batch-period mirroring-endpointslice-updates-batch-period',
  ),
  ...group(
    '0',
    'most',
    'pv-recycler-increment-timeout-nfs pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs pv-recycler-timeout-increment-hostpath',
  ),
  ...group(
    '0',
    'most',
    'horizontal-pod-autoscaler-cpu-initialization-period horizontal-pod-autoscaler-downscale-stabilization horizontal-pod-autoscaler-initial-readiness-delay',
  ),
  ...group(
    '0',
    'most',
    'horizontal-pod-autoscaler-tolerance plat-api-burst min-resync-period node-eviction-rate secondary-node-eviction-rate large-cluster-size-threshold max-waiting-pods',
  ),
  ...group('1', '1000', 'max-endpoints-per-slice mirroring-max-endpoints-per-subset'),
  ...group('1', '50', 'concurrent-service-endpoint-syncs mirroring-concurrent-service-endpoint-syncs'),
  ...group(
    '1',
    'most',
    'concurrent-cron-job-syncs concurrent-daemonset-syncs concurrent-deployment-syncs concurrent-device-taint-eviction-syncs concurrent-endpoint-syncs',
  ),
  ...group(
    '1',
    'most',
    'concurrent-ephemeralvolume-syncs concurrent-gc-syncs concurrent-horizontal-pod-autoscaler-syncs concurrent-job-syncs concurrent-namespace-syncs',
  ),
  ...group(
    '1',
    'most',
    'concurrent-rc-syncs concurrent-replicaset-syncs concurrent-resource-quota-syncs concurrent-service-syncs concurrent-serviceaccount-token-syncs',
  ),
  ...group(
    '1',
    'most',
    'concurrent-statefulset-syncs concurrent-ttl-after-finished-syncs concurrent-validating-admission-policy-status-syncs',
  ),
  ...group('1000.001ms', 'most', 'attach-detach-reconcile-sync-period'),
  ...group('>0', '49999.999ms', 'node-monitor-period'),
  ...group('5000.001ms', 'most', 'node-monitor-grace-period'),
  ...group('0', '1', 'unhealthy-zone-threshold'),
];

const scheduler = [
  ...everyProgram,
  ...port,
  ...election,
  ...group('>0', 'most', 'pod-max-in-unschedulable-pods-duration'),
  ...group('any', 'most', 'plat-api-qps'),
  ...group('0', 'most', 'plat-api-burst'),
];

const dns = [
  ...everyProgram,
  ...group('0', 'most', 'port cache-ttl lameduck plat-api-burst'),
  ...group('any', 'most', 'plat-api-qps'),
  ...group('0', '1h', 'ttl'),
  ...group('512', '65535', 'max-udp-size'),
  ...group('1', 'most', 'forward-max-concurrent max-tcp-connections'),
  ...group('>0', 'most', 'tcp-idle-timeout'),
];

const up = [...group('0', 'most', 'secure-port webhook-port v'), ...group('0', '10000', 'nodes')];

const agent = [
  ...everyProgram,
  ...group(
    'any',
    'most',
    'container-log-max-size volume-stats-agg-period maximum-dead-containers maximum-dead-containers-per-container eviction-max-pod-grace-period',
  ),
  ...group(
    '0',
    'most',
    'authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl read-only-port healthz-port',
  ),
  ...group(
    '0',
    'most',
    'max-pods pods-per-core max-open-files file-check-frequency http-check-frequency plat-api-qps plat-api-burst event-qps event-burst registry-qps registry-burst',
  ),
  ...group(
    '0',
    'most',
    'streaming-connection-idle-timeout minimum-image-ttl-duration minimum-container-ttl-duration eviction-pressure-transition-period',
  ),
  ...group('1', 'most', 'port'),
  ...group('2', 'most', 'container-log-max-files'),
  ...group('-1', 'most', 'pod-max-pids node-status-max-images'),
  ...group('>0', 'most', 'sync-frequency node-status-update-frequency runtime-request-timeout cpu-manager-reconcile-period'),
  ...group('0', '100', 'image-gc-high-threshold image-gc-low-threshold'),
  ...group('1ms', '1s', 'cpu-cfs-quota-period'),
  ...group('-1000', '1000', 'oom-score-adj'),
];

/** By program and flag. */
export const documentedLimits: Readonly<Record<string, ReadonlyMap<string, Limits>>> = {
  'plat-apiserver': new Map(apiserver),
  'plat-controller-manager': new Map(manager),
  'plat-scheduler': new Map(scheduler),
  'plat-dns': new Map(dns),
  'plat up': new Map(up),
  platlet: new Map(agent),
};
