// The built-in kinds by name: each is a handle (a value) and the type of its objects. Of several versions the most
// stable one; others are in `kinds`. Types are interfaces with a field of their own, so that messages of the compiler
// have their names. Beside the kinds the types that they are made of.

import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {ObjectMeta} from '#src/api/types.js';

export type * from '#src/api/components/component-types.js';

export interface APIService extends ObjectOf<(typeof kinds)['apiServices']> {
  metadata?: ObjectMeta;
}
export const APIService: Kind<APIService, 'APIService'> = kinds.apiServices as Kind<APIService, 'APIService'>;
export interface Binding extends ObjectOf<(typeof kinds)['bindings']> {
  metadata?: ObjectMeta;
}
export const Binding: Kind<Binding, 'Binding'> = kinds.bindings as Kind<Binding, 'Binding'>;
export interface CSIDriver extends ObjectOf<(typeof kinds)['csiDrivers']> {
  metadata?: ObjectMeta;
}
export const CSIDriver: Kind<CSIDriver, 'CSIDriver'> = kinds.csiDrivers as Kind<CSIDriver, 'CSIDriver'>;
export interface CSINode extends ObjectOf<(typeof kinds)['csiNodes']> {
  metadata?: ObjectMeta;
}
export const CSINode: Kind<CSINode, 'CSINode'> = kinds.csiNodes as Kind<CSINode, 'CSINode'>;
export interface CSIStorageCapacity extends ObjectOf<(typeof kinds)['csiStorageCapacities']> {
  metadata?: ObjectMeta;
}
export const CSIStorageCapacity: Kind<CSIStorageCapacity, 'CSIStorageCapacity'> = kinds.csiStorageCapacities as Kind<
  CSIStorageCapacity,
  'CSIStorageCapacity'
>;
export interface CertificateSigningRequest extends ObjectOf<(typeof kinds)['certificateSigningRequests']> {
  metadata?: ObjectMeta;
}
export const CertificateSigningRequest: Kind<CertificateSigningRequest, 'CertificateSigningRequest'> =
  kinds.certificateSigningRequests as Kind<CertificateSigningRequest, 'CertificateSigningRequest'>;
export interface ClusterRole extends ObjectOf<(typeof kinds)['clusterRoles']> {
  metadata?: ObjectMeta;
}
export const ClusterRole: Kind<ClusterRole, 'ClusterRole'> = kinds.clusterRoles as Kind<ClusterRole, 'ClusterRole'>;
export interface ClusterRoleBinding extends ObjectOf<(typeof kinds)['clusterRoleBindings']> {
  metadata?: ObjectMeta;
}
export const ClusterRoleBinding: Kind<ClusterRoleBinding, 'ClusterRoleBinding'> = kinds.clusterRoleBindings as Kind<
  ClusterRoleBinding,
  'ClusterRoleBinding'
>;
export interface ClusterTrustBundle extends ObjectOf<(typeof kinds)['clusterTrustBundles']> {
  metadata?: ObjectMeta;
}
export const ClusterTrustBundle: Kind<ClusterTrustBundle, 'ClusterTrustBundle'> = kinds.clusterTrustBundles as Kind<
  ClusterTrustBundle,
  'ClusterTrustBundle'
>;
export interface ComponentStatus extends ObjectOf<(typeof kinds)['componentStatuses']> {
  metadata?: ObjectMeta;
}
export const ComponentStatus: Kind<ComponentStatus, 'ComponentStatus'> = kinds.componentStatuses as Kind<
  ComponentStatus,
  'ComponentStatus'
>;
export interface ConfigMap extends ObjectOf<(typeof kinds)['configMaps']> {
  metadata?: ObjectMeta;
}
export const ConfigMap: Kind<ConfigMap, 'ConfigMap'> = kinds.configMaps as Kind<ConfigMap, 'ConfigMap'>;
export interface ControllerRevision extends ObjectOf<(typeof kinds)['controllerRevisions']> {
  metadata?: ObjectMeta;
}
export const ControllerRevision: Kind<ControllerRevision, 'ControllerRevision'> = kinds.controllerRevisions as Kind<
  ControllerRevision,
  'ControllerRevision'
