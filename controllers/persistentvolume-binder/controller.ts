import {keyOf} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {defineController, every, forLoop, sameKey} from '#src/runtime/controller.js';
import type {BinderOptions} from './options.js';
import {binder} from './reconcile.js';

const all = (kind: Kind) =>
  every(
    ({pvclaimbinderSyncPeriod}: BinderOptions) => pvclaimbinderSyncPeriod,
    ({lister}) => lister(kind).list().map(keyOf),
  );

/** Binds claims to volumes, has volumes provisioned for them, and reclaims volumes whose claims are gone. */
export default defineController<BinderOptions>({
  doc: 'Binds persistent volume claims to volumes, provisions volumes and reclaims released ones.',
  name: 'persistentvolume-binder-controller',
  serviceAccount: 'persistent-volume-binder',
  eventSource: 'persistentvolume-controller',
  configuration: {
    PersistentVolumeBinderController: {
      PVClaimBinderSyncPeriod: 'pvclaimbinder-sync-period',
      VolumeConfiguration: {
        EnableHostPathProvisioning: 'enable-hostpath-provisioner',
        EnableDynamicProvisioning: 'enable-dynamic-provisioning',
        PersistentVolumeRecyclerConfiguration: {
          MinimumTimeoutNFS: 'pv-recycler-minimum-timeout-nfs',
          PodTemplateFilePathNFS: 'pv-recycler-pod-template-filepath-nfs',
          IncrementTimeoutNFS: 'pv-recycler-increment-timeout-nfs',
          PodTemplateFilePathHostPath: 'pv-recycler-pod-template-filepath-hostpath',
          MinimumTimeoutHostPath: 'pv-recycler-minimum-timeout-hostpath',
          IncrementTimeoutHostPath: 'pv-recycler-timeout-increment-hostpath',
        },
        FlexVolumePluginDir: 'flex-volume-plugin-dir',
      },
    },
  },
  reads: [kinds.storageClasses, kinds.pods, kinds.nodes],
  watches: [
    forLoop('claims', sameKey(kinds.persistentVolumeClaims)),
    forLoop('volumes', sameKey(kinds.persistentVolumes)),
    forLoop('claims', all(kinds.persistentVolumeClaims)),
    forLoop('volumes', all(kinds.persistentVolumes)),
  ],
  create: binder,
});
