// The fields of the agent's configuration: types, defaults in a file, and flags.

/** The type of a field in a file and in memory. */
export interface FieldTypes {
  bool: boolean;
  /** A boolean whose default depends on the machine. */
  maybe: boolean | undefined;
  int: number;
  float: number;
  string: string;
  /** In milliseconds. */
  duration: number;
  /** In milliseconds. A file has a duration, or a number of nanoseconds. */
  interval: number;
  strings: readonly string[];
  map: Readonly<Record<string, string>>;
  /** A map of lists. */
  multimap: Readonly<Record<string, readonly string[]>>;
  bools: Readonly<Record<string, boolean>>;
  /** Objects kept as they are; their readers check the content. */
  objects: readonly Readonly<Record<string, unknown>>[];
  object: Readonly<Record<string, unknown>>;
}

export interface FieldRow {
  readonly type: keyof FieldTypes;
  /** As written in a file; without it the default is the zero value. */
  readonly default?: unknown;
  /** The flag of the field, without dashes. */
  readonly flag?: string;
  /** The default without a file, where that of the flag is different. */
  readonly flagDefault?: unknown;
  /** Relative to the directory of the configuration file. */
  readonly isPath?: true;
  /** Whether the zero value in a file means the default. */
  readonly keepsZero?: true;
  /** Whether no code reads it. For a field with a flag the row of the flag says so. */
  readonly withoutEffect?: true;
}