>;
export interface CronJob extends ObjectOf<(typeof kinds)['cronJobs']> {
  metadata?: ObjectMeta;
}
export const CronJob: Kind<CronJob, 'CronJob'> = kinds.cronJobs as Kind<CronJob, 'CronJob'>;
export interface CustomResourceDefinition extends ObjectOf<(typeof kinds)['customResourceDefinitions']> {
  metadata?: ObjectMeta;
}
export const CustomResourceDefinition: Kind<CustomResourceDefinition, 'CustomResourceDefinition'> = kinds.customResourceDefinitions as Kind<
  CustomResourceDefinition,
  'CustomResourceDefinition'
>;
export interface DaemonSet extends ObjectOf<(typeof kinds)['daemonSets']> {
  metadata?: ObjectMeta;
}
export const DaemonSet: Kind<DaemonSet, 'DaemonSet'> = kinds.daemonSets as Kind<DaemonSet, 'DaemonSet'>;
export interface Deployment extends ObjectOf<(typeof kinds)['deployments']> {
  metadata?: ObjectMeta;
}
export const Deployment: Kind<Deployment, 'Deployment'> = kinds.deployments as Kind<Deployment, 'Deployment'>;
export interface DeviceClass extends ObjectOf<(typeof kinds)['deviceClasses']> {
  metadata?: ObjectMeta;
}
export const DeviceClass: Kind<DeviceClass, 'DeviceClass'> = kinds.deviceClasses as Kind<DeviceClass, 'DeviceClass'>;
export interface DeviceTaintRule extends ObjectOf<(typeof kinds)['deviceTaintRules']> {
  metadata?: ObjectMeta;
}
export const DeviceTaintRule: Kind<DeviceTaintRule, 'DeviceTaintRule'> = kinds.deviceTaintRules as Kind<DeviceTaintRule, 'DeviceTaintRule'>;
export interface EndpointSlice extends ObjectOf<(typeof kinds)['endpointSlices']> {
  metadata?: ObjectMeta;
}
export const EndpointSlice: Kind<EndpointSlice, 'EndpointSlice'> = kinds.endpointSlices as Kind<EndpointSlice, 'EndpointSlice'>;
export interface Endpoints extends ObjectOf<(typeof kinds)['endpoints']> {
  metadata?: ObjectMeta;
}
export const Endpoints: Kind<Endpoints, 'Endpoints'> = kinds.endpoints as Kind<Endpoints, 'Endpoints'>;
export interface Event extends ObjectOf<(typeof kinds)['coreEvents']> {
  metadata: ObjectMeta;
}
export const Event: Kind<Event, 'Event'> = kinds.coreEvents as Kind<Event, 'Event'>;
export interface Eviction extends ObjectOf<(typeof kinds)['evictions']> {
  metadata?: ObjectMeta;
}
export const Eviction: Kind<Eviction, 'Eviction'> = kinds.evictions as Kind<Eviction, 'Eviction'>;
export interface FlowSchema extends ObjectOf<(typeof kinds)['flowSchemas']> {
  metadata?: ObjectMeta;
}
export const FlowSchema: Kind<FlowSchema, 'FlowSchema'> = kinds.flowSchemas as Kind<FlowSchema, 'FlowSchema'>;
export interface HorizontalPodAutoscaler extends ObjectOf<(typeof kinds)['horizontalPodAutoscalers']> {
  metadata?: ObjectMeta;
}
export const HorizontalPodAutoscaler: Kind<HorizontalPodAutoscaler, 'HorizontalPodAutoscaler'> = kinds.horizontalPodAutoscalers as Kind<
  HorizontalPodAutoscaler,
  'HorizontalPodAutoscaler'
