import {kinds} from '#src/api/kinds/index.js';
import {defineLongRunning} from '#src/runtime/controller.js';
import type {AttachDetachOptions} from './options.js';
import {attachDetach} from './run.js';

/**
 * Attaches the volumes of pods to their nodes before the pods start, and detaches them once the nodes have unmounted
 * them.
 */
export default defineLongRunning<AttachDetachOptions>({
  doc: 'Attaches the volumes of pods to their nodes, and detaches volumes that no pod on the node uses.',
  name: 'persistentvolume-attach-detach-controller',
  serviceAccount: 'attachdetach-controller',
  eventSource: 'attachdetach-controller',
  configuration: {
    AttachDetachController: {
      DisableAttachDetachReconcilerSync: 'disable-attach-detach-reconcile-sync',
      ReconcilerSyncLoopPeriod: 'attach-detach-reconcile-sync-period',
      DisableForceDetachOnTimeout: 'disable-force-detach-on-timeout',
    },
  },
  flags: ['flex-volume-plugin-dir'],
  reads: [
    kinds.pods,
    kinds.nodes,
    kinds.persistentVolumeClaims,
    kinds.persistentVolumes,
    kinds.csiDrivers,
    kinds.csiNodes,
    kinds.volumeAttachments,
  ],
  create: attachDetach,
});
