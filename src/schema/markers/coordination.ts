import type {GroupMarkers} from './types.js';

/** The markers of `coordination`, which its field tables do not contain. */
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
