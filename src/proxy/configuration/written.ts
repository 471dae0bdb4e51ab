// The configuration in effect as a file, and as the port of the metrics shows it.

import {formatDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import {configurationKind} from './decode.js';
import {fieldRows, type FieldName, type Settings} from './fields.js';
import {sectionOf, writtenOf} from './settings.js';
import {clusterCidrsOf} from './validate.js';

type Written = Record<string, unknown>;

/** The fields that modes share are written with the mode in use alone. */
const isOfOtherMode = (name: FieldName, settings: Settings): boolean => {
  const [section, field = ''] = name.split('.');
  return (
    ['iptables', 'ipvs', 'nftables'].includes(section!) &&
    /^(masqueradeAll|syncPeriod|minSyncPeriod)$/.test(field) &&
    section !== sectionOf(settings)
  );
};

/** Absent where they have the zero value, as lists and maps are in Go. */
const omitted: ReadonlySet<FieldName> = new Set([
  'featureGates',
  'logging.vmodule',
  'windowsRunAsService',
  'logging.options.text.splitStream',
  'logging.options.json.splitStream',
]);

const isEmpty = (value: unknown): boolean =>
  value === false || value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** Returns the configuration in effect as an object of its kind. */
export const writtenConfiguration = (settings: Settings, naming: Naming): Written => {
  const result: Written = {...configurationKind(naming)};
  for (const [name, row] of fieldRows) {
    const value = settings[name];
    if (omitted.has(name) && isEmpty(value)) continue;
    const path = name.split('.');
    const last = path.pop()!;
    let at = result;
    for (const part of path) at = (at[part] ??= {}) as Written;
    at[last] = isOfOtherMode(name, settings)
      ? zeroOf(value, row.type)
      : row.type === 'strings' && isEmpty(value)
        ? null
        : writtenOf(row, value);
  }
  return result;
};

const zeroOf = (value: unknown, type: string): unknown => (type === 'duration' ? '0s' : typeof value === 'boolean' ? false : value);

/** Returns the configuration in effect as `/configz` shows it: by the names of the original's internal type. */
export const shownConfiguration = (settings: Settings): Written => {
  const s = settings;
  const section = sectionOf(s);
  const time = formatDuration;
  return {
    Linux: {
      Conntrack: {
        MaxPerCore: s['conntrack.maxPerCore'],
        Min: s['conntrack.min'],
        TCPEstablishedTimeout: time(s['conntrack.tcpEstablishedTimeout']),
        TCPCloseWaitTimeout: time(s['conntrack.tcpCloseWaitTimeout']),
        TCPBeLiberal: s['conntrack.tcpBeLiberal'],
        UDPTimeout: time(s['conntrack.udpTimeout']),
        UDPStreamTimeout: time(s['conntrack.udpStreamTimeout']),
      },
      MasqueradeAll: s[`${section}.masqueradeAll`],
      OOMScoreAdj: s.oomScoreAdj,
    },
    Windows: {RunAsService: s.windowsRunAsService},
    FeatureGates: s.featureGates,
    ClientConnection: {
      Kubeconfig: s['clientConnection.kubeconfig'],
      AcceptContentTypes: s['clientConnection.acceptContentTypes'],
      ContentType: s['clientConnection.contentType'],
      QPS: s['clientConnection.qps'],
      Burst: s['clientConnection.burst'],
    },
    Logging: {
      format: s['logging.format'],
      flushFrequency: time(s['logging.flushFrequency']),
      verbosity: s['logging.verbosity'],
      options: {
        text: {infoBufferSize: s['logging.options.text.infoBufferSize']},
        json: {infoBufferSize: s['logging.options.json.infoBufferSize']},
      },
    },
    HostnameOverride: s.hostnameOverride,
    BindAddress: s.bindAddress,
    HealthzBindAddress: s.healthzBindAddress,
    MetricsBindAddress: s.metricsBindAddress,
    BindAddressHardFail: s.bindAddressHardFail,
    EnableProfiling: s.enableProfiling,
    ShowHiddenMetricsForVersion: s.showHiddenMetricsForVersion,
    Mode: s.mode,
    IPTables: {MasqueradeBit: s['iptables.masqueradeBit'], LocalhostNodePorts: s['iptables.localhostNodePorts']},
    IPVS: {
      Scheduler: s['ipvs.scheduler'],
      ExcludeCIDRs: s['ipvs.excludeCIDRs'],
      StrictARP: s['ipvs.strictARP'],
      TCPTimeout: time(s['ipvs.tcpTimeout']),
      TCPFinTimeout: time(s['ipvs.tcpFinTimeout']),
      UDPTimeout: time(s['ipvs.udpTimeout']),
    },
    Winkernel: {
      NetworkName: s['winkernel.networkName'],
      SourceVip: s['winkernel.sourceVip'],
      EnableDSR: s['winkernel.enableDSR'],
      RootHnsEndpointName: s['winkernel.rootHnsEndpointName'],
      ForwardHealthCheckVip: s['winkernel.forwardHealthCheckVip'],
    },
    NFTables: {MasqueradeBit: s['nftables.masqueradeBit']},
    DetectLocalMode: s.detectLocalMode,
    DetectLocal: {
      BridgeInterface: s['detectLocal.bridgeInterface'],
      ClusterCIDRs: clusterCidrsOf(s),
      InterfaceNamePrefix: s['detectLocal.interfaceNamePrefix'],
    },
    NodePortAddresses: s.nodePortAddresses,
    SyncPeriod: time(s[`${section}.syncPeriod`]),
    MinSyncPeriod: time(s[`${section}.minSyncPeriod`]),
    ConfigSyncPeriod: time(s.configSyncPeriod),
  };
};