/** By field path, with the names of the original. */
export const fields = {
  address: {type: 'string', default: '0.0.0.0', flag: 'address'},
  port: {type: 'int', default: 10_250, flag: 'port'},
  readOnlyPort: {type: 'int', flag: 'read-only-port', flagDefault: 10_255},
  enableServer: {type: 'bool', default: true, flag: 'enable-server', keepsZero: true},
  enableDebuggingHandlers: {type: 'bool', default: true, flag: 'enable-debugging-handlers', keepsZero: true},
  enableContentionProfiling: {type: 'bool', flag: 'contention-profiling'},
  enableProfilingHandler: {type: 'bool', default: true, keepsZero: true},
  enableDebugFlagsHandler: {type: 'bool', default: true, keepsZero: true},
  enableSystemLogHandler: {type: 'bool', default: true, keepsZero: true},
  enableSystemLogQuery: {type: 'bool'},
  healthzBindAddress: {type: 'string', default: '127.0.0.1', flag: 'healthz-bind-address'},
  healthzPort: {type: 'int', default: 10_248, flag: 'healthz-port', keepsZero: true},
  'authentication.anonymous.enabled': {type: 'bool', default: false, flag: 'anonymous-auth', flagDefault: true, keepsZero: true},
  'authentication.webhook.enabled': {
    type: 'bool',
    default: true,
    flag: 'authentication-token-webhook',
    flagDefault: false,
    keepsZero: true,
  },
  'authentication.webhook.cacheTTL': {type: 'duration', default: '2m0s', flag: 'authentication-token-webhook-cache-ttl'},
  'authentication.x509.clientCAFile': {type: 'string', flag: 'client-ca-file', isPath: true},
  'authorization.mode': {type: 'string', default: 'Webhook', flag: 'authorization-mode', flagDefault: 'AlwaysAllow'},
  'authorization.webhook.cacheAuthorizedTTL': {type: 'duration', default: '5m0s', flag: 'authorization-webhook-cache-authorized-ttl'},
  'authorization.webhook.cacheUnauthorizedTTL': {type: 'duration', default: '30s', flag: 'authorization-webhook-cache-unauthorized-ttl'},
  tlsCertFile: {type: 'string', flag: 'tls-cert-file', isPath: true},
  tlsPrivateKeyFile: {type: 'string', flag: 'tls-private-key-file', isPath: true},
  tlsCipherSuites: {type: 'strings', flag: 'tls-cipher-suites'},
  tlsMinVersion: {type: 'string', flag: 'tls-min-version'},
  rotateCertificates: {type: 'bool', flag: 'rotate-certificates'},
  serverTLSBootstrap: {type: 'bool', flag: 'rotate-server-certificates'},
  streamingConnectionIdleTimeout: {type: 'duration', default: '4h0m0s', flag: 'streaming-connection-idle-timeout'},
  providerID: {type: 'string', flag: 'provider-id'},
  registerNode: {type: 'bool', default: true, flag: 'register-node', keepsZero: true},
  registerWithTaints: {type: 'objects', flag: 'register-with-taints'},
  podCIDR: {type: 'string', flag: 'pod-cidr'},
  staticPodPath: {type: 'string', flag: 'pod-manifest-path', isPath: true},
  fileCheckFrequency: {type: 'duration', default: '20s', flag: 'file-check-frequency'},
  staticPodURL: {type: 'string', flag: 'manifest-url'},
  staticPodURLHeader: {type: 'multimap', flag: 'manifest-url-header'},
  httpCheckFrequency: {type: 'duration', default: '20s', flag: 'http-check-frequency'},
  syncFrequency: {type: 'duration', default: '1m0s', flag: 'sync-frequency'},
  runOnce: {type: 'bool', flag: 'runonce'},
  kubeAPIQPS: {type: 'int', default: 50, flag: 'plat-api-qps', keepsZero: true},
  kubeAPIBurst: {type: 'int', default: 100, flag: 'plat-api-burst'},
  contentType: {type: 'string', flag: 'plat-api-content-type'},
  eventRecordQPS: {type: 'int', default: 50, flag: 'event-qps', keepsZero: true},
  eventBurst: {type: 'int', default: 100, flag: 'event-burst'},
  nodeStatusUpdateFrequency: {type: 'duration', default: '10s', flag: 'node-status-update-frequency'},
  nodeStatusReportFrequency: {type: 'duration', default: '5m0s'},
  nodeStatusMaxImages: {type: 'int', default: 50, flag: 'node-status-max-images', keepsZero: true},
  nodeLeaseDurationSeconds: {type: 'int', default: 40},
  containerRuntimeEndpoint: {type: 'string', default: 'unix:///run/containerd/containerd.sock', flag: 'container-runtime-endpoint'},
  imageServiceEndpoint: {type: 'string', flag: 'image-service-endpoint'},
  runtimeRequestTimeout: {type: 'duration', default: '2m0s', flag: 'runtime-request-timeout'},
  serializeImagePulls: {type: 'bool', default: true, flag: 'serialize-image-pulls', keepsZero: true},
  maxParallelImagePulls: {type: 'int', keepsZero: true},
  registryPullQPS: {type: 'int', default: 5, flag: 'registry-qps', keepsZero: true},
  registryBurst: {type: 'int', default: 10, flag: 'registry-burst'},
  imagePullCredentialsVerificationPolicy: {type: 'string', default: 'NeverVerifyPreloadedImages'},
  preloadedImagesVerificationAllowlist: {type: 'strings'},
  imageGCHighThresholdPercent: {type: 'int', default: 85, flag: 'image-gc-high-threshold', keepsZero: true},
  imageGCLowThresholdPercent: {type: 'int', default: 80, flag: 'image-gc-low-threshold', keepsZero: true},
  imageMinimumGCAge: {type: 'duration', default: '2m0s', flag: 'minimum-image-ttl-duration'},
  imageMaximumGCAge: {type: 'duration'},
  kubeletCgroups: {type: 'string', flag: 'platlet-cgroups'},
  systemCgroups: {type: 'string', flag: 'system-cgroups'},
  cgroupRoot: {type: 'string', flag: 'cgroup-root'},
  cgroupsPerQOS: {type: 'bool', default: true, flag: 'cgroups-per-qos', keepsZero: true},
  cgroupDriver: {type: 'string', default: 'cgroupfs', flag: 'cgroup-driver'},
  hairpinMode: {type: 'string', default: 'promiscuous-bridge', flag: 'hairpin-mode'},
  makeIPTablesUtilChains: {type: 'bool', default: true, flag: 'make-iptables-util-chains', keepsZero: true},
  iptablesMasqueradeBit: {type: 'int', default: 14, keepsZero: true, withoutEffect: true},
  iptablesDropBit: {type: 'int', default: 15, keepsZero: true, withoutEffect: true},
  allowedUnsafeSysctls: {type: 'strings', flag: 'allowed-unsafe-sysctls'},
  protectKernelDefaults: {type: 'bool', flag: 'protect-kernel-defaults'},
  seccompDefault: {type: 'bool', flag: 'seccomp-default'},
  clusterDNS: {type: 'strings', flag: 'cluster-dns'},
  clusterDomain: {type: 'string', flag: 'cluster-domain'},
  resolvConf: {type: 'string', default: '/etc/resolv.conf', flag: 'resolv-conf', isPath: true, keepsZero: true},
  maxPods: {type: 'int', default: 110, flag: 'max-pods'},
  podsPerCore: {type: 'int', flag: 'pods-per-core'},
  podPidsLimit: {type: 'int', default: -1, flag: 'pod-max-pids', keepsZero: true},
  maxOpenFiles: {type: 'int', default: 1_000_000, flag: 'max-open-files'},
  oomScoreAdj: {type: 'int', default: -999, flag: 'oom-score-adj', keepsZero: true},
  containerLogMaxSize: {type: 'string', default: '10Mi', flag: 'container-log-max-size'},
  containerLogMaxFiles: {type: 'int', default: 5, flag: 'container-log-max-files', keepsZero: true},
  containerLogMaxWorkers: {type: 'int', default: 1, keepsZero: true},
  containerLogMonitorInterval: {type: 'duration', default: '10s'},
  podLogsDir: {type: 'string', default: '/var/log/pods', isPath: true},
  cpuCFSQuota: {type: 'bool', default: true, flag: 'cpu-cfs-quota', keepsZero: true},
  cpuCFSQuotaPeriod: {type: 'duration', default: '100ms', flag: 'cpu-cfs-quota-period'},
  volumeStatsAggPeriod: {type: 'duration', default: '1m0s', flag: 'volume-stats-agg-period'},
  volumePluginDir: {
    type: 'string',
    default: '/usr/libexec/plat/platlet-plugins/volume/exec/',
    flag: 'volume-plugin-dir',
    isPath: true,
  },
  enableControllerAttachDetach: {type: 'bool', default: true, flag: 'enable-controller-attach-detach', keepsZero: true},
  configMapAndSecretChangeDetectionStrategy: {type: 'string', default: 'Watch'},
  evictionHard: {type: 'map', flag: 'eviction-hard'},
  evictionSoft: {type: 'map', flag: 'eviction-soft'},
  evictionSoftGracePeriod: {type: 'map', flag: 'eviction-soft-grace-period'},
  evictionMinimumReclaim: {type: 'map', flag: 'eviction-minimum-reclaim'},
  evictionMaxPodGracePeriod: {type: 'int', flag: 'eviction-max-pod-grace-period'},
  evictionPressureTransitionPeriod: {type: 'duration', default: '5m0s', flag: 'eviction-pressure-transition-period'},
  mergeDefaultEvictionSettings: {type: 'bool'},
  kernelMemcgNotification: {type: 'bool', flag: 'kernel-memcg-notification'},
  singleProcessOOMKill: {type: 'maybe', keepsZero: true},
  kubeReserved: {type: 'map', flag: 'plat-reserved'},
  kubeReservedCgroup: {type: 'string', flag: 'plat-reserved-cgroup'},
  systemReserved: {type: 'map', flag: 'system-reserved'},
  systemReservedCgroup: {type: 'string', flag: 'system-reserved-cgroup'},
  enforceNodeAllocatable: {type: 'strings', default: ['pods'], flag: 'enforce-node-allocatable', keepsZero: true},
  reservedSystemCPUs: {type: 'string', flag: 'reserved-cpus'},
  reservedMemory: {type: 'objects', flag: 'reserved-memory'},
  qosReserved: {type: 'map', flag: 'qos-reserved'},
  localStorageCapacityIsolation: {type: 'bool', default: true, flag: 'local-storage-capacity-isolation', keepsZero: true},
  cpuManagerPolicy: {type: 'string', default: 'none', flag: 'cpu-manager-policy'},
  cpuManagerPolicyOptions: {type: 'map', flag: 'cpu-manager-policy-options'},
  cpuManagerReconcilePeriod: {type: 'duration', default: '10s', flag: 'cpu-manager-reconcile-period'},
  memoryManagerPolicy: {type: 'string', default: 'None', flag: 'memory-manager-policy'},
  topologyManagerPolicy: {type: 'string', default: 'none', flag: 'topology-manager-policy'},
  topologyManagerPolicyOptions: {type: 'map', flag: 'topology-manager-policy-options'},
  topologyManagerScope: {type: 'string', default: 'container', flag: 'topology-manager-scope'},
  failSwapOn: {type: 'bool', default: true, flag: 'fail-swap-on', keepsZero: true},
  failCgroupV1: {type: 'bool', default: true, flag: 'fail-cgroupv1', keepsZero: true},
  'memorySwap.swapBehavior': {type: 'string'},
  memoryThrottlingFactor: {type: 'float', default: 0.9, keepsZero: true},
  shutdownGracePeriod: {type: 'duration'},
  shutdownGracePeriodCriticalPods: {type: 'duration'},
  shutdownGracePeriodByPodPriority: {type: 'objects'},
  'crashLoopBackOff.maxContainerRestartPeriod': {type: 'duration', default: '300s'},
  'userNamespaces.idsPerPod': {type: 'int', default: 65_536, keepsZero: true},
  showHiddenMetricsForVersion: {type: 'string'},
  'tracing.endpoint': {type: 'string'},
  'tracing.samplingRatePerMillion': {type: 'int'},
  featureGates: {type: 'bools', flag: 'feature-gates'},
  'logging.format': {type: 'string', default: 'text', flag: 'logging-format'},
  'logging.flushFrequency': {type: 'interval', default: '5s', flag: 'log-flush-frequency'},
  'logging.verbosity': {type: 'int', flag: 'v'},
  'logging.vmodule': {type: 'objects', flag: 'vmodule'},
  'logging.options.text.splitStream': {type: 'bool', flag: 'log-text-split-stream'},
  'logging.options.text.infoBufferSize': {type: 'string', default: '0', flag: 'log-text-info-buffer-size'},
  'logging.options.json.splitStream': {type: 'bool'},
  'logging.options.json.infoBufferSize': {type: 'string', default: '0'},
} as const satisfies Readonly<Record<string, FieldRow>>;

export type FieldName = keyof typeof fields;

/** The configuration in effect, by field path. */
export type Settings = {readonly [K in FieldName]: FieldTypes[(typeof fields)[K]['type']]};

/** The rows with their names, under a common type. */
export const fieldRows = Object.entries(fields) as unknown as readonly (readonly [FieldName, FieldRow])[];
