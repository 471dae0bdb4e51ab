import {naming} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';

const {protobufMediaType} = naming('plat');

const workers = <const D extends string>(count: D, of: string, limits: {readonly max?: number} = {}) =>
  ({
    type: 'int32',
    help: `${of} handled at once. A larger number makes the controller more responsive at the cost of CPU and network load.`,
    default: count,
    range: {min: 1, ...limits},
  }) as const;

/** Flags of the number of concurrent workers per controller. */
export const concurrency = flagSection('Concurrency', {
  'concurrent-cron-job-syncs': workers('5', 'Cron jobs'),
  'concurrent-daemonset-syncs': workers('2', 'Daemon sets'),
  'concurrent-deployment-syncs': workers('5', 'Deployments'),
  'concurrent-device-taint-eviction-syncs': workers('8', 'Evictions for device taints'),
  'concurrent-endpoint-syncs': workers('5', 'Endpoints'),
  'concurrent-ephemeralvolume-syncs': workers('5', 'Ephemeral volumes'),
  'concurrent-gc-syncs': workers('20', 'Objects to collect'),
  'concurrent-horizontal-pod-autoscaler-syncs': workers('5', 'Autoscalers'),
  'concurrent-job-syncs': workers('5', 'Jobs'),
  'concurrent-namespace-syncs': workers('10', 'Namespaces'),
  'concurrent-rc-syncs': workers('5', 'Replication controllers'),
  'concurrent-replicaset-syncs': workers('5', 'Replica sets'),
  'concurrent-resource-quota-syncs': workers('5', 'Quotas'),
  'concurrent-service-endpoint-syncs': workers('5', 'Services whose slices are kept, from 1 to 50,', {max: 50}),
  'concurrent-service-syncs': workers('1', 'Services'),
  'concurrent-serviceaccount-token-syncs': workers('5', 'Service account tokens'),
  'concurrent-statefulset-syncs': workers('5', 'Stateful sets'),
  'concurrent-ttl-after-finished-syncs': workers('5', 'Finished jobs'),
  'concurrent-validating-admission-policy-status-syncs': workers('5', 'Validating admission policies'),
  'mirroring-concurrent-service-endpoint-syncs': workers('5', 'Services whose endpoints are mirrored, from 1 to 50,', {max: 50}),
});

const activePeriod = <const D extends string>(text: D, help: string) =>
  ({type: 'duration', help, default: text, range: {above: '0'}}) as const;
const activeRate = <const D extends string>(text: D, help: string) => ({type: 'float', help, default: text, range: {min: 0}}) as const;
/** Flags of client rate limits, resync periods and thresholds. */
export const rates = flagSection('Rates, periods and thresholds', {
  'plat-api-qps': {
    type: 'float',
    help: 'Requests to the API server per second, for each client. 0 selects 5; below 0 there is no limit.',
    default: '20',
  },
  'plat-api-burst': {
    type: 'int32',
    help: 'Maximum burst of requests to the API server. 0 selects 10.',
    default: '30',
    range: {min: 0},
  },
  'plat-api-content-type': {
    type: 'string',
    help: `The content type of requests to the API server: application/json or ${protobufMediaType}, or its name in the kubernetes naming. Kinds without a protobuf form always use JSON.`,
    default: protobufMediaType,
    oneOf: ['application/json', protobufMediaType, naming('kubernetes').protobufMediaType],
  },
  'min-resync-period': {
    type: 'duration',
    help: 'Resync period of informers. The actual period is random, between this value and twice this value.',
    default: '12h0m0s',
    range: {min: '0'},
  },
  'max-waiting-pods': {
    type: 'int32',
    help: 'The number of unscheduled pods at which replica sets, replication controllers, stateful sets and jobs stop creating pods. 0 means no limit.',
    default: '10000',
    range: {min: 0},
  },
  'namespace-sync-period': {type: 'duration', help: 'Resync period of the namespace controller.', default: '5m0s', range: {above: '0'}},
  'resource-quota-sync-period': activePeriod('5m0s', 'Period after which the usage of resource quotas is recalculated.'),
  'pvclaimbinder-sync-period': activePeriod('15s', 'Resync period of persistent volumes and claims.'),
  'route-reconciliation-period': activePeriod('10s', 'Period of the reconciliation of the routes of nodes on the cloud provider.'),
  'node-monitor-period': activePeriod('5s', 'Period of checking the status of nodes.'),
  'node-monitor-grace-period': activePeriod(
    '50s',
    "How long a running node may stay silent before it is marked unhealthy. A multiple of the node agent's status update frequency, and more than the HTTP/2 ping timeout and read idle timeout together.",
  ),
  'node-startup-grace-period': activePeriod('1m0s', 'The same for a node that is starting.'),
  'node-eviction-rate': activeRate('0.1', 'Nodes per second whose pods are deleted on node failure while the zone is healthy.'),
  'secondary-node-eviction-rate': activeRate(
    '0.01',
    'The same while the zone is unhealthy. 0 for clusters not larger than the large-cluster threshold.',
  ),
  'large-cluster-size-threshold': {
    type: 'int32',
    help: 'Number of nodes above which a zone is treated as large for eviction.',
    default: '50',
    range: {min: 0},
  },
  'unhealthy-zone-threshold': {
    type: 'float',
    help: 'The fraction of nodes, at least three, that must be not ready for a zone to be unhealthy.',
    default: '0.55',
    range: {min: 0, max: 1},
  },
});

const window = <const D extends string>(text: D, help: string) => ({type: 'duration', help, default: text, range: {min: '0'}}) as const;

export const autoscaler = flagSection('Horizontal autoscaler', {
  'horizontal-pod-autoscaler-cpu-initialization-period': window(
    '5m0s',
    "The time after a pod's start when its CPU samples may be skipped.",
  ),
  'horizontal-pod-autoscaler-downscale-stabilization': window('5m0s', 'The period whose highest recommendation limits scaling down.'),
  'horizontal-pod-autoscaler-initial-readiness-delay': window(
    '30s',
    "The time after a pod's start in which readiness changes count as its initial readiness.",
  ),
  'horizontal-pod-autoscaler-sync-period': activePeriod('15s', 'Period of syncing the number of pods.'),
  'horizontal-pod-autoscaler-tolerance': activeRate(
    '0.1',
    'The minimum difference from 1.0 of the ratio of desired to actual metrics at which the autoscaler scales.',
  ),
});
