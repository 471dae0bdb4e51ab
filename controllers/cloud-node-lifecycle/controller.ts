import {kinds} from '#src/api/kinds/index.js';
import {defineController, every, singletonKey} from '#src/runtime/controller.js';
import {lifecycle, type CloudLifecycleOptions} from './reconcile.js';

/**
 * Deletes nodes whose machine is gone from the cloud, and taints those whose machine is shut down. Asks the cloud only
 * about nodes that are not ready.
 */
export default defineController<CloudLifecycleOptions>({
  doc: 'Deletes nodes whose machine is gone from the cloud, and taints nodes whose machine is shut down.',
  name: 'cloud-node-lifecycle-controller',
  serviceAccount: 'node-controller',
  eventSource: 'cloud-node-lifecycle-controller',
  flags: ['node-monitor-period'],
  reads: [kinds.nodes],
  watches: [
    every(
      ({nodeMonitorPeriod}: CloudLifecycleOptions) => nodeMonitorPeriod,
      () => [singletonKey],
    ),
  ],
  create: lifecycle,
});
