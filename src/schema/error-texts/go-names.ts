// Names of the original's Go types, which its decoding errors contain. Read only when such an error is reported;
// nothing else depends on Go.

import type {TypeRef} from '#src/schema/node.js';

/**
 * Go names of field types in error texts, by group version and name: named strings and numbers, and lists and maps of
 * them. A named element type follows `[]` or `map[...]`.
 */
export const goNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'admissionregistration/v1': {
    '[]v1.OperationType': 'NamedRuleWithOperations.operations RuleWithOperations.operations',
    '[]v1.ValidationAction': 'ValidatingAdmissionPolicyBindingSpec.validationActions',
    'v1.FailurePolicyType': 'MutatingWebhook.failurePolicy ValidatingAdmissionPolicySpec.failurePolicy ValidatingWebhook.failurePolicy',
    'v1.MatchPolicyType': 'MatchResources.matchPolicy MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy',
    'v1.ParameterNotFoundActionType': 'ParamRef.parameterNotFoundAction',
    'v1.ReinvocationPolicyType': 'MutatingWebhook.reinvocationPolicy',
    'v1.ScopeType': 'NamedRuleWithOperations.scope RuleWithOperations.scope',
    'v1.SideEffectClass': 'MutatingWebhook.sideEffects ValidatingWebhook.sideEffects',
    'v1.StatusReason': 'Validation.reason',
  },
  'admissionregistration/v1alpha1': {
    '[]v1.OperationType': 'NamedRuleWithOperations.operations',
    'v1.ReinvocationPolicyType': 'MutatingAdmissionPolicySpec.reinvocationPolicy',
    'v1.ScopeType': 'NamedRuleWithOperations.scope',
    'v1alpha1.FailurePolicyType': 'MutatingAdmissionPolicySpec.failurePolicy',
    'v1alpha1.MatchPolicyType': 'MatchResources.matchPolicy',
    'v1alpha1.ParameterNotFoundActionType': 'ParamRef.parameterNotFoundAction',
    'v1alpha1.PatchType': 'Mutation.patchType',
  },
  'admissionregistration/v1beta1': {
    '[]v1.OperationType': 'NamedRuleWithOperations.operations',
    'v1.ReinvocationPolicyType': 'MutatingAdmissionPolicySpec.reinvocationPolicy',
    'v1.ScopeType': 'NamedRuleWithOperations.scope',
    'v1beta1.FailurePolicyType': 'MutatingAdmissionPolicySpec.failurePolicy',
    'v1beta1.MatchPolicyType': 'MatchResources.matchPolicy',
    'v1beta1.ParameterNotFoundActionType': 'ParamRef.parameterNotFoundAction',
    'v1beta1.PatchType': 'Mutation.patchType',
  },
  'apiextensions/v1': {
    'v1.ConditionStatus': 'CustomResourceDefinitionCondition.status',
    'v1.ConversionStrategyType': 'CustomResourceConversion.strategy',
    'v1.CustomResourceDefinitionConditionType': 'CustomResourceDefinitionCondition.type',
    'v1.FieldValueErrorReason': 'ValidationRule.reason',
    'v1.JSONSchemaDefinitions': 'JSONSchemaProps.definitions',
    'v1.JSONSchemaDependencies': 'JSONSchemaProps.dependencies',
    'v1.JSONSchemaURL': 'JSONSchemaProps.$schema',
    'v1.ResourceScope': 'CustomResourceDefinitionSpec.scope',
    'v1.ValidationRules': 'JSONSchemaProps.x-kubernetes-validations',
  },
  'apiregistration/v1': {
    'v1.APIServiceConditionType': 'APIServiceCondition.type',
    'v1.ConditionStatus': 'APIServiceCondition.status',
  },
  'apps/v1': {
    'v1.ConditionStatus': 'DaemonSetCondition.status DeploymentCondition.status ReplicaSetCondition.status StatefulSetCondition.status',
    'v1.DaemonSetConditionType': 'DaemonSetCondition.type',
    'v1.DaemonSetUpdateStrategyType': 'DaemonSetUpdateStrategy.type',
    'v1.DeploymentConditionType': 'DeploymentCondition.type',
    'v1.DeploymentStrategyType': 'DeploymentStrategy.type',
    'v1.PersistentVolumeClaimRetentionPolicyType':
      'StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled',
    'v1.PodManagementPolicyType': 'StatefulSetSpec.podManagementPolicy',
    'v1.ReplicaSetConditionType': 'ReplicaSetCondition.type',
    'v1.StatefulSetConditionType': 'StatefulSetCondition.type',
    'v1.StatefulSetUpdateStrategyType': 'StatefulSetUpdateStrategy.type',
  },
  'authentication/v1': {
    'map[string]v1.ExtraValue': 'UserInfo.extra',
    'types.UID': 'BoundObjectReference.uid',
  },
  'authorization/v1': {
    'map[string]v1.ExtraValue': 'SubjectAccessReviewSpec.extra',
  },
  'autoscaling/v2': {
    'v1.ConditionStatus': 'HorizontalPodAutoscalerCondition.status',
    'v1.ResourceName':
      'ContainerResourceMetricSource.name ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name',
    'v2.HPAScalingPolicyType': 'HPAScalingPolicy.type',
    'v2.HorizontalPodAutoscalerConditionType': 'HorizontalPodAutoscalerCondition.type',
    'v2.MetricSourceType': 'MetricSpec.type MetricStatus.type',
    'v2.MetricTargetType': 'MetricTarget.type',
    'v2.ScalingPolicySelect': 'HPAScalingRules.selectPolicy',
  },
  'batch/v1': {
    '[]types.UID': 'UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded',
    'v1.CompletionMode': 'JobSpec.completionMode',
    'v1.ConcurrencyPolicy': 'CronJobSpec.concurrencyPolicy',
    'v1.ConditionStatus': 'JobCondition.status PodFailurePolicyOnPodConditionsPattern.status',
    'v1.JobConditionType': 'JobCondition.type',
    'v1.PodConditionType': 'PodFailurePolicyOnPodConditionsPattern.type',
    'v1.PodFailurePolicyAction': 'PodFailurePolicyRule.action',
    'v1.PodFailurePolicyOnExitCodesOperator': 'PodFailurePolicyOnExitCodesRequirement.operator',
    'v1.PodReplacementPolicy': 'JobSpec.podReplacementPolicy',
  },
  'certificates/v1': {
    '[]v1.KeyUsage': 'CertificateSigningRequestSpec.usages',
    'map[string]v1.ExtraValue': 'CertificateSigningRequestSpec.extra',
    'v1.ConditionStatus': 'CertificateSigningRequestCondition.status',
    'v1.RequestConditionType': 'CertificateSigningRequestCondition.type',
  },
  'certificates/v1beta1': {
    'types.NodeName': 'PodCertificateRequestSpec.nodeName',
    'types.UID': 'PodCertificateRequestSpec.nodeUID PodCertificateRequestSpec.podUID PodCertificateRequestSpec.serviceAccountUID',
  },
  'coordination/v1': {
    'v1.CoordinatedLeaseStrategy': 'LeaseSpec.strategy',
  },
  'coordination/v1alpha2': {
    'v1.CoordinatedLeaseStrategy': 'LeaseCandidateSpec.strategy',
  },
  'coordination/v1beta1': {
    'v1.CoordinatedLeaseStrategy': 'LeaseCandidateSpec.strategy',
  },
  'core/v1': {
    '[]v1.Capability': 'Capabilities.add Capabilities.drop',
    '[]v1.FinalizerName': 'NamespaceSpec.finalizers',
    '[]v1.IPFamily': 'ServiceSpec.ipFamilies',
    '[]v1.PersistentVolumeAccessMode':
      'PersistentVolumeClaimSpec.accessModes PersistentVolumeClaimStatus.accessModes PersistentVolumeSpec.accessModes',
    '[]v1.ResourceQuotaScope': 'ResourceQuotaSpec.scopes',
    '[]v1.UniqueVolumeName': 'NodeStatus.volumesInUse',
    'map[v1.ResourceName]v1.ClaimResourceStatus': 'PersistentVolumeClaimStatus.allocatedResourceStatuses',
    'types.UID': 'ConfigMapNodeConfigSource.uid ObjectReference.uid',
    'v1.AppArmorProfileType': 'AppArmorProfile.type',
    'v1.AzureDataDiskCachingMode': 'AzureDiskVolumeSource.cachingMode',
    'v1.AzureDataDiskKind': 'AzureDiskVolumeSource.kind',
    'v1.ComponentConditionType': 'ComponentCondition.type',
    'v1.ConditionStatus':
      'ComponentCondition.status NamespaceCondition.status NodeCondition.status PersistentVolumeClaimCondition.status PodCondition.status ReplicationControllerCondition.status',
    'v1.ContainerRestartPolicy': 'Container.restartPolicy EphemeralContainer.restartPolicy',
    'v1.ContainerRestartRuleAction': 'ContainerRestartRule.action',
    'v1.ContainerRestartRuleOnExitCodesOperator': 'ContainerRestartRuleOnExitCodes.operator',
    'v1.DNSPolicy': 'PodSpec.dnsPolicy',
    'v1.HostPathType': 'HostPathVolumeSource.type',
    'v1.IPFamilyPolicy': 'ServiceSpec.ipFamilyPolicy',
    'v1.LimitType': 'LimitRangeItem.type',
    'v1.LoadBalancerIPMode': 'LoadBalancerIngress.ipMode',
    'v1.MountPropagationMode': 'VolumeMount.mountPropagation',
    'v1.NamespaceConditionType': 'NamespaceCondition.type',
    'v1.NamespacePhase': 'NamespaceStatus.phase',
    'v1.NodeAddressType': 'NodeAddress.type',
    'v1.NodeConditionType': 'NodeCondition.type',
    'v1.NodeInclusionPolicy': 'TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy',
    'v1.NodePhase': 'NodeStatus.phase',
    'v1.NodeSelectorOperator': 'NodeSelectorRequirement.operator',
    'v1.OSName': 'PodOS.name',
    'v1.PersistentVolumeClaimConditionType': 'PersistentVolumeClaimCondition.type',
    'v1.PersistentVolumeClaimModifyVolumeStatus': 'ModifyVolumeStatus.status',
    'v1.PersistentVolumeClaimPhase': 'PersistentVolumeClaimStatus.phase',
    'v1.PersistentVolumeMode': 'PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode',
    'v1.PersistentVolumePhase': 'PersistentVolumeStatus.phase',
    'v1.PersistentVolumeReclaimPolicy': 'PersistentVolumeSpec.persistentVolumeReclaimPolicy',
    'v1.PodConditionType': 'PodCondition.type PodReadinessGate.conditionType',
    'v1.PodFSGroupChangePolicy': 'PodSecurityContext.fsGroupChangePolicy',
    'v1.PodPhase': 'PodStatus.phase',
    'v1.PodQOSClass': 'PodStatus.qosClass',
    'v1.PodResizeStatus': 'PodStatus.resize',
    'v1.PodSELinuxChangePolicy': 'PodSecurityContext.seLinuxChangePolicy',
    'v1.PreemptionPolicy': 'PodSpec.preemptionPolicy',
    'v1.ProcMountType': 'SecurityContext.procMount',
    'v1.Protocol': 'ContainerPort.protocol EndpointPort.protocol PortStatus.protocol ServicePort.protocol',
    'v1.PullPolicy': 'Container.imagePullPolicy EphemeralContainer.imagePullPolicy ImageVolumeSource.pullPolicy',
    'v1.RecursiveReadOnlyMode': 'VolumeMount.recursiveReadOnly VolumeMountStatus.recursiveReadOnly',
    'v1.ReplicationControllerConditionType': 'ReplicationControllerCondition.type',
    'v1.ResourceHealthStatus': 'ResourceHealth.health',
    'v1.ResourceID': 'ResourceHealth.resourceID',
    'v1.ResourceList':
      'ContainerStatus.allocatedResources LimitRangeItem.default LimitRangeItem.defaultRequest LimitRangeItem.max LimitRangeItem.maxLimitRequestRatio LimitRangeItem.min NodeStatus.allocatable NodeStatus.capacity PersistentVolumeClaimStatus.allocatedResources PersistentVolumeClaimStatus.capacity PersistentVolumeSpec.capacity PodSpec.overhead PodStatus.allocatedResources ResourceQuotaSpec.hard ResourceQuotaStatus.hard ResourceQuotaStatus.used ResourceRequirements.limits ResourceRequirements.requests VolumeResourceRequirements.limits VolumeResourceRequirements.requests',
    'v1.ResourceName': 'ContainerResizePolicy.resourceName ResourceStatus.name',
    'v1.ResourceQuotaScope': 'ScopedResourceSelectorRequirement.scopeName',
    'v1.ResourceResizeRestartPolicy': 'ContainerResizePolicy.restartPolicy',
    'v1.RestartPolicy': 'PodSpec.restartPolicy',
    'v1.ScopeSelectorOperator': 'ScopedResourceSelectorRequirement.operator',
    'v1.SeccompProfileType': 'SeccompProfile.type',
    'v1.SecretType': 'Secret.type',
    'v1.ServiceAffinity': 'ServiceSpec.sessionAffinity',
    'v1.ServiceExternalTrafficPolicy': 'ServiceSpec.externalTrafficPolicy',
    'v1.ServiceInternalTrafficPolicy': 'ServiceSpec.internalTrafficPolicy',
    'v1.ServiceType': 'ServiceSpec.type',
    'v1.Signal': 'ContainerStatus.stopSignal Lifecycle.stopSignal',
    'v1.StorageMedium': 'EmptyDirVolumeSource.medium',
    'v1.SupplementalGroupsPolicy': 'PodSecurityContext.supplementalGroupsPolicy',
    'v1.TaintEffect': 'Taint.effect Toleration.effect',
    'v1.TerminationMessagePolicy': 'Container.terminationMessagePolicy EphemeralContainer.terminationMessagePolicy',
    'v1.TolerationOperator': 'Toleration.operator',
    'v1.URIScheme': 'HTTPGetAction.scheme',
    'v1.UniqueVolumeName': 'AttachedVolume.name',
    'v1.UnsatisfiableConstraintAction': 'TopologySpreadConstraint.whenUnsatisfiable',
  },
  'discovery/v1': {
    'v1.AddressType': 'EndpointSlice.addressType',
    'v1.Protocol': 'EndpointPort.protocol',
  },
  'flowcontrol.apiserver/v1': {
    'v1.ConditionStatus': 'FlowSchemaCondition.status PriorityLevelConfigurationCondition.status',
    'v1.FlowDistinguisherMethodType': 'FlowDistinguisherMethod.type',
    'v1.FlowSchemaConditionType': 'FlowSchemaCondition.type',
    'v1.LimitResponseType': 'LimitResponse.type',
    'v1.PriorityLevelConfigurationConditionType': 'PriorityLevelConfigurationCondition.type',
    'v1.PriorityLevelEnablement': 'PriorityLevelConfigurationSpec.type',
    'v1.SubjectKind': 'Subject.kind',
  },
  'flowcontrol.apiserver/v1beta3': {
    'v1beta3.ConditionStatus': 'FlowSchemaCondition.status PriorityLevelConfigurationCondition.status',
    'v1beta3.FlowDistinguisherMethodType': 'FlowDistinguisherMethod.type',
    'v1beta3.FlowSchemaConditionType': 'FlowSchemaCondition.type',
    'v1beta3.LimitResponseType': 'LimitResponse.type',
    'v1beta3.PriorityLevelConfigurationConditionType': 'PriorityLevelConfigurationCondition.type',
    'v1beta3.PriorityLevelEnablement': 'PriorityLevelConfigurationSpec.type',
    'v1beta3.SubjectKind': 'Subject.kind',
  },
  'internal.apiserver/v1alpha1': {
    'v1alpha1.ConditionStatus': 'StorageVersionCondition.status',
    'v1alpha1.StorageVersionConditionType': 'StorageVersionCondition.type',
  },
  'meta/v1': {
    'types.UID': 'ObjectMeta.uid OwnerReference.uid Preconditions.uid',
    'v1.ConditionStatus': 'Condition.status',
    'v1.DeletionPropagation': 'DeleteOptions.propagationPolicy',
    'v1.FieldSelectorOperator': 'FieldSelectorRequirement.operator',
    'v1.LabelSelectorOperator': 'LabelSelectorRequirement.operator',
    'v1.ManagedFieldsOperationType': 'ManagedFieldsEntry.operation',
  },
  'metrics/v1beta1': {
    'v1.ResourceList': 'ContainerMetrics.usage NodeMetrics.usage',
  },
  'networking/v1': {
    '[]v1.PolicyType': 'NetworkPolicySpec.policyTypes',
    'v1.PathType': 'HTTPIngressPath.pathType',
    'v1.Protocol': 'IngressPortStatus.protocol NetworkPolicyPort.protocol',
  },
  'node/v1': {
    'v1.ResourceList': 'Overhead.podFixed',
  },
  'policy/v1': {
    'map[string]v1.Time': 'PodDisruptionBudgetStatus.disruptedPods',
    'v1.UnhealthyPodEvictionPolicyType': 'PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy',
  },
  'resource/v1': {
    '[]resource.Quantity': 'CapacityRequestPolicy.validValues',
    'map[v1.QualifiedName]resource.Quantity': 'CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity',
    'map[v1.QualifiedName]v1.DeviceAttribute': 'Device.attributes',
    'map[v1.QualifiedName]v1.DeviceCapacity': 'Device.capacity',
    'types.UID': 'DeviceRequestAllocationResult.shareID ResourceClaimConsumerReference.uid',
    'v1.AllocationConfigSource': 'DeviceAllocationConfiguration.source',
    'v1.DeviceAllocationMode': 'DeviceSubRequest.allocationMode ExactDeviceRequest.allocationMode',
    'v1.DeviceTaintEffect': 'DeviceTaint.effect DeviceToleration.effect',
    'v1.DeviceTolerationOperator': 'DeviceToleration.operator',
    'v1.FullyQualifiedName': 'DeviceConstraint.distinctAttribute DeviceConstraint.matchAttribute',
  },
  'resource/v1alpha3': {
    'v1alpha3.DeviceTaintEffect': 'DeviceTaint.effect',
  },
  'resource/v1beta1': {
    '[]resource.Quantity': 'CapacityRequestPolicy.validValues',
    'map[v1beta1.QualifiedName]resource.Quantity': 'CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity',
    'map[v1beta1.QualifiedName]v1beta1.DeviceAttribute': 'BasicDevice.attributes',
    'map[v1beta1.QualifiedName]v1beta1.DeviceCapacity': 'BasicDevice.capacity',
    'types.UID': 'DeviceRequestAllocationResult.shareID ResourceClaimConsumerReference.uid',
    'v1beta1.AllocationConfigSource': 'DeviceAllocationConfiguration.source',
    'v1beta1.DeviceAllocationMode': 'DeviceRequest.allocationMode DeviceSubRequest.allocationMode',
    'v1beta1.DeviceTaintEffect': 'DeviceTaint.effect DeviceToleration.effect',
    'v1beta1.DeviceTolerationOperator': 'DeviceToleration.operator',
    'v1beta1.FullyQualifiedName': 'DeviceConstraint.distinctAttribute DeviceConstraint.matchAttribute',
  },
  'resource/v1beta2': {
    '[]resource.Quantity': 'CapacityRequestPolicy.validValues',
    'map[v1beta2.QualifiedName]resource.Quantity': 'CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity',
    'map[v1beta2.QualifiedName]v1beta2.DeviceAttribute': 'Device.attributes',
    'map[v1beta2.QualifiedName]v1beta2.DeviceCapacity': 'Device.capacity',
    'types.UID': 'DeviceRequestAllocationResult.shareID ResourceClaimConsumerReference.uid',
    'v1beta2.AllocationConfigSource': 'DeviceAllocationConfiguration.source',
    'v1beta2.DeviceAllocationMode': 'DeviceSubRequest.allocationMode ExactDeviceRequest.allocationMode',
    'v1beta2.DeviceTaintEffect': 'DeviceTaint.effect DeviceToleration.effect',
    'v1beta2.DeviceTolerationOperator': 'DeviceToleration.operator',
    'v1beta2.FullyQualifiedName': 'DeviceConstraint.distinctAttribute DeviceConstraint.matchAttribute',
  },
  'scheduling/v1': {
    'v1.PreemptionPolicy': 'PriorityClass.preemptionPolicy',
  },
  'storage/v1': {
    '[]v1.VolumeLifecycleMode': 'CSIDriverSpec.volumeLifecycleModes',
    'v1.FSGroupPolicy': 'CSIDriverSpec.fsGroupPolicy',
    'v1.PersistentVolumeReclaimPolicy': 'StorageClass.reclaimPolicy',
    'v1.VolumeBindingMode': 'StorageClass.volumeBindingMode',
  },
};

