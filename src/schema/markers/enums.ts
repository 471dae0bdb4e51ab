/** The stop signals of containers. */
const signals =
  'SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ';

/**
 * The enum values of fields by group, as documents list them; for lists and maps, those of their items. Enforcing them
 * is left to each field's validation.
 */
const enums: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    'Localhost|RuntimeDefault|Unconfined': 'AppArmorProfile.type SeccompProfile.type',
    'None|ReadOnly|ReadWrite': 'AzureDiskVolumeSource.cachingMode',
    'Dedicated|Managed|Shared': 'AzureDiskVolumeSource.kind',
    'Always|IfNotPresent|Never': 'Container.imagePullPolicy EphemeralContainer.imagePullPolicy ImageVolumeSource.pullPolicy',
    'FallbackToLogsOnError|File': 'Container.terminationMessagePolicy EphemeralContainer.terminationMessagePolicy',
    'SCTP|TCP|UDP': 'ContainerPort.protocol EndpointPort.protocol PortStatus.protocol ServicePort.protocol',
    [signals]: 'ContainerStatus.stopSignal Lifecycle.stopSignal',
    'HTTP|HTTPS': 'HTTPGetAction.scheme',
    '|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket': 'HostPathVolumeSource.type',
    'InProgress|Infeasible|Pending': 'ModifyVolumeStatus.status',
    'Active|Terminating': 'NamespaceStatus.phase',
    'DoesNotExist|Exists|Gt|In|Lt|NotIn': 'NodeSelectorRequirement.operator',
    'Pending|Running|Terminated': 'NodeStatus.phase',
    'ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod':
      'PersistentVolumeClaimSpec.accessModes PersistentVolumeClaimStatus.accessModes PersistentVolumeSpec.accessModes',
    'Block|Filesystem': 'PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode',
    'ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending':
      'PersistentVolumeClaimStatus.allocatedResourceStatuses',
    'Bound|Lost|Pending': 'PersistentVolumeClaimStatus.phase',
    'Delete|Recycle|Retain': 'PersistentVolumeSpec.persistentVolumeReclaimPolicy',
    'Available|Bound|Failed|Pending|Released': 'PersistentVolumeStatus.phase',
    'Always|OnRootMismatch': 'PodSecurityContext.fsGroupChangePolicy',
    'Merge|Strict': 'PodSecurityContext.supplementalGroupsPolicy',
    'ClusterFirst|ClusterFirstWithHostNet|Default|None': 'PodSpec.dnsPolicy',
    'Never|PreemptLowerPriority': 'PodSpec.preemptionPolicy',
    'Always|Never|OnFailure': 'PodSpec.restartPolicy',
    'Failed|Pending|Running|Succeeded|Unknown': 'PodStatus.phase',
    'BestEffort|Burstable|Guaranteed': 'PodStatus.qosClass',
    'BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass':
      'ResourceQuotaSpec.scopes ScopedResourceSelectorRequirement.scopeName',
    'DoesNotExist|Exists|In|NotIn': 'ScopedResourceSelectorRequirement.operator',
    'Default|Unmasked': 'SecurityContext.procMount',
    'Cluster|Local': 'ServiceSpec.externalTrafficPolicy ServiceSpec.internalTrafficPolicy',
    '|IPv4|IPv6': 'ServiceSpec.ipFamilies',
    'PreferDualStack|RequireDualStack|SingleStack': 'ServiceSpec.ipFamilyPolicy',
    'ClientIP|None': 'ServiceSpec.sessionAffinity',
    'ClusterIP|ExternalName|LoadBalancer|NodePort': 'ServiceSpec.type',
    'NoExecute|NoSchedule|PreferNoSchedule': 'Taint.effect Toleration.effect',
    'Equal|Exists|Gt|Lt': 'Toleration.operator',
    'Honor|Ignore': 'TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy',
    'DoNotSchedule|ScheduleAnyway': 'TopologySpreadConstraint.whenUnsatisfiable',
    'Bidirectional|HostToContainer|None': 'VolumeMount.mountPropagation',
  },
  admissionregistration: {
    'Equivalent|Exact': 'MatchResources.matchPolicy MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy',
    'Fail|Ignore': 'MutatingWebhook.failurePolicy ValidatingAdmissionPolicySpec.failurePolicy ValidatingWebhook.failurePolicy',
    'IfNeeded|Never': 'MutatingWebhook.reinvocationPolicy',
    'None|NoneOnDryRun|Some|Unknown': 'MutatingWebhook.sideEffects ValidatingWebhook.sideEffects',
    '*|CONNECT|CREATE|DELETE|UPDATE': 'NamedRuleWithOperations.operations RuleWithOperations.operations',
    '*|Cluster|Namespaced': 'NamedRuleWithOperations.scope RuleWithOperations.scope',
    'Audit|Deny|Warn': 'ValidatingAdmissionPolicyBindingSpec.validationActions',
  },
  apiextensions: {
    'FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired': 'ValidationRule.reason',
  },
  apps: {
    'OnDelete|RollingUpdate': 'DaemonSetUpdateStrategy.type StatefulSetUpdateStrategy.type',
    'Recreate|RollingUpdate': 'DeploymentStrategy.type',
    'OrderedReady|Parallel': 'StatefulSetSpec.podManagementPolicy',
  },
  batch: {
    'Allow|Forbid|Replace': 'CronJobSpec.concurrencyPolicy',
    'Indexed|NonIndexed': 'JobSpec.completionMode',
    'Failed|TerminatingOrFailed': 'JobSpec.podReplacementPolicy',
    'In|NotIn': 'PodFailurePolicyOnExitCodesRequirement.operator',
    'Count|FailIndex|FailJob|Ignore': 'PodFailurePolicyRule.action',
  },
  certificates: {
    'any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|timestamping':
      'CertificateSigningRequestSpec.usages',
  },
  discovery: {
    'SCTP|TCP|UDP': 'EndpointPort.protocol',
    'FQDN|IPv4|IPv6': 'EndpointSlice.addressType',
  },
  networking: {
    'Exact|ImplementationSpecific|Prefix': 'HTTPIngressPath.pathType',
    'SCTP|TCP|UDP': 'IngressPortStatus.protocol NetworkPolicyPort.protocol',
    'Egress|Ingress': 'NetworkPolicySpec.policyTypes',
  },
  policy: {
    'AlwaysAllow|IfHealthyBudget': 'PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy',
  },
  resource: {
    'FromClaim|FromClass': 'DeviceAllocationConfiguration.source',
    'All|ExactCount': 'DeviceSubRequest.allocationMode ExactDeviceRequest.allocationMode',
    'NoExecute|NoSchedule|None': 'DeviceTaint.effect DeviceToleration.effect',
    'Equal|Exists': 'DeviceToleration.operator',
  },
  scheduling: {
    'Never|PreemptLowerPriority': 'PriorityClass.preemptionPolicy',
  },
  storage: {
    'Delete|Recycle|Retain': 'StorageClass.reclaimPolicy',
    'Immediate|WaitForFirstConsumer': 'StorageClass.volumeBindingMode',
  },
};

const byGroup = new Map<string, ReadonlyMap<string, readonly string[]>>();

/** Returns the enum values of a field; undefined if it has none. */
export const enumOf = (group: string, type: string, field: string): readonly string[] | undefined => {
  let fields = byGroup.get(group);
  if (!fields) {
    const table = Object.entries(Object.hasOwn(enums, group) ? enums[group]! : {});
    byGroup.set(
      group,
      (fields = new Map(table.flatMap(([texts, names]) => names.split(' ').map(name => [name, texts.split('|')] as const)))),
    );
  }
  return fields.get(`${type}.${field}`);
};