>;
export interface IPAddress extends ObjectOf<(typeof kinds)['ipAddresses']> {
  metadata?: ObjectMeta;
}
export const IPAddress: Kind<IPAddress, 'IPAddress'> = kinds.ipAddresses as Kind<IPAddress, 'IPAddress'>;
export interface Ingress extends ObjectOf<(typeof kinds)['ingresses']> {
  metadata?: ObjectMeta;
}
export const Ingress: Kind<Ingress, 'Ingress'> = kinds.ingresses as Kind<Ingress, 'Ingress'>;
export interface IngressClass extends ObjectOf<(typeof kinds)['ingressClasses']> {
  metadata?: ObjectMeta;
}
export const IngressClass: Kind<IngressClass, 'IngressClass'> = kinds.ingressClasses as Kind<IngressClass, 'IngressClass'>;
export interface Job extends ObjectOf<(typeof kinds)['jobs']> {
  metadata?: ObjectMeta;
}
export const Job: Kind<Job, 'Job'> = kinds.jobs as Kind<Job, 'Job'>;
export interface Lease extends ObjectOf<(typeof kinds)['leases']> {
  metadata?: ObjectMeta;
}
export const Lease: Kind<Lease, 'Lease'> = kinds.leases as Kind<Lease, 'Lease'>;
export interface LeaseCandidate extends ObjectOf<(typeof kinds)['leaseCandidates']> {
  metadata?: ObjectMeta;
}
export const LeaseCandidate: Kind<LeaseCandidate, 'LeaseCandidate'> = kinds.leaseCandidates as Kind<LeaseCandidate, 'LeaseCandidate'>;
export interface LimitRange extends ObjectOf<(typeof kinds)['limitRanges']> {
  metadata?: ObjectMeta;
}
export const LimitRange: Kind<LimitRange, 'LimitRange'> = kinds.limitRanges as Kind<LimitRange, 'LimitRange'>;
export interface LocalSubjectAccessReview extends ObjectOf<(typeof kinds)['localSubjectAccessReviews']> {
  metadata?: ObjectMeta;
}
export const LocalSubjectAccessReview: Kind<LocalSubjectAccessReview, 'LocalSubjectAccessReview'> = kinds.localSubjectAccessReviews as Kind<
  LocalSubjectAccessReview,
  'LocalSubjectAccessReview'
>;
export interface MutatingAdmissionPolicy extends ObjectOf<(typeof kinds)['mutatingAdmissionPolicies']> {
  metadata?: ObjectMeta;
}
export const MutatingAdmissionPolicy: Kind<MutatingAdmissionPolicy, 'MutatingAdmissionPolicy'> = kinds.mutatingAdmissionPolicies as Kind<
  MutatingAdmissionPolicy,
  'MutatingAdmissionPolicy'
>;
export interface MutatingAdmissionPolicyBinding extends ObjectOf<(typeof kinds)['mutatingAdmissionPolicyBindings']> {
  metadata?: ObjectMeta;
}
export const MutatingAdmissionPolicyBinding: Kind<MutatingAdmissionPolicyBinding, 'MutatingAdmissionPolicyBinding'> =
  kinds.mutatingAdmissionPolicyBindings as Kind<MutatingAdmissionPolicyBinding, 'MutatingAdmissionPolicyBinding'>;
export interface MutatingWebhookConfiguration extends ObjectOf<(typeof kinds)['mutatingWebhookConfigurations']> {
  metadata?: ObjectMeta;
}
export const MutatingWebhookConfiguration: Kind<MutatingWebhookConfiguration, 'MutatingWebhookConfiguration'> =
  kinds.mutatingWebhookConfigurations as Kind<MutatingWebhookConfiguration, 'MutatingWebhookConfiguration'>;
export interface Namespace extends ObjectOf<(typeof kinds)['namespaces']> {
  metadata?: ObjectMeta;
}
export const Namespace: Kind<Namespace, 'Namespace'> = kinds.namespaces as Kind<Namespace, 'Namespace'>;
export interface NetworkPolicy extends ObjectOf<(typeof kinds)['networkPolicies']> {
  metadata?: ObjectMeta;
}
export const NetworkPolicy: Kind<NetworkPolicy, 'NetworkPolicy'> = kinds.networkPolicies as Kind<NetworkPolicy, 'NetworkPolicy'>;
export interface Node extends ObjectOf<(typeof kinds)['nodes']> {
  metadata?: ObjectMeta;
}
export const Node: Kind<Node, 'Node'> = kinds.nodes as Kind<Node, 'Node'>;
export interface NodeMetrics extends ObjectOf<(typeof kinds)['nodeMetrics']> {
  metadata?: ObjectMeta;
}
export const NodeMetrics: Kind<NodeMetrics, 'NodeMetrics'> = kinds.nodeMetrics as Kind<NodeMetrics, 'NodeMetrics'>;
export interface PersistentVolume extends ObjectOf<(typeof kinds)['persistentVolumes']> {
  metadata?: ObjectMeta;
}
export const PersistentVolume: Kind<PersistentVolume, 'PersistentVolume'> = kinds.persistentVolumes as Kind<
  PersistentVolume,
  'PersistentVolume'
