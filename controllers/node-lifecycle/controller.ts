import {kinds} from '#src/api/kinds.js';
import {defineLongRunning} from '#src/runtime/controller.js';
import {lifecycleFlags, type LifecycleOptions} from './options.js';
import {heartbeats, nodeLifecycle} from './run.js';

/**
 * Watches over nodes: one that gives no sign of life for too long is unknown, its pods are not ready, and, no faster than a rate that depends on how its
 * zone is, it is tainted so that they go. Conditions and cordons become taints that keep new pods away.
 */
export default defineLongRunning<LifecycleOptions>({
  doc: 'Marks nodes that are silent or unwell, keeps new pods off them, and gives up those that stay so.',
  name: 'node-lifecycle-controller',
  serviceAccount: 'node-controller',
  eventSource: 'node-controller',
  flags: lifecycleFlags,
  reads: [kinds.nodes, kinds.pods, heartbeats],
  create: nodeLifecycle,
});
