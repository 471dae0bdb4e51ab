// The feature gates as data: by release, with the reason for gates without effect. They are evaluated in
// feature-gates.ts.

import type {EmulatedVersion} from './versions.js';

export type GateStage = 'alpha' | 'beta' | 'stable' | 'deprecated';

/** The state of a gate in one release; undefined before it was introduced. */
export interface GateState {
  readonly stage: GateStage;
  readonly default: boolean;
  readonly locked?: true;
}

export interface GateRow {
  /** By release: 1.32 to 1.35. */
  readonly at: Readonly<Record<EmulatedVersion, GateState | undefined>>;
  /**
   * Why the gate has no effect: no code reads it. test/options/gate-asks.test.ts checks that gates without a reason are
   * read and those with one are not.
   */
  readonly reason?: string;
}

type Cells = readonly [GateState | undefined, GateState | undefined, GateState | undefined, GateState | undefined];

const absent = undefined;
const alpha: GateState = {stage: 'alpha', default: false};
const beta: GateState = {stage: 'beta', default: false};
const betaOn: GateState = {stage: 'beta', default: true};
const locked: GateState = {stage: 'stable', default: true, locked: true};
const stableOff: GateState = {stage: 'stable', default: false};
const deprecated: GateState = {stage: 'deprecated', default: false};
const deprecatedOn: GateState = {stage: 'deprecated', default: true};

const rowsOf = <K extends string>(cells: Readonly<Record<K, Cells>>, rest: {readonly reason?: string}): Readonly<Record<K, GateRow>> =>
  Object.fromEntries(
    Object.entries<Cells>(cells).map(([name, [at32, at33, at34, at35]]) => [
      name,
      {at: {'1.32': at32, '1.33': at33, '1.34': at34, '1.35': at35}, ...rest},
    ]),
  ) as unknown as Readonly<Record<K, GateRow>>;

const effective = <const K extends string>(cells: Readonly<Record<K, Cells>>) => rowsOf(cells, {});
const withoutEffect = <const K extends string>(reason: string, cells: Readonly<Record<K, Cells>>) => rowsOf(cells, {reason});

/**
 * All feature gates: stage and default in each release that can be emulated, and the reason for gates that no code
 * reads. The history is upstream's, with names in the neutral naming.
 */
