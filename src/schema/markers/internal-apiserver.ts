import type {GroupMarkers} from './types.js';

/** The markers of `internal.apiserver`, which its field tables do not contain. */
export const internalApiserver: GroupMarkers = {
  v1alpha1: {
    ServerStorageVersion: {decodableVersions: 'set', servedVersions: 'set'},
    StorageVersion: {spec: ':any@internal.apiserver/v1alpha1.StorageVersionSpec ={}'},
    StorageVersionCondition: {'*': 'required(type,status,reason,message)', lastTransitionTime: 'null', message: 'none'},
    StorageVersionStatus: {'*': 'pointers(commonEncodingVersion)', conditions: 'map(type)', storageVersions: 'map(apiServerID)'},
  },
};
