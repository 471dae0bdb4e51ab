import type {GroupTable} from './group-table.js';

const v1 = {
  Lease: '@1 metadata ObjectMeta; 2 spec LeaseSpec',
  LeaseList: '@1 metadata ListMeta; 2 items []Lease!',
  LeaseSpec:
    '1 holderIdentity *string; 2 leaseDurationSeconds *int32; 3 acquireTime *microtime; 4 renewTime *microtime; 5 leaseTransitions *int32; 6 strategy *string; 7 preferredHolder *string',
};

/** The protobuf messages of `coordination`. */
export const coordination: GroupTable = {
  v1,
  v1alpha2: {
    LeaseCandidate: '@1 metadata ObjectMeta; 2 spec LeaseCandidateSpec',
    LeaseCandidateList: '@1 metadata ListMeta; 2 items []LeaseCandidate!',
    LeaseCandidateSpec:
      '1 leaseName string!; 2 pingTime *microtime; 3 renewTime *microtime; 4 binaryVersion string!; 5 emulationVersion string; 6 strategy string',
  },
  v1beta1: {
    ...v1,
    LeaseCandidate: '@1 metadata ObjectMeta; 2 spec LeaseCandidateSpec',
    LeaseCandidateList: '@1 metadata ListMeta; 2 items []LeaseCandidate!',
    LeaseCandidateSpec:
      '1 leaseName string!; 2 pingTime *microtime; 3 renewTime *microtime; 4 binaryVersion string!; 5 emulationVersion string; 6 strategy string',
  },
};
