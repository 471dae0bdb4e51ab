import type {Controller} from '#src/runtime/controller.js';
import bootstrapSigner from './bootstrap-signer/controller.js';
import certificateSigningRequestApproving from './certificatesigningrequest-approving/controller.js';
import certificateSigningRequestCleaner from './certificatesigningrequest-cleaner/controller.js';
import certificateSigningRequestSigning from './certificatesigningrequest-signing/controller.js';
import cloudNodeLifecycle from './cloud-node-lifecycle/controller.js';
import clusterRoleAggregation from './clusterrole-aggregation/controller.js';
import cronJob from './cronjob/controller.js';
import daemonSet from './daemonset/controller.js';
import deployment from './deployment/controller.js';
import deviceTaintEviction from './device-taint-eviction/controller.js';
import disruption from './disruption/controller.js';
import endpoints from './endpoints/controller.js';
import endpointSlice from './endpointslice/controller.js';
import endpointSliceMirroring from './endpointslice-mirroring/controller.js';
import ephemeralVolume from './ephemeral-volume/controller.js';
import garbageCollector from './garbage-collector/controller.js';
import horizontalPodAutoscaler from './horizontal-pod-autoscaler/controller.js';
import job from './job/controller.js';
import legacyServiceAccountTokenCleaner from './legacy-serviceaccount-token-cleaner/controller.js';
import namespace from './namespace/controller.js';
import nodeIpam from './node-ipam/controller.js';
import nodeLifecycle from './node-lifecycle/controller.js';
import nodeRoute from './node-route/controller.js';
import nodeServingApproving from './node-serving-approving/controller.js';
import persistentVolumeAttachDetach from './persistentvolume-attach-detach/controller.js';
import persistentVolumeBinder from './persistentvolume-binder/controller.js';
import persistentVolumeExpander from './persistentvolume-expander/controller.js';
import persistentVolumeProtection from './persistentvolume-protection/controller.js';
import persistentVolumeClaimProtection from './persistentvolumeclaim-protection/controller.js';
import apiserverServingClusterTrustBundlePublisher from './plat-apiserver-serving-clustertrustbundle-publisher/controller.js';
import podGarbageCollector from './pod-garbage-collector/controller.js';
import podCertificateRequestCleaner from './podcertificaterequest-cleaner/controller.js';
import replicaSet from './replicaset/controller.js';
import replicationController from './replicationcontroller/controller.js';
import resourceClaim from './resourceclaim/controller.js';
import resourceQuota from './resourcequota/controller.js';
import rootCaCertificatePublisher from './root-ca-certificate-publisher/controller.js';
import seLinuxWarning from './selinux-warning/controller.js';
import serviceCidr from './service-cidr/controller.js';
import serviceLoadBalancer from './service-lb/controller.js';
import serviceAccount from './serviceaccount/controller.js';
import serviceAccountToken from './serviceaccount-token/controller.js';
import statefulSet from './statefulset/controller.js';
import storageVersionMigrator from './storage-version-migrator/controller.js';
import storageVersionGarbageCollector from './storageversion-garbage-collector/controller.js';
import taintEviction from './taint-eviction/controller.js';
import tokenCleaner from './token-cleaner/controller.js';
import ttl from './ttl/controller.js';
import ttlAfterFinished from './ttl-after-finished/controller.js';
import validatingAdmissionPolicyStatus from './validatingadmissionpolicy-status/controller.js';
import volumeAttributesClassProtection from './volumeattributesclass-protection/controller.js';

/** All controllers. */
export const controllers: readonly Controller[] = [
  bootstrapSigner,
  certificateSigningRequestApproving,
  certificateSigningRequestCleaner,
  certificateSigningRequestSigning,
  cloudNodeLifecycle,
  clusterRoleAggregation,
  cronJob,
  daemonSet,
  deployment,
  deviceTaintEviction,
  disruption,
  endpoints,
  endpointSlice,
  endpointSliceMirroring,
  ephemeralVolume,
  garbageCollector,
  horizontalPodAutoscaler,
  job,
  legacyServiceAccountTokenCleaner,
  namespace,
  nodeIpam,
  nodeLifecycle,
  nodeRoute,
  nodeServingApproving,
  persistentVolumeAttachDetach,
  persistentVolumeBinder,
  persistentVolumeExpander,
  persistentVolumeProtection,
  persistentVolumeClaimProtection,
  apiserverServingClusterTrustBundlePublisher,
  podGarbageCollector,
  podCertificateRequestCleaner,
  replicaSet,
  replicationController,
  resourceClaim,
  resourceQuota,
  rootCaCertificatePublisher,
  seLinuxWarning,
  serviceCidr,
  serviceLoadBalancer,
  serviceAccount,
  serviceAccountToken,
  statefulSet,
  storageVersionMigrator,
  storageVersionGarbageCollector,
  taintEviction,
  tokenCleaner,
  ttl,
  ttlAfterFinished,
  validatingAdmissionPolicyStatus,
  volumeAttributesClassProtection,
];
