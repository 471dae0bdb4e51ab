import type {GroupMarkers} from './types.js';

/** What the field tables of `coordination` do not say by themselves. */
export const coordination: GroupMarkers = {
  v1: {
    LeaseSpec: {'*': 'pointers(holderIdentity,leaseDurationSeconds,leaseTransitions,preferredHolder,strategy)'},
  },
  v1alpha2: {
    LeaseCandidateSpec: {'*': 'required(leaseName,binaryVersion,strategy)', strategy: 'none'},
  },
  v1beta1: {
    LeaseCandidateSpec: {'*': 'required(leaseName,binaryVersion,strategy)', strategy: 'none'},
  },
};
