import {formatDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import {optionName, type FlagRow} from '#src/options/flag.js';
import {controllerManagerFlags, type ControllerManagerOptions} from '#src/options/controller-manager.js';

/** The source of a field's value: a flag, or nested fields. */
interface ConfigurationFields {
  readonly [field: string]: keyof (typeof controllerManagerFlags)['rows'] | ConfigurationFields;
}

const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const pairOf = (pair: 'plat-apiserver-client' | 'platlet-client' | 'platlet-serving' | 'legacy-unknown'): ConfigurationFields => ({
  CertFile: `cluster-signing-${pair}-cert-file`,
  KeyFile: `cluster-signing-${pair}-key-file`,
});

const generic: ConfigurationFields = {
  Port: 'secure-port',
  Address: 'bind-address',
  MinResyncPeriod: 'min-resync-period',
  ClientConnection: {Kubeconfig: 'platconfig', ContentType: 'plat-api-content-type', QPS: 'plat-api-qps', Burst: 'plat-api-burst'},
  ControllerStartInterval: 'controller-start-interval',
  LeaderElection: {
    LeaderElect: 'leader-elect',
    LeaseDuration: 'leader-elect-lease-duration',
    RenewDeadline: 'leader-elect-renew-deadline',
    RetryPeriod: 'leader-elect-retry-period',
    ResourceLock: 'leader-elect-resource-lock',
    ResourceName: 'leader-elect-resource-name',
    ResourceNamespace: 'leader-elect-resource-namespace',
  },
  Controllers: 'controllers',
  Debugging: {EnableProfiling: 'profiling', EnableContentionProfiling: 'contention-profiling'},
  LeaderMigrationEnabled: 'enable-leader-migration',
  LeaderMigration: {ConfigFile: 'leader-migration-config'},
};

const cloudShared: ConfigurationFields = {
  CloudProvider: {Name: 'cloud-provider', CloudConfigFile: 'cloud-config'},
  ExternalCloudVolumePlugin: 'external-cloud-volume-plugin',
  UseServiceAccountCredentials: 'use-service-account-credentials',
  RouteReconciliationPeriod: 'route-reconciliation-period',
  NodeMonitorPeriod: 'node-monitor-period',
  ClusterName: 'cluster-name',
  ClusterCIDR: 'cluster-cidr',
  AllocateNodeCIDRs: 'allocate-node-cidrs',
  CIDRAllocatorType: 'cidr-allocator-type',
  ConfigureCloudRoutes: 'configure-cloud-routes',
};

/** One section per controller, in alphabetical order. */
const sectionsOf = (naming: Naming): ConfigurationFields => ({
  AttachDetachController: {
    DisableAttachDetachReconcilerSync: 'disable-attach-detach-reconcile-sync',
    ReconcilerSyncLoopPeriod: 'attach-detach-reconcile-sync-period',
    DisableForceDetachOnTimeout: 'disable-force-detach-on-timeout',
  },
  CSRSigningController: {
    ClusterSigningCertFile: 'cluster-signing-cert-file',
    ClusterSigningKeyFile: 'cluster-signing-key-file',
    [`${capitalised(naming.agent)}ServingSignerConfiguration`]: pairOf('platlet-serving'),
    [`${capitalised(naming.agent)}ClientSignerConfiguration`]: pairOf('platlet-client'),
    [`${capitalised(naming.prefix)}APIServerClientSignerConfiguration`]: pairOf('plat-apiserver-client'),
    LegacyUnknownSignerConfiguration: pairOf('legacy-unknown'),
    ClusterSigningDuration: 'cluster-signing-duration',
  },
  CronJobController: {ConcurrentCronJobSyncs: 'concurrent-cron-job-syncs'},
  DaemonSetController: {ConcurrentDaemonSetSyncs: 'concurrent-daemonset-syncs'},
  DeploymentController: {ConcurrentDeploymentSyncs: 'concurrent-deployment-syncs'},
  DeviceTaintEvictionController: {ConcurrentSyncs: 'concurrent-device-taint-eviction-syncs'},
  EndpointController: {ConcurrentEndpointSyncs: 'concurrent-endpoint-syncs', EndpointUpdatesBatchPeriod: 'endpoint-updates-batch-period'},
  EndpointSliceController: {
    ConcurrentServiceEndpointSyncs: 'concurrent-service-endpoint-syncs',
    MaxEndpointsPerSlice: 'max-endpoints-per-slice',
    EndpointUpdatesBatchPeriod: 'endpointslice-updates-batch-period',
  },
  EndpointSliceMirroringController: {
    MirroringConcurrentServiceEndpointSyncs: 'mirroring-concurrent-service-endpoint-syncs',
    MirroringMaxEndpointsPerSubset: 'mirroring-max-endpoints-per-subset',
    MirroringEndpointUpdatesBatchPeriod: 'mirroring-endpointslice-updates-batch-period',
  },
  EphemeralVolumeController: {ConcurrentEphemeralVolumeSyncs: 'concurrent-ephemeralvolume-syncs'},
  GarbageCollectorController: {EnableGarbageCollector: 'enable-garbage-collector', ConcurrentGCSyncs: 'concurrent-gc-syncs'},
  HPAController: {
    ConcurrentHorizontalPodAutoscalerSyncs: 'concurrent-horizontal-pod-autoscaler-syncs',
    HorizontalPodAutoscalerSyncPeriod: 'horizontal-pod-autoscaler-sync-period',
    HorizontalPodAutoscalerDownscaleStabilizationWindow: 'horizontal-pod-autoscaler-downscale-stabilization',
    HorizontalPodAutoscalerTolerance: 'horizontal-pod-autoscaler-tolerance',
    HorizontalPodAutoscalerCPUInitializationPeriod: 'horizontal-pod-autoscaler-cpu-initialization-period',
    HorizontalPodAutoscalerInitialReadinessDelay: 'horizontal-pod-autoscaler-initial-readiness-delay',
  },
  JobController: {ConcurrentJobSyncs: 'concurrent-job-syncs'},
  LegacySATokenCleaner: {CleanUpPeriod: 'legacy-service-account-token-clean-up-period'},
  NamespaceController: {NamespaceSyncPeriod: 'namespace-sync-period', ConcurrentNamespaceSyncs: 'concurrent-namespace-syncs'},
  NodeIPAMController: {
    ServiceCIDR: 'service-cluster-ip-range',
    NodeCIDRMaskSize: 'node-cidr-mask-size',
    NodeCIDRMaskSizeIPv4: 'node-cidr-mask-size-ipv4',
    NodeCIDRMaskSizeIPv6: 'node-cidr-mask-size-ipv6',
  },
  NodeLifecycleController: {
    NodeEvictionRate: 'node-eviction-rate',
    SecondaryNodeEvictionRate: 'secondary-node-eviction-rate',
    NodeStartupGracePeriod: 'node-startup-grace-period',
    NodeMonitorGracePeriod: 'node-monitor-grace-period',
    LargeClusterSizeThreshold: 'large-cluster-size-threshold',
    UnhealthyZoneThreshold: 'unhealthy-zone-threshold',
  },
  PersistentVolumeBinderController: {
    PVClaimBinderSyncPeriod: 'pvclaimbinder-sync-period',
    VolumeConfiguration: {
      EnableHostPathProvisioning: 'enable-hostpath-provisioner',
      EnableDynamicProvisioning: 'enable-dynamic-provisioning',
      FlexVolumePluginDir: 'flex-volume-plugin-dir',
    },
  },
  PodGCController: {TerminatedPodGCThreshold: 'terminated-pod-gc-threshold'},
  ReplicaSetController: {ConcurrentRSSyncs: 'concurrent-replicaset-syncs'},
  ReplicationController: {ConcurrentRCSyncs: 'concurrent-rc-syncs'},
  ResourceQuotaController: {
    ResourceQuotaSyncPeriod: 'resource-quota-sync-period',
    ConcurrentResourceQuotaSyncs: 'concurrent-resource-quota-syncs',
  },
  SAController: {
    ServiceAccountKeyFile: 'service-account-private-key-file',
    ConcurrentSATokenSyncs: 'concurrent-serviceaccount-token-syncs',
    RootCAFile: 'root-ca-file',
  },
  ServiceController: {ConcurrentServiceSyncs: 'concurrent-service-syncs'},
  StatefulSetController: {ConcurrentStatefulSetSyncs: 'concurrent-statefulset-syncs'},
  TTLAfterFinishedController: {ConcurrentTTLSyncs: 'concurrent-ttl-after-finished-syncs'},
  ValidatingAdmissionPolicyStatusController: {ConcurrentPolicySyncs: 'concurrent-validating-admission-policy-status-syncs'},
});

const rows: Readonly<Record<string, FlagRow>> = controllerManagerFlags.rows;

const filled = (fields: ConfigurationFields, options: ControllerManagerOptions): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([field, from]) => [field, typeof from === 'string' ? valueOf(from, options) : filled(from, options)]),
  );

const valueOf = (flag: string, options: ControllerManagerOptions): unknown => {
  const value = (options as unknown as Readonly<Record<string, unknown>>)[optionName(flag)];
  return rows[flag]?.type === 'duration' ? formatDuration(value as number) : value;
};

/** The effective configuration for `/configz`: grouped as upstream, with durations as text. */
export const configuration = (options: ControllerManagerOptions, naming: Naming): Readonly<Record<string, unknown>> => ({
  [`${naming.prefix}controllermanager.${naming.group('config')}`]: {
    Generic: filled(generic, options),
    [`${capitalised(naming.prefix)}CloudShared`]: filled(cloudShared, options),
    ...filled(sectionsOf(naming), options),
  },
});
