import type {GroupFacts} from './form.js';

/** What the field tables of `storage` do not say by themselves. */
export const storage: GroupFacts = {
  v1: {
    CSIDriverSpec: {serviceAccountTokenInSecrets: ':bool', tokenRequests: 'atomic', volumeLifecycleModes: 'set'},
    CSINodeDriver: {topologyKeys: 'atomic'},
    CSINodeSpec: {drivers: 'map(name) patch=merge(name)'},
    CSIStorageCapacity: {capacity: ':quantity', maximumVolumeSize: ':quantity'},
    StorageClass: {allowedTopologies: 'atomic', mountOptions: 'atomic'},
    VolumeAttachmentSpec: {'*': 'required(attacher,source,nodeName)'},
  },
};
