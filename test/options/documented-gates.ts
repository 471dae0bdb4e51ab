/**
 * The gates the reference documents name, by stage and default at 1.35. Two that they have on were turned off in patch
 * releases: MaxUnavailableStatefulSet and SchedulerAsyncAPICalls.
 */
export const documentedGates: Readonly<Record<'alpha' | 'beta, off' | 'beta, on', readonly string[]>> = {
  alpha: `
    APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions CSIVolumeHealth
    ClientsAllowCBOR ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ComponentFlagz
    ComponentStatusz ConstrainedImpersonation ContainerStopSignals CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod
    DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaintRules DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
    EventedPLEG GangScheduling GenericWorkload HPAScaleToZero InPlacePodLevelResourcesVerticalScaling
    InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory InTreePluginVendorUnregister PlatletInUserNamespace
    LoggingAlphaOptions MemoryQoS MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
    NodeDeclaredFeatures PodAndContainerStatsFromCRI PodLogsQuerySplitStreams QOSReserved ReduceDefaultCrashLoopBackOffDecay
    RelaxedServiceNameValidation ResourceHealthStatus RestartAllContainersOnContainerExits RuntimeClassInImageCriApi
    StorageCapacityScoring StorageVersionAPI StrictIPCIDRValidation TaintTolerationComparisonOperators
    UnknownVersionInteroperabilityProxy UserNamespacesHostNetworkSupport VolumeLimitScaling AltOSCPUAndMemoryAffinity
  `
    .trim()
    .split(/\s+/),
  'beta, off': `
    AllBeta CRDObservedGenerationTracking ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
    CoordinatedLeaderElection DeclarativeValidationTakeover LocalStorageCapacityIsolationFSQuotaMonitoring MutatingAdmissionPolicy
    MaxUnavailableStatefulSet NodeLogQuery PodCertificateRequest SchedulerAsyncAPICalls SELinuxMount StorageVersionMigrator
    WatchCacheInitializationPostStartHook
  `
    .trim()
    .split(/\s+/),
  'beta, on': `
    APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AuthorizePodWebsocketUpgradeCreatePermission
    CPUManagerPolicyBetaOptions CSIServiceAccountTokenSecrets ClearingNominatedNodeNameAfterBinding ContainerCheckpoint
    ContainerRestartRules ContextualLogging DRAAdminAccess DRAPrioritizedList DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout
    DeclarativeValidation DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency DisableCPUQuotaWithExclusiveCPUs EnvFiles
    ExternalServiceAccountTokenSigner GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance
    HostnameOverride ImageVolume InOrderInformers InOrderInformersBatchProcess PlatletCrashLoopBackOffMax
    PlatletEnsureSecretPulledImages PlatletFineGrainedAuthz PlatletPSI PlatletPodResourcesDynamicResources PlatletPodResourcesGet
    PlatletSeparateDiskGC PlatletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
    MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
    MutableCSINodeAllocatableCount NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PodDeletionCost PodLevelResources
    PodReadyToStartContainersCondition PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences ProcMountType
    ReloadPlatletServerCertificateFile RemoteRequestHeaderUID RotatePlatletServerCertificate SELinuxChangePolicy
    SELinuxMountReadWriteOncePod SchedulerAsyncPreemption SchedulerPopFromBackoffQ
    ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StatefulSetSemanticRevisionComparison StorageVersionHash
    StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
    TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
    UnauthenticatedHTTP2DOSMitigation UserNamespacesSupport WatchList WatchListClient AltOSGracefulNodeShutdown
  `
    .trim()
    .split(/\s+/),
};
