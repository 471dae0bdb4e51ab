import type {GroupTable} from './group-table.js';

/** The protobuf messages of `certificates`. */
export const certificates: GroupTable = {
  v1: {
    CertificateSigningRequest: '@1 metadata ObjectMeta; 2 spec CertificateSigningRequestSpec; 3 status CertificateSigningRequestStatus',
    CertificateSigningRequestCondition:
      '1 type string!; 2 reason string; 3 message string; 4 lastUpdateTime time; 5 lastTransitionTime time; 6 status string!',
    CertificateSigningRequestList: '@1 metadata ListMeta; 2 items []CertificateSigningRequest!',
    CertificateSigningRequestSpec:
      '1 request bytes; 2 username string; 3 uid string; 4 groups []string; 5 usages []string; 6 extra {ExtraValue}; 7 signerName string!; 8 expirationSeconds *int32',
    CertificateSigningRequestStatus: '1 conditions []CertificateSigningRequestCondition; 2 certificate bytes',
    ExtraValue: '= 1 []string',
  },
  v1alpha1: {
    ClusterTrustBundle: '@1 metadata ObjectMeta; 2 spec ClusterTrustBundleSpec',
    ClusterTrustBundleList: '@1 metadata ListMeta; 2 items []ClusterTrustBundle!',
    ClusterTrustBundleSpec: '1 signerName string; 2 trustBundle string!',
  },
  v1beta1: {
    CertificateSigningRequest: '@1 metadata ObjectMeta; 2 spec CertificateSigningRequestSpec; 3 status CertificateSigningRequestStatus',
    CertificateSigningRequestCondition:
      '1 type string!; 2 reason string; 3 message string; 4 lastUpdateTime time; 5 lastTransitionTime time; 6 status string!',
    CertificateSigningRequestList: '@1 metadata ListMeta; 2 items []CertificateSigningRequest!',
    CertificateSigningRequestSpec:
      '1 request bytes; 2 username string; 3 uid string; 4 groups []string; 5 usages []string; 6 extra {ExtraValue}; 7 signerName *string; 8 expirationSeconds *int32',
    CertificateSigningRequestStatus: '1 conditions []CertificateSigningRequestCondition; 2 certificate bytes',
    ClusterTrustBundle: '@1 metadata ObjectMeta; 2 spec ClusterTrustBundleSpec',
    ClusterTrustBundleList: '@1 metadata ListMeta; 2 items []ClusterTrustBundle!',
    ClusterTrustBundleSpec: '1 signerName string; 2 trustBundle string!',
    ExtraValue: '= 1 []string',
    PodCertificateRequest: '@1 metadata ObjectMeta; 2 spec PodCertificateRequestSpec; 3 status PodCertificateRequestStatus',
    PodCertificateRequestList: '@1 metadata ListMeta; 2 items []PodCertificateRequest!',
    PodCertificateRequestSpec:
      '1 signerName string!; 2 podName string!; 3 podUID string!; 4 serviceAccountName string!; 5 serviceAccountUID string!; 6 nodeName string!; 7 nodeUID string!; 8 maxExpirationSeconds *int32; 9 pkixPublicKey bytes; 10 proofOfPossession bytes; 11 unverifiedUserAnnotations {string}',
    PodCertificateRequestStatus:
      '1 conditions []Condition; 2 certificateChain string; 4 notBefore *time; 5 beginRefreshAt *time; 6 notAfter *time',
  },
};