>;
export interface PersistentVolumeClaim extends ObjectOf<(typeof kinds)['persistentVolumeClaims']> {
  metadata?: ObjectMeta;
}
export const PersistentVolumeClaim: Kind<PersistentVolumeClaim, 'PersistentVolumeClaim'> = kinds.persistentVolumeClaims as Kind<
  PersistentVolumeClaim,
  'PersistentVolumeClaim'
>;
export interface Pod extends ObjectOf<(typeof kinds)['pods']> {
  metadata?: ObjectMeta;
}
export const Pod: Kind<Pod, 'Pod'> = kinds.pods as Kind<Pod, 'Pod'>;
export interface PodCertificateRequest extends ObjectOf<(typeof kinds)['podCertificateRequests']> {
  metadata?: ObjectMeta;
}
export const PodCertificateRequest: Kind<PodCertificateRequest, 'PodCertificateRequest'> = kinds.podCertificateRequests as Kind<
  PodCertificateRequest,
  'PodCertificateRequest'
>;
export interface PodDisruptionBudget extends ObjectOf<(typeof kinds)['podDisruptionBudgets']> {
  metadata?: ObjectMeta;
}
export const PodDisruptionBudget: Kind<PodDisruptionBudget, 'PodDisruptionBudget'> = kinds.podDisruptionBudgets as Kind<
  PodDisruptionBudget,
  'PodDisruptionBudget'
>;
export interface PodMetrics extends ObjectOf<(typeof kinds)['podMetrics']> {
  metadata?: ObjectMeta;
}
export const PodMetrics: Kind<PodMetrics, 'PodMetrics'> = kinds.podMetrics as Kind<PodMetrics, 'PodMetrics'>;
export interface PodTemplate extends ObjectOf<(typeof kinds)['podTemplates']> {
  metadata?: ObjectMeta;
}
export const PodTemplate: Kind<PodTemplate, 'PodTemplate'> = kinds.podTemplates as Kind<PodTemplate, 'PodTemplate'>;
export interface PriorityClass extends ObjectOf<(typeof kinds)['priorityClasses']> {
  metadata?: ObjectMeta;
}
export const PriorityClass: Kind<PriorityClass, 'PriorityClass'> = kinds.priorityClasses as Kind<PriorityClass, 'PriorityClass'>;
export interface PriorityLevelConfiguration extends ObjectOf<(typeof kinds)['priorityLevelConfigurations']> {
  metadata?: ObjectMeta;
}
export const PriorityLevelConfiguration: Kind<PriorityLevelConfiguration, 'PriorityLevelConfiguration'> =
  kinds.priorityLevelConfigurations as Kind<PriorityLevelConfiguration, 'PriorityLevelConfiguration'>;
export interface ReplicaSet extends ObjectOf<(typeof kinds)['replicaSets']> {
  metadata?: ObjectMeta;
}
export const ReplicaSet: Kind<ReplicaSet, 'ReplicaSet'> = kinds.replicaSets as Kind<ReplicaSet, 'ReplicaSet'>;
export interface ReplicationController extends ObjectOf<(typeof kinds)['replicationControllers']> {
  metadata?: ObjectMeta;
}
export const ReplicationController: Kind<ReplicationController, 'ReplicationController'> = kinds.replicationControllers as Kind<
  ReplicationController,
  'ReplicationController'
>;
export interface ResourceClaim extends ObjectOf<(typeof kinds)['resourceClaims']> {
  metadata?: ObjectMeta;
}
export const ResourceClaim: Kind<ResourceClaim, 'ResourceClaim'> = kinds.resourceClaims as Kind<ResourceClaim, 'ResourceClaim'>;
export interface ResourceClaimTemplate extends ObjectOf<(typeof kinds)['resourceClaimTemplates']> {
  metadata?: ObjectMeta;
}
export const ResourceClaimTemplate: Kind<ResourceClaimTemplate, 'ResourceClaimTemplate'> = kinds.resourceClaimTemplates as Kind<
  ResourceClaimTemplate,
  'ResourceClaimTemplate'
