import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController} from '#src/runtime/controller.js';
import {deviceTaintReconciler} from './reconcile.js';

/** Deletes pods that use devices with NoExecute taints that their claims do not tolerate, or no longer (KEP-5055). */
export default defineController<Pick<ControllerManagerOptions, 'concurrentDeviceTaintEvictionSyncs'>>({
  doc: 'Evicts pods from devices with NoExecute taints that their claims do not tolerate, and reports the progress of rules for taints.',
  name: 'device-taint-eviction-controller',
  serviceAccount: 'device-taint-eviction-controller',
  configuration: {DeviceTaintEvictionController: {ConcurrentSyncs: 'concurrent-device-taint-eviction-syncs'}},
  reads: [kinds.pods, kinds.resourceClaims, kinds.resourceSlices],
  workers: ({concurrentDeviceTaintEvictionSyncs}) => concurrentDeviceTaintEvictionSyncs,
  create: deviceTaintReconciler,
});
