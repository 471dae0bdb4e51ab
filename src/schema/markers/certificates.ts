import type {GroupMarkers} from './types.js';

/** The markers of `certificates`, which its field tables do not contain. */
export const certificates: GroupMarkers = {
  v1: {
    CertificateSigningRequestCondition: {'*': 'required(type,status)', lastTransitionTime: 'null', lastUpdateTime: 'null'},
    CertificateSigningRequestSpec: {'*': 'pointers(expirationSeconds)', groups: 'atomic', usages: 'atomic'},
    CertificateSigningRequestStatus: {conditions: 'map(type)'},
  },
  v1alpha1: {
    PodCertificateRequestSpec: {'*': 'pointers(maxExpirationSeconds)'},
    PodCertificateRequestStatus: {'*': 'pointers(certificateChain)'},
  },
  v1beta1: {
    PodCertificateRequest: {
      apiVersion: ':string',
      kind: ':string',
      metadata: ':meta/v1.ObjectMeta',
      spec: ':certificates/v1beta1.PodCertificateRequestSpec required',
      status: ':certificates/v1beta1.PodCertificateRequestStatus',
    },
    PodCertificateRequestList: {
      apiVersion: ':string',
      items: ':[]certificates/v1beta1.PodCertificateRequest required',
      kind: ':string',
      metadata: ':meta/v1.ListMeta',
    },
    PodCertificateRequestSpec: {
      '*': 'required(signerName,podName,podUID,serviceAccountName,serviceAccountUID,nodeName,nodeUID,pkixPublicKey,proofOfPossession)',
      maxExpirationSeconds: ':int32 =86400',
      nodeName: ':string required',
      nodeUID: ':string required',
      pkixPublicKey: ':byte required',
      podName: ':string required',
      podUID: ':string required',
      proofOfPossession: ':byte required',
      serviceAccountName: ':string required',
      serviceAccountUID: ':string required',
      signerName: ':string required',
      unverifiedUserAnnotations: ':map[string]string',
    },
    PodCertificateRequestStatus: {
      beginRefreshAt: ':time',
      certificateChain: ':string',
      conditions: ':[]meta/v1.Condition map(type) patch=merge(type)',
      notAfter: ':time',
      notBefore: ':time',
    },
  },
};