>;
export interface ResourceQuota extends ObjectOf<(typeof kinds)['resourceQuotas']> {
  metadata?: ObjectMeta;
}
export const ResourceQuota: Kind<ResourceQuota, 'ResourceQuota'> = kinds.resourceQuotas as Kind<ResourceQuota, 'ResourceQuota'>;
export interface ResourceSlice extends ObjectOf<(typeof kinds)['resourceSlices']> {
  metadata?: ObjectMeta;
}
export const ResourceSlice: Kind<ResourceSlice, 'ResourceSlice'> = kinds.resourceSlices as Kind<ResourceSlice, 'ResourceSlice'>;
export interface Role extends ObjectOf<(typeof kinds)['roles']> {
  metadata?: ObjectMeta;
}
export const Role: Kind<Role, 'Role'> = kinds.roles as Kind<Role, 'Role'>;
export interface RoleBinding extends ObjectOf<(typeof kinds)['roleBindings']> {
  metadata?: ObjectMeta;
}
export const RoleBinding: Kind<RoleBinding, 'RoleBinding'> = kinds.roleBindings as Kind<RoleBinding, 'RoleBinding'>;
export interface RuntimeClass extends ObjectOf<(typeof kinds)['runtimeClasses']> {
  metadata?: ObjectMeta;
}
export const RuntimeClass: Kind<RuntimeClass, 'RuntimeClass'> = kinds.runtimeClasses as Kind<RuntimeClass, 'RuntimeClass'>;
export interface Scale extends ObjectOf<(typeof kinds)['scales']> {
  metadata?: ObjectMeta;
}
export const Scale: Kind<Scale, 'Scale'> = kinds.scales as Kind<Scale, 'Scale'>;
export interface Secret extends ObjectOf<(typeof kinds)['secrets']> {
  metadata?: ObjectMeta;
}
export const Secret: Kind<Secret, 'Secret'> = kinds.secrets as Kind<Secret, 'Secret'>;
export interface SelfSubjectAccessReview extends ObjectOf<(typeof kinds)['selfSubjectAccessReviews']> {
  metadata?: ObjectMeta;
}
export const SelfSubjectAccessReview: Kind<SelfSubjectAccessReview, 'SelfSubjectAccessReview'> = kinds.selfSubjectAccessReviews as Kind<
  SelfSubjectAccessReview,
  'SelfSubjectAccessReview'
>;
export interface SelfSubjectReview extends ObjectOf<(typeof kinds)['selfSubjectReviews']> {
  metadata?: ObjectMeta;
}
export const SelfSubjectReview: Kind<SelfSubjectReview, 'SelfSubjectReview'> = kinds.selfSubjectReviews as Kind<
  SelfSubjectReview,
  'SelfSubjectReview'
>;
export interface SelfSubjectRulesReview extends ObjectOf<(typeof kinds)['selfSubjectRulesReviews']> {
  metadata?: ObjectMeta;
}
export const SelfSubjectRulesReview: Kind<SelfSubjectRulesReview, 'SelfSubjectRulesReview'> = kinds.selfSubjectRulesReviews as Kind<
  SelfSubjectRulesReview,
  'SelfSubjectRulesReview'
>;
export interface Service extends ObjectOf<(typeof kinds)['services']> {
  metadata?: ObjectMeta;
}
export const Service: Kind<Service, 'Service'> = kinds.services as Kind<Service, 'Service'>;
export interface ServiceAccount extends ObjectOf<(typeof kinds)['serviceAccounts']> {
  metadata?: ObjectMeta;
}
export const ServiceAccount: Kind<ServiceAccount, 'ServiceAccount'> = kinds.serviceAccounts as Kind<ServiceAccount, 'ServiceAccount'>;
export interface ServiceCIDR extends ObjectOf<(typeof kinds)['serviceCIDRs']> {
  metadata?: ObjectMeta;
}
export const ServiceCIDR: Kind<ServiceCIDR, 'ServiceCIDR'> = kinds.serviceCIDRs as Kind<ServiceCIDR, 'ServiceCIDR'>;
export interface StatefulSet extends ObjectOf<(typeof kinds)['statefulSets']> {
  metadata?: ObjectMeta;
}
export const StatefulSet: Kind<StatefulSet, 'StatefulSet'> = kinds.statefulSets as Kind<StatefulSet, 'StatefulSet'>;
export interface StorageClass extends ObjectOf<(typeof kinds)['storageClasses']> {
  metadata?: ObjectMeta;
}
export const StorageClass: Kind<StorageClass, 'StorageClass'> = kinds.storageClasses as Kind<StorageClass, 'StorageClass'>;
export interface StorageVersion extends ObjectOf<(typeof kinds)['storageVersions']> {
  metadata?: ObjectMeta;
}
export const StorageVersion: Kind<StorageVersion, 'StorageVersion'> = kinds.storageVersions as Kind<StorageVersion, 'StorageVersion'>;
export interface StorageVersionMigration extends ObjectOf<(typeof kinds)['storageVersionMigrations']> {
  metadata?: ObjectMeta;
}
export const StorageVersionMigration: Kind<StorageVersionMigration, 'StorageVersionMigration'> = kinds.storageVersionMigrations as Kind<
  StorageVersionMigration,
  'StorageVersionMigration'