export const gateTable = {
  ...effective({
    AllAlpha: [alpha, alpha, alpha, alpha],
    AllBeta: [beta, beta, beta, beta],
    AllowDNSOnlyNodeCSR: [deprecated, deprecated, deprecated, deprecated],
    AllowInsecurePlatletCertificateSigningRequests: [deprecated, deprecated, deprecated, deprecated],
    AllowParsingUserUIDFromCertAuth: [absent, betaOn, betaOn, betaOn],
    AllowUnsafeMalformedObjectDeletion: [alpha, alpha, alpha, alpha],
    APIServerIdentity: [betaOn, betaOn, betaOn, betaOn],
    AuthorizePodWebsocketUpgradeCreatePermission: [absent, absent, absent, betaOn],
    CBORServingAndStorage: [alpha, alpha, alpha, alpha],
    ClearingNominatedNodeNameAfterBinding: [absent, absent, alpha, betaOn],
    ClientsAllowCBOR: [alpha, alpha, alpha, alpha],
    ClientsPreferCBOR: [alpha, alpha, alpha, alpha],
    CloudControllerManagerWatchBasedRoutesReconciliation: [absent, absent, absent, alpha],
    ClusterTrustBundle: [alpha, beta, beta, beta],
    ClusterTrustBundleProjection: [alpha, beta, beta, beta],
    ComponentFlagz: [alpha, alpha, alpha, alpha],
    ComponentStatusz: [alpha, alpha, alpha, alpha],
    ConstrainedImpersonation: [absent, absent, absent, alpha],
    ContainerCheckpoint: [betaOn, betaOn, betaOn, betaOn],
    ContainerRestartRules: [absent, absent, alpha, betaOn],
    ContainerStopSignals: [absent, alpha, alpha, alpha],
    CoordinatedLeaderElection: [alpha, beta, beta, beta],
    CRDObservedGenerationTracking: [absent, absent, absent, beta],
    CPUManagerPolicyAlphaOptions: [alpha, alpha, alpha, alpha],
    CPUManagerPolicyBetaOptions: [betaOn, betaOn, betaOn, betaOn],
    CrossNamespaceVolumeDataSource: [alpha, alpha, alpha, alpha],
    CSIServiceAccountTokenSecrets: [absent, absent, absent, betaOn],
    CSIVolumeHealth: [alpha, alpha, alpha, alpha],
    CustomCPUCFSQuotaPeriod: [alpha, alpha, alpha, alpha],
    DeploymentReplicaSetTerminatingReplicas: [absent, alpha, alpha, betaOn],
    DisableCPUQuotaWithExclusiveCPUs: [absent, betaOn, betaOn, betaOn],
    DRAAdminAccess: [alpha, alpha, betaOn, betaOn],
    DRAConsumableCapacity: [absent, absent, alpha, alpha],
    DRADeviceBindingConditions: [absent, absent, alpha, alpha],
    DRADeviceTaintRules: [absent, absent, absent, alpha],
    DRADeviceTaints: [absent, alpha, alpha, alpha],
    DRAExtendedResource: [absent, absent, alpha, alpha],
    DRAPartitionableDevices: [absent, alpha, alpha, alpha],
    DRAPrioritizedList: [absent, alpha, betaOn, betaOn],
    DRAResourceClaimDeviceStatus: [alpha, betaOn, betaOn, betaOn],
    DRASchedulerFilterTimeout: [absent, absent, betaOn, betaOn],
    EnvFiles: [absent, absent, alpha, betaOn],
    ExternalServiceAccountTokenSigner: [alpha, alpha, betaOn, betaOn],
    EventedPLEG: [alpha, alpha, alpha, alpha],
    GangScheduling: [absent, absent, absent, alpha],
    GenericWorkload: [absent, absent, absent, alpha],
    GracefulNodeShutdown: [betaOn, betaOn, betaOn, betaOn],
    GracefulNodeShutdownBasedOnPodPriority: [betaOn, betaOn, betaOn, betaOn],
    HostnameOverride: [absent, absent, alpha, betaOn],
    HPAConfigurableTolerance: [absent, alpha, alpha, betaOn],
    HPAScaleToZero: [alpha, alpha, alpha, alpha],
    ImageVolume: [alpha, beta, beta, betaOn],
    InPlacePodLevelResourcesVerticalScaling: [absent, absent, absent, alpha],
    InPlacePodVerticalScalingExclusiveCPUs: [alpha, alpha, alpha, alpha],
    InPlacePodVerticalScalingExclusiveMemory: [absent, absent, alpha, alpha],
    LoggingAlphaOptions: [alpha, alpha, alpha, alpha],
    LoggingBetaOptions: [betaOn, betaOn, betaOn, betaOn],
    MatchLabelKeysInPodTopologySpread: [betaOn, betaOn, betaOn, betaOn],
    MatchLabelKeysInPodTopologySpreadSelectorMerge: [absent, absent, betaOn, betaOn],
    MaxUnavailableStatefulSet: [alpha, alpha, alpha, beta],
    MemoryQoS: [alpha, alpha, alpha, alpha],
    MutableCSINodeAllocatableCount: [absent, alpha, beta, betaOn],
    MutablePodResourcesForSuspendedJobs: [absent, absent, absent, alpha],
    MutablePVNodeAffinity: [absent, absent, absent, alpha],
    MutableSchedulingDirectivesForSuspendedJobs: [absent, absent, absent, alpha],
    KMSv1: [deprecated, deprecated, deprecated, deprecated],
    MutatingAdmissionPolicy: [alpha, alpha, beta, beta],
    NodeDeclaredFeatures: [absent, absent, absent, alpha],
    NodeLogQuery: [beta, beta, beta, beta],
    NominatedNodeNameForExpectation: [absent, absent, alpha, betaOn],
    OpenAPIEnums: [betaOn, betaOn, betaOn, betaOn],
    OpportunisticBatching: [absent, absent, absent, betaOn],
    PlatletCrashLoopBackOffMax: [alpha, alpha, alpha, betaOn],
    PlatletFineGrainedAuthz: [alpha, betaOn, betaOn, betaOn],
    PlatletServiceAccountTokenForCredentialProviders: [absent, alpha, betaOn, betaOn],
    PlatletInUserNamespace: [alpha, alpha, alpha, alpha],
    PlatletPodResourcesDynamicResources: [alpha, alpha, betaOn, betaOn],
    PlatletPodResourcesGet: [alpha, alpha, betaOn, betaOn],
    PlatletPodResourcesListUseActivePods: [stableOff, stableOff, deprecatedOn, deprecatedOn],
    PlatletPSI: [absent, alpha, betaOn, betaOn],
    PlatletRegistrationGetOnExistsOnly: [deprecated, deprecated, deprecated, deprecated],
    PodCertificateRequest: [absent, absent, alpha, beta],
    PodDeletionCost: [betaOn, betaOn, betaOn, betaOn],
    PodLevelResources: [alpha, alpha, betaOn, betaOn],
    PodLogsQuerySplitStreams: [alpha, alpha, alpha, alpha],
    PodReadyToStartContainersCondition: [betaOn, betaOn, betaOn, betaOn],
    PodTopologyLabelsAdmission: [absent, alpha, alpha, betaOn],
    PortForwardWebsockets: [betaOn, betaOn, betaOn, betaOn],
    PlatletEnsureSecretPulledImages: [absent, alpha, alpha, betaOn],
    PlatletSeparateDiskGC: [betaOn, betaOn, betaOn, betaOn],
    PreventStaticPodAPIReferences: [absent, absent, betaOn, betaOn],
    ProcMountType: [beta, betaOn, betaOn, betaOn],
    QOSReserved: [alpha, alpha, alpha, alpha],
    ReduceDefaultCrashLoopBackOffDecay: [absent, alpha, alpha, alpha],
    RelaxedServiceNameValidation: [absent, absent, alpha, alpha],
    ReloadPlatletServerCertificateFile: [betaOn, betaOn, betaOn, betaOn],
    RemoteRequestHeaderUID: [alpha, betaOn, betaOn, betaOn],
    ResourceHealthStatus: [alpha, alpha, alpha, alpha],
    RestartAllContainersOnContainerExits: [absent, absent, absent, alpha],
    RotatePlatletServerCertificate: [betaOn, betaOn, betaOn, betaOn],
    RuntimeClassInImageCriApi: [alpha, alpha, alpha, alpha],
    SchedulerPopFromBackoffQ: [absent, betaOn, betaOn, betaOn],
    SELinuxChangePolicy: [alpha, betaOn, betaOn, betaOn],
    SELinuxMount: [alpha, beta, beta, beta],
    SELinuxMountReadWriteOncePod: [betaOn, betaOn, betaOn, betaOn],
    ServiceAccountNodeAudienceRestriction: [beta, betaOn, betaOn, betaOn],
    SizeBasedListCostEstimate: [absent, absent, betaOn, betaOn],
    StatefulSetSemanticRevisionComparison: [betaOn, betaOn, betaOn, betaOn],
    StorageCapacityScoring: [absent, alpha, alpha, alpha],
    StorageVersionAPI: [alpha, alpha, alpha, alpha],
    StorageVersionHash: [betaOn, betaOn, betaOn, betaOn],
    StorageVersionMigrator: [alpha, alpha, alpha, beta],
    StrictIPCIDRValidation: [absent, alpha, alpha, alpha],
    StructuredAuthenticationConfiguration: [betaOn, betaOn, locked, locked],
    StructuredAuthenticationConfigurationEgressSelector: [absent, absent, betaOn, betaOn],
    StructuredAuthenticationConfigurationJWKSMetrics: [absent, absent, absent, betaOn],
    StructuredAuthorizationConfiguration: [locked, locked, locked, locked],
    TaintTolerationComparisonOperators: [absent, absent, absent, alpha],
    TokenRequestServiceAccountUIDValidation: [absent, absent, betaOn, betaOn],
    TranslateStreamCloseWebsocketRequests: [betaOn, betaOn, betaOn, betaOn],
    UnauthenticatedHTTP2DOSMitigation: [betaOn, betaOn, betaOn, betaOn],
    UnknownVersionInteroperabilityProxy: [alpha, alpha, alpha, alpha],
    UserNamespacesHostNetworkSupport: [absent, absent, absent, alpha],
    UserNamespacesSupport: [beta, betaOn, betaOn, betaOn],
    VolumeLimitScaling: [absent, absent, absent, alpha],
    WatchList: [betaOn, beta, betaOn, betaOn],
    WatchListClient: [beta, beta, beta, betaOn],
  }),
  ...withoutEffect('responses are always compressed for clients that accept gzip', {
    APIResponseCompression: [betaOn, betaOn, betaOn, betaOn],
  }),
  ...withoutEffect('lists and watches are served from the store and a window of its events, not from a copy that could be stale', {
    DetectCacheInconsistency: [absent, absent, betaOn, betaOn],
    ListFromCacheSnapshot: [absent, alpha, betaOn, betaOn],
    WatchCacheInitializationPostStartHook: [beta, beta, beta, beta],
  }),
  ...withoutEffect('the scheduler never waits for its writes', {
    SchedulerAsyncAPICalls: [absent, absent, beta, beta],
    SchedulerAsyncPreemption: [alpha, betaOn, betaOn, betaOn],
  }),
  ...withoutEffect('it concerns the webhooks of a cloud controller manager, which is another program', {
    CloudControllerManagerWebhook: [alpha, alpha, alpha, alpha],
  }),
  ...withoutEffect('no option of the topology manager is in beta any more: those that are left are stable', {
    TopologyManagerPolicyBetaOptions: [betaOn, betaOn, betaOn, betaOn],
  }),
  ...withoutEffect('the node agent measures local storage file by file, also where the file system has project quotas', {
    LocalStorageCapacityIsolationFSQuotaMonitoring: [beta, beta, beta, beta],
  }),
  ...withoutEffect('the node agent always measures pods by their runtime, and by their control groups what that does not report', {
    PodAndContainerStatsFromCRI: [alpha, alpha, alpha, alpha],
  }),
  ...withoutEffect('the node agent runs on one operating system only', {
    AltOSCPUAndMemoryAffinity: [alpha, alpha, alpha, alpha],
    AltOSGracefulNodeShutdown: [alpha, alpha, betaOn, betaOn],
  }),
  ...withoutEffect('there is no plugin of this vendor', {
    InTreePluginVendorUnregister: [alpha, alpha, alpha, alpha],
  }),
  ...withoutEffect('requests do not have threads of their own in this runtime', {
    APIServingWithRoutine: [alpha, alpha, alpha, alpha],
    ConcurrentWatchObjectDecode: [beta, beta, beta, beta],
  }),
  ...withoutEffect('log lines always carry their context', {
    ContextualLogging: [betaOn, betaOn, betaOn, betaOn],
  }),
  ...withoutEffect('there is only one implementation of validation', {
    DeclarativeValidation: [absent, betaOn, betaOn, betaOn],
    DeclarativeValidationTakeover: [absent, beta, beta, beta],
  }),
  ...withoutEffect('caches always deliver events in the order of the watch', {
    InOrderInformers: [absent, betaOn, betaOn, betaOn],
    InOrderInformersBatchProcess: [absent, absent, absent, betaOn],
  }),
} as const;

