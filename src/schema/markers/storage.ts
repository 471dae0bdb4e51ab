import type {GroupMarkers} from './types.js';

/** The markers of `storage`, which its field tables do not contain. */
export const storage: GroupMarkers = {
  v1: {
    CSIDriverSpec: {
      '*': 'pointers(attachRequired,fsGroupPolicy,nodeAllocatableUpdatePeriodSeconds,podInfoOnMount,requiresRepublish,seLinuxMount,storageCapacity,serviceAccountTokenInSecrets)',
      serviceAccountTokenInSecrets: ':bool',
      tokenRequests: 'atomic',
      volumeLifecycleModes: 'set',
    },
    CSINodeDriver: {'*': 'kept(topologyKeys)', topologyKeys: 'atomic null'},
    CSINodeSpec: {drivers: 'map(name) patch=merge(name)'},
    CSIStorageCapacity: {capacity: ':quantity', maximumVolumeSize: ':quantity'},
    StorageClass: {
      '*': 'pointers(allowVolumeExpansion,reclaimPolicy,volumeBindingMode)',
      allowedTopologies: 'atomic',
      mountOptions: 'atomic',
    },
    TokenRequest: {'*': 'pointers(expirationSeconds)'},
    VolumeAttachmentSource: {'*': 'pointers(persistentVolumeName)'},
    VolumeAttachmentSpec: {'*': 'required(attacher,source,nodeName)'},
    VolumeError: {'*': 'pointers(errorCode)', time: 'null'},
    VolumeNodeResources: {'*': 'pointers(count)'},
  },
};