>;
export interface SubjectAccessReview extends ObjectOf<(typeof kinds)['subjectAccessReviews']> {
  metadata?: ObjectMeta;
}
export const SubjectAccessReview: Kind<SubjectAccessReview, 'SubjectAccessReview'> = kinds.subjectAccessReviews as Kind<
  SubjectAccessReview,
  'SubjectAccessReview'
>;
export interface TokenRequest extends ObjectOf<(typeof kinds)['tokenRequests']> {
  metadata?: ObjectMeta;
}
export const TokenRequest: Kind<TokenRequest, 'TokenRequest'> = kinds.tokenRequests as Kind<TokenRequest, 'TokenRequest'>;
export interface TokenReview extends ObjectOf<(typeof kinds)['tokenReviews']> {
  metadata?: ObjectMeta;
}
export const TokenReview: Kind<TokenReview, 'TokenReview'> = kinds.tokenReviews as Kind<TokenReview, 'TokenReview'>;
export interface ValidatingAdmissionPolicy extends ObjectOf<(typeof kinds)['validatingAdmissionPolicies']> {
  metadata?: ObjectMeta;
}
export const ValidatingAdmissionPolicy: Kind<ValidatingAdmissionPolicy, 'ValidatingAdmissionPolicy'> =
  kinds.validatingAdmissionPolicies as Kind<ValidatingAdmissionPolicy, 'ValidatingAdmissionPolicy'>;
export interface ValidatingAdmissionPolicyBinding extends ObjectOf<(typeof kinds)['validatingAdmissionPolicyBindings']> {
  metadata?: ObjectMeta;
}
export const ValidatingAdmissionPolicyBinding: Kind<ValidatingAdmissionPolicyBinding, 'ValidatingAdmissionPolicyBinding'> =
  kinds.validatingAdmissionPolicyBindings as Kind<ValidatingAdmissionPolicyBinding, 'ValidatingAdmissionPolicyBinding'>;
export interface ValidatingWebhookConfiguration extends ObjectOf<(typeof kinds)['validatingWebhookConfigurations']> {
  metadata?: ObjectMeta;
}
export const ValidatingWebhookConfiguration: Kind<ValidatingWebhookConfiguration, 'ValidatingWebhookConfiguration'> =
  kinds.validatingWebhookConfigurations as Kind<ValidatingWebhookConfiguration, 'ValidatingWebhookConfiguration'>;
export interface VolumeAttachment extends ObjectOf<(typeof kinds)['volumeAttachments']> {
  metadata?: ObjectMeta;
}
export const VolumeAttachment: Kind<VolumeAttachment, 'VolumeAttachment'> = kinds.volumeAttachments as Kind<
  VolumeAttachment,
  'VolumeAttachment'
>;
export interface VolumeAttributesClass extends ObjectOf<(typeof kinds)['volumeAttributesClasses']> {
  metadata?: ObjectMeta;
}
export const VolumeAttributesClass: Kind<VolumeAttributesClass, 'VolumeAttributesClass'> = kinds.volumeAttributesClasses as Kind<
  VolumeAttributesClass,
  'VolumeAttributesClass'
>;
export interface Workload extends ObjectOf<(typeof kinds)['workloads']> {
  metadata?: ObjectMeta;
}
export const Workload: Kind<Workload, 'Workload'> = kinds.workloads as Kind<Workload, 'Workload'>;
