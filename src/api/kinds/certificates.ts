import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';
import type {Condition, KubeObject, Wire} from '#src/api/types.js';

/** Asks for a certificate on behalf of a pod (certificates v1beta1). */
export interface PodCertificateRequest extends KubeObject {
  spec: {
    signerName: string;
    podName: string;
    podUID: string;
    serviceAccountName: string;
    serviceAccountUID: string;
    nodeName: string;
    nodeUID: string;
    maxExpirationSeconds?: number;
    pkixPublicKey: string;
    proofOfPossession: string;
    unverifiedUserAnnotations?: Record<string, string>;
  };
  status?: {
    conditions?: Condition[];
    certificateChain?: string;
    notBefore?: string;
    beginRefreshAt?: string;
    notAfter?: string;
  };
}

/** The kinds of the group; a version that is not the best one is named with its version. */
export const certificatesKinds = {
  certificateSigningRequests: kind<types.CertificateSigningRequest>(
    'certificates',
    'v1',
    'CertificateSigningRequest',
    'certificatesigningrequests',
    false,
  ),
  clusterTrustBundles: kind<Wire<upstream.V1beta1ClusterTrustBundle>>(
    'certificates',
    'v1beta1',
    'ClusterTrustBundle',
    'clustertrustbundles',
    false,
    '1.33',
  ),
  clusterTrustBundlesV1alpha1: kind<Wire<upstream.V1alpha1ClusterTrustBundle>>(
    'certificates',
    'v1alpha1',
    'ClusterTrustBundle',
    'clustertrustbundles',
    false,
    '1.26',
  ),
  podCertificateRequests: kind<PodCertificateRequest>(
    'certificates',
    'v1beta1',
    'PodCertificateRequest',
    'podcertificaterequests',
    true,
    '1.35',
  ),
} as const;
