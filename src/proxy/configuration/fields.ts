// The fields of a proxy's configuration file, with their defaults and the flags that stand for them without a file.

/** The values of each type of a field. */
export interface FieldTypes {
  bool: boolean;
  int: number;
  float: number;
  string: string;
  /** In ms. */
  duration: number;
  /** In ms; files may give a number of nanoseconds. */
  interval: number;
  strings: readonly string[];
  bools: Readonly<Record<string, boolean>>;
  modules: readonly {readonly filePattern: string; readonly verbosity: number}[];
}

export interface FieldRow {
  readonly type: keyof FieldTypes;
  /** The default as files write it; without it the zero value of the type. */
  readonly default?: unknown;
  readonly flag?: string;
  /** Whether a zero in a file is not taken for the default. */
  readonly keepsZero?: boolean;
  /** Whether no code reads the field. */
  readonly withoutEffect?: boolean;
}

const withoutEffect = true;

const fields = {
  featureGates: {type: 'bools', flag: 'feature-gates'},
  'clientConnection.kubeconfig': {type: 'string', flag: 'platconfig'},
  'clientConnection.acceptContentTypes': {type: 'string', withoutEffect},
  'clientConnection.contentType': {type: 'string', flag: 'plat-api-content-type'},
  'clientConnection.qps': {type: 'float', default: 5, flag: 'plat-api-qps'},
  'clientConnection.burst': {type: 'int', default: 10, flag: 'plat-api-burst'},
  'logging.format': {type: 'string', default: 'text', flag: 'logging-format'},
  'logging.flushFrequency': {type: 'interval', default: '5s', flag: 'log-flush-frequency'},
  'logging.verbosity': {type: 'int', flag: 'v'},
  'logging.vmodule': {type: 'modules', flag: 'vmodule'},
  'logging.options.text.splitStream': {type: 'bool', flag: 'log-text-split-stream'},
  'logging.options.text.infoBufferSize': {type: 'string', default: '0', flag: 'log-text-info-buffer-size'},
  'logging.options.json.splitStream': {type: 'bool', flag: 'log-json-split-stream'},
  'logging.options.json.infoBufferSize': {type: 'string', default: '0', flag: 'log-json-info-buffer-size'},
  hostnameOverride: {type: 'string', flag: 'hostname-override'},
  bindAddress: {type: 'string', default: '0.0.0.0', flag: 'bind-address'},
  healthzBindAddress: {type: 'string', flag: 'healthz-bind-address'},
  metricsBindAddress: {type: 'string', flag: 'metrics-bind-address'},
  bindAddressHardFail: {type: 'bool', flag: 'bind-address-hard-fail'},
  enableProfiling: {type: 'bool', flag: 'profiling'},
  showHiddenMetricsForVersion: {type: 'string', flag: 'show-hidden-metrics-for-version'},
  mode: {type: 'string', default: 'iptables', flag: 'proxy-mode'},
  'iptables.masqueradeBit': {type: 'int', default: 14, flag: 'iptables-masquerade-bit', keepsZero: true},
  'iptables.masqueradeAll': {type: 'bool'},
  'iptables.localhostNodePorts': {type: 'bool', default: true, flag: 'iptables-localhost-nodeports', keepsZero: true},
  'iptables.syncPeriod': {type: 'duration', default: '30s'},
  'iptables.minSyncPeriod': {type: 'duration', default: '1s'},
  'ipvs.syncPeriod': {type: 'duration', default: '30s', withoutEffect},
  'ipvs.minSyncPeriod': {type: 'duration', withoutEffect},
  'ipvs.scheduler': {type: 'string', withoutEffect},
  'ipvs.excludeCIDRs': {type: 'strings', withoutEffect},
  'ipvs.strictARP': {type: 'bool', withoutEffect},
  'ipvs.tcpTimeout': {type: 'duration', withoutEffect},
  'ipvs.tcpFinTimeout': {type: 'duration', withoutEffect},
  'ipvs.udpTimeout': {type: 'duration', withoutEffect},
  'nftables.masqueradeBit': {type: 'int', default: 14, keepsZero: true},
  'nftables.masqueradeAll': {type: 'bool'},
  'nftables.syncPeriod': {type: 'duration', default: '30s'},
  'nftables.minSyncPeriod': {type: 'duration', default: '1s'},
  'winkernel.networkName': {type: 'string', withoutEffect},
  'winkernel.sourceVip': {type: 'string', withoutEffect},
  'winkernel.enableDSR': {type: 'bool', withoutEffect},
  'winkernel.rootHnsEndpointName': {type: 'string', withoutEffect},
  'winkernel.forwardHealthCheckVip': {type: 'bool', withoutEffect},
  detectLocalMode: {type: 'string', default: 'ClusterCIDR', flag: 'detect-local-mode'},
  'detectLocal.bridgeInterface': {type: 'string', flag: 'pod-bridge-interface'},
  'detectLocal.interfaceNamePrefix': {type: 'string', flag: 'pod-interface-name-prefix'},
  clusterCIDR: {type: 'string', flag: 'cluster-cidr'},
  nodePortAddresses: {type: 'strings', flag: 'nodeport-addresses'},
  oomScoreAdj: {type: 'int', default: -999, flag: 'oom-score-adj', keepsZero: true},
  'conntrack.maxPerCore': {type: 'int', default: 32_768, flag: 'conntrack-max-per-core', keepsZero: true},
  'conntrack.min': {type: 'int', default: 131_072, flag: 'conntrack-min', keepsZero: true},
  'conntrack.tcpEstablishedTimeout': {type: 'duration', default: '24h0m0s', flag: 'conntrack-tcp-timeout-established', keepsZero: true},
  'conntrack.tcpCloseWaitTimeout': {type: 'duration', default: '1h0m0s', flag: 'conntrack-tcp-timeout-close-wait', keepsZero: true},
  'conntrack.tcpBeLiberal': {type: 'bool', flag: 'conntrack-tcp-be-liberal'},
  'conntrack.udpTimeout': {type: 'duration', flag: 'conntrack-udp-timeout'},
  'conntrack.udpStreamTimeout': {type: 'duration', flag: 'conntrack-udp-timeout-stream'},
  configSyncPeriod: {type: 'duration', default: '15m0s', flag: 'config-sync-period'},
  portRange: {type: 'string', withoutEffect},
  windowsRunAsService: {type: 'bool', withoutEffect},
} as const satisfies Readonly<Record<string, FieldRow>>;

export type FieldName = keyof typeof fields;

/** The configuration in effect, by field path. */
export type Settings = {readonly [K in FieldName]: FieldTypes[(typeof fields)[K]['type']]};

/** The rows with their names, under a common type. */
export const fieldRows = Object.entries(fields) as unknown as readonly (readonly [FieldName, FieldRow])[];
