import {kinds} from '#src/api/kinds/index.js';
import {defineLongRunning} from '#src/runtime/controller.js';
import type {LifecycleOptions} from './options.js';
import {heartbeats, nodeLifecycle} from './run.js';

/**
 * Monitors nodes: one without heartbeats gets the status Unknown, its pods become not ready, and it is tainted for
 * eviction, at a rate that depends on the state of its zone. Conditions and cordons become taints against scheduling.
 */
export default defineLongRunning<LifecycleOptions>({
  doc: 'Marks unreachable and not ready nodes by conditions and taints, and evicts their pods.',
  name: 'node-lifecycle-controller',
  serviceAccount: 'node-controller',
  eventSource: 'node-controller',
  configuration: {
    NodeLifecycleController: {
      NodeEvictionRate: 'node-eviction-rate',
      SecondaryNodeEvictionRate: 'secondary-node-eviction-rate',
      NodeStartupGracePeriod: 'node-startup-grace-period',
      NodeMonitorGracePeriod: 'node-monitor-grace-period',
      LargeClusterSizeThreshold: 'large-cluster-size-threshold',
      UnhealthyZoneThreshold: 'unhealthy-zone-threshold',
    },
  },
  flags: ['node-monitor-period'],
  reads: [kinds.nodes, kinds.pods, heartbeats],
  create: nodeLifecycle,
});