const read = new Map<string, ReadonlyMap<string, string>>();

const namesOf = (groupVersion: string): ReadonlyMap<string, string> => {
  const names = new Map(
    Object.entries(goNames[groupVersion] ?? {}).flatMap(([name, fields]) =>
      fields.split(' ').map((field): [string, string] => [field, name]),
    ),
  );
  read.set(groupVersion, names);
  return names;
};

/**
 * Returns the Go name of a field's type for error texts; undefined if it has no name of its own. Called only once there
 * is an error.
 */
export const goName = (struct: TypeRef | undefined, field: string): string | undefined => {
  if (!struct) return undefined;
  const groupVersion = `${struct.group || 'core'}/${struct.version}`;
  return (read.get(groupVersion) ?? namesOf(groupVersion)).get(`${struct.name}.${field}`);
};

/** Structs that Go embeds, and the fields that remain those of the outer struct. */
const embedded: Readonly<Record<string, readonly [within: string, own: string]>> = {
  NamedRuleWithOperations: ['RuleWithOperations', 'resourceNames'],
  RuleWithOperations: ['Rule', 'operations'],
  ConfigMapEnvSource: ['LocalObjectReference', 'optional'],
  ConfigMapKeySelector: ['LocalObjectReference', 'key optional'],
  ConfigMapProjection: ['LocalObjectReference', 'items optional'],
  ConfigMapVolumeSource: ['LocalObjectReference', 'items defaultMode optional'],
  EphemeralContainer: ['EphemeralContainerCommon', 'targetContainerName'],
  PersistentVolumeClaim: ['TypeMeta', 'metadata spec status'],
  PersistentVolumeSpec: [
    'PersistentVolumeSource',
    'capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions volumeMode nodeAffinity volumeAttributesClassName',
  ],
  Probe: [
    'ProbeHandler',
    'initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold terminationGracePeriodSeconds',
  ],
  SecretEnvSource: ['LocalObjectReference', 'optional'],
  SecretKeySelector: ['LocalObjectReference', 'key optional'],
  SecretProjection: ['LocalObjectReference', 'items optional'],
  Volume: ['VolumeSource', 'name'],
  IngressRule: ['IngressRuleValue', 'host'],
  DeviceAllocationConfiguration: ['DeviceConfiguration', 'source requests'],
  DeviceClaimConfiguration: ['DeviceConfiguration', 'requests'],
  DeviceClassConfiguration: ['DeviceConfiguration', ''],
};

/**
 * Returns the embedded structs between a struct and one of its fields, outermost first, as paths in error texts name
 * them.
 */
export const embeddedOf = (struct: TypeRef | undefined, field: string): readonly string[] => {
  const found = struct && Object.hasOwn(embedded, struct.name) ? embedded[struct.name] : undefined;
  if (!struct || !found || found[1].split(' ').includes(field)) return [];
  return [found[0], ...embeddedOf({...struct, name: found[0]}, field)];
};
