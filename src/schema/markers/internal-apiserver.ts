import type {GroupMarkers} from './types.js';

/** What the field tables of `internal.apiserver` do not say by themselves. */
export const internalApiserver: GroupMarkers = {
  v1alpha1: {
    ServerStorageVersion: {decodableVersions: 'set', servedVersions: 'set'},
    StorageVersion: {spec: ':any@internal.apiserver/v1alpha1.StorageVersionSpec ={}'},
    StorageVersionCondition: {'*': 'required(type,status,reason,message)', lastTransitionTime: 'null', message: 'none'},
    StorageVersionStatus: {'*': 'pointers(commonEncodingVersion)', conditions: 'map(type)', storageVersions: 'map(apiServerID)'},
  },
};
