import type {GroupTable} from './group-table.js';

/** The protobuf messages of `internal.apiserver`. */
export const internalApiserver: GroupTable = {
  v1alpha1: {
    ServerStorageVersion: '1 apiServerID string; 2 encodingVersion string; 3 decodableVersions []string; 4 servedVersions []string',
    StorageVersion: '@1 metadata ObjectMeta; 2 spec StorageVersionSpec; 3 status StorageVersionStatus',
    StorageVersionCondition:
      '1 type string!; 2 status string!; 3 observedGeneration int64; 4 lastTransitionTime time; 5 reason string!; 6 message string',
    StorageVersionList: '@1 metadata ListMeta; 2 items []StorageVersion!',
    StorageVersionSpec: '',
    StorageVersionStatus:
      '1 storageVersions []ServerStorageVersion; 2 commonEncodingVersion *string; 3 conditions []StorageVersionCondition',
  },
};