export type GateName = keyof typeof gateTable;

/** Gates that may be enabled only together with others. */
export const gateDependencies: Readonly<Partial<Record<GateName, readonly GateName[]>>> = {
  AltOSGracefulNodeShutdown: ['GracefulNodeShutdown'],
  ClusterTrustBundleProjection: ['ClusterTrustBundle'],
  DeclarativeValidationTakeover: ['DeclarativeValidation'],
  DRADeviceBindingConditions: ['DRAResourceClaimDeviceStatus'],
  DRADeviceTaintRules: ['DRADeviceTaints'],
  GangScheduling: ['GenericWorkload'],
  GracefulNodeShutdownBasedOnPodPriority: ['GracefulNodeShutdown'],
  InPlacePodLevelResourcesVerticalScaling: ['PodLevelResources', 'NodeDeclaredFeatures'],
  MatchLabelKeysInPodTopologySpreadSelectorMerge: ['MatchLabelKeysInPodTopologySpread'],
  ProcMountType: ['UserNamespacesSupport'],
  RestartAllContainersOnContainerExits: ['ContainerRestartRules', 'NodeDeclaredFeatures'],
  StorageVersionAPI: ['APIServerIdentity'],
  StructuredAuthenticationConfigurationEgressSelector: ['StructuredAuthenticationConfiguration'],
  StructuredAuthenticationConfigurationJWKSMetrics: ['StructuredAuthenticationConfiguration'],
  UnknownVersionInteroperabilityProxy: ['APIServerIdentity'],
  UserNamespacesHostNetworkSupport: ['UserNamespacesSupport'],
};
