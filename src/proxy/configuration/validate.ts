// The checks of a configuration, with the original's texts and paths, which name its types rather than its fields.

import {formatDuration} from '#src/api/duration.js';
import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {parseLooseIp, parseRange} from '#src/base/ip-address.js';
import {messageOf} from '#src/base/message.js';
import {familyOfRange} from '#src/proxy/state/ip-family.js';
import {configurationKind} from './decode.js';
import type {FieldTypes, Settings} from './fields.js';
import {sectionOf} from './settings.js';

export type Gate = (name: 'LoggingAlphaOptions' | 'LoggingBetaOptions') => boolean;

const localModes = ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix', ''];
const proxyModes = ['iptables', 'ipvs', 'nftables'];
const notNegative = 'must be greater than or equal to 0';

type Errors = readonly FieldError[];

const errorIf = (isWrong: boolean, path: string, value: unknown, detail: string): Errors => (isWrong ? [invalid(path, value, detail)] : []);

const negative = (path: string, value: number): Errors => errorIf(value < 0, path, value, notNegative);
const negativeTime = (path: string, ms: number): Errors => errorIf(ms < 0, path, formatDuration(ms), notNegative);

const masqueradeBit = (path: string, bit: number): Errors => errorIf(bit < 0 || bit > 31, path, bit, 'must be within the range [0, 31]');

const linux = (path: string, settings: Settings): Errors => {
  const conntrack = `${path}.${typePart(path)}ProxyConntrackConfiguration`;
  const score = settings.oomScoreAdj;
  return [
    ...negative(`${conntrack}.MaxPerCore`, settings['conntrack.maxPerCore']),
    ...negative(`${conntrack}.Min`, settings['conntrack.min']),
    ...negativeTime(`${conntrack}.TCPEstablishedTimeout`, settings['conntrack.tcpEstablishedTimeout']),
    ...negativeTime(`${conntrack}.TCPCloseWaitTimeout`, settings['conntrack.tcpCloseWaitTimeout']),
    ...negativeTime(`${conntrack}.UDPTimeout`, settings['conntrack.udpTimeout']),
    ...negativeTime(`${conntrack}.UDPStreamTimeout`, settings['conntrack.udpStreamTimeout']),
    ...errorIf(score < -1000 || score > 1000, `${path}.OOMScoreAdj`, score, 'must be within the range [-1000, 1000]'),
  ];
};

/** What the names of types begin with: `Kube`, or `Plat`. */
const typePart = (path: string): string => /^(.*?)ProxyConfiguration/.exec(path)![1]!;

const proxyMode = (path: string, mode: string): Errors =>
  errorIf(
    mode !== '' && !proxyModes.includes(mode),
    `${path}.ProxyMode`,
    mode,
    `must be ${proxyModes.join(', ')} or blank (blank means the best-available proxy [currently iptables])`,
  );

const periods = (path: string, settings: Settings): Errors => {
  const section = sectionOf(settings);
  const sync = settings[`${section}.syncPeriod`];
  const min = settings[`${section}.minSyncPeriod`];
  const {configSyncPeriod} = settings;
  const time = formatDuration;
  return [
    ...errorIf(configSyncPeriod <= 0, `${path}.ConfigSyncPeriod`, time(configSyncPeriod), 'must be greater than 0'),
    ...errorIf(sync <= 0, `${path}.SyncPeriod`, time(sync), 'must be greater than 0'),
    ...errorIf(min < 0, `${path}.MinSyncPeriod`, time(min), notNegative),
    ...errorIf(min > sync, `${path}.SyncPeriod`, time(min), `must be greater than or equal to ${path}.MinSyncPeriod`),
  ];
};

const hostPort = (path: string, text: string): Errors => {
  const [, inBrackets, plain = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(text) ?? [];
  if (!text.includes(':') || (inBrackets === undefined && /:.*:/.test(text))) return [invalid(path, text, 'must be IP:port')];
  const host = inBrackets ?? plain;
  const number = /^[+-]?\d+$/.test(port) ? Number(port) : Number.NaN;
  return [
    ...errorIf(!parseLooseIp(host), path, host, 'must be a valid IP'),
    ...errorIf(!(number >= 1 && number <= 65_535), path, port, 'must be a valid port'),
  ];
};

const isRange = (text: string): boolean => parseRange(text, true) !== undefined;

const nodePortAddresses = (path: string, addresses: readonly string[]): Errors => {
  const primary = addresses.indexOf('primary');
  const ranges = primary < 0 ? addresses : addresses.slice(0, primary);
  return [
    ...ranges.flatMap((range, at) => errorIf(!isRange(range), `${path}[${at}]`, range, 'must be a valid CIDR')),
    ...errorIf(primary >= 0 && addresses.length > 1, `${path}[${primary}]`, 'primary', "can't use both 'primary' and CIDRs"),
  ];
};

const pair = 'must be a either a single CIDR or dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48]';

const clusterRanges = (path: string, ranges: readonly string[]): Errors => {
  if (ranges.length > 2) return [invalid(path, ranges, pair)];
  const wrong = ranges.flatMap((range, at) =>
    errorIf(!isRange(range), `${path}[${at}]`, range, 'must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)'),
  );
  const [first, second] = ranges.map(familyOfRange);
  return [...wrong, ...errorIf(ranges.length === 2 && wrong.length === 0 && first === second, path, ranges, pair)];
};

/** Returns the ranges of pods that the configuration names. */
export const clusterCidrsOf = ({clusterCIDR}: Pick<Settings, 'clusterCIDR'>): readonly string[] =>
  clusterCIDR === '' ? [] : clusterCIDR.split(',');

const detectLocal = (path: string, settings: Settings): Errors => {
  const {detectLocalMode: mode} = settings;
  if (!localModes.includes(mode)) return [notSupported(`${path}.DetectLocalMode`, mode, localModes)];
  const local = `${path}.DetectLocalConfiguration`;
  const name = (field: string, value: string): Errors => errorIf(value === '', `${local}.${field}`, value, 'must not be empty');
  switch (mode) {
    case 'BridgeInterface':
      return name('InterfaceName', settings['detectLocal.bridgeInterface']);
    case 'InterfaceNamePrefix':
      return name('InterfacePrefix', settings['detectLocal.interfaceNamePrefix']);
    case 'ClusterCIDR':
      return clusterRanges(`${local}.ClusterCIDRs`, clusterCidrsOf(settings));
    default:
      return [];
  }
};

/** The last minor release before this one, whose hidden metrics may be shown. */
const hiddenVersion = '1.34';

const maxVerbosity = 2 ** 31 - 1;

const modules = (path: string, list: FieldTypes['modules']): Errors =>
  list.flatMap(({filePattern, verbosity}, at) => [
    ...(filePattern ? [] : [required(`${path}[${at}]`, 'File pattern must not be empty')]),
    ...errorIf(/[=,]/.test(filePattern), `${path}[${at}]`, filePattern, 'File pattern must not contain equal sign or comma'),
    ...errorIf(verbosity > maxVerbosity, `${path}[${at}]`, verbosity, `Must be <= ${maxVerbosity}`),
  ]);

const forbidden = (path: string, detail: string): FieldError => ({path, reason: 'FieldValueForbidden', detail: `Forbidden: ${detail}`});

const outputOptions = (path: string, settings: Settings, format: 'text' | 'json', isAlpha: boolean): Errors => {
  const own = `${path}.options.${format}`;
  const disabled = (field: string): FieldError => forbidden(`${own}.${field}`, 'Feature LoggingAlphaOptions is disabled');
  const size = settings[`logging.options.${format}.infoBufferSize`];
  try {
    return [
      ...(settings[`logging.options.${format}.splitStream`] && !isAlpha ? [disabled('splitStream')] : []),
      ...(quantityNumber(parseQuantity(size)) > 0 && !isAlpha ? [disabled('infoBufferSize')] : []),
    ];
  } catch (error) {
    return [invalid(`${own}.infoBufferSize`, size, messageOf(error))];
  }
};

const logging = (path: string, settings: Settings, gate: Gate): Errors => {
  const {'logging.format': format, 'logging.vmodule': list, 'logging.verbosity': verbosity, 'logging.flushFrequency': flush} = settings;
  return [
    ...errorIf(flush < 0, `${path}.flushFrequency`, formatDuration(flush), 'Must be greater than zero'),
    ...errorIf(format !== 'text' && format !== 'json', `${path}.format`, format, 'Unsupported log format'),
    ...(format === 'json' && !gate('LoggingBetaOptions')
      ? [forbidden(`${path}.format`, 'Log format json is disabled, see LoggingBetaOptions feature')]
      : []),
    ...errorIf(verbosity < 0 || verbosity > maxVerbosity, `${path}.verbosity`, verbosity, `Must be <= ${maxVerbosity}`),
    ...(list.length > 0 && format !== 'text' ? [forbidden(`${path}.vmodule`, 'Only supported for text log format')] : []),
    ...modules(`${path}.vmodule`, list),
    ...(['text', 'json'] as const).flatMap(each => outputOptions(path, settings, each, gate('LoggingAlphaOptions'))),
  ];
};

const text = ({path, detail}: FieldError): string => `${path}: ${detail}`;

const joined = (errors: Errors): string | undefined => {
  if (errors.length === 0) return undefined;
  return errors.length === 1 ? text(errors[0]!) : `[${errors.map(text).join(', ')}]`;
};

/** Returns what is invalid in the fields of the log, which are checked first; undefined if nothing. */
export const loggingError = (settings: Settings, gate: Gate): string | undefined => joined(logging('logging', settings, gate));

/** Returns what is invalid in a configuration; undefined if nothing. */
export const configurationError = (settings: Settings, naming: Naming): string | undefined => {
  const path = configurationKind(naming).kind;
  const part = typePart(path);
  const {mode, bindAddress, healthzBindAddress, metricsBindAddress, showHiddenMetricsForVersion: hidden} = settings;
  return joined([
    ...masqueradeBit(`${path}.${part}ProxyIPTablesConfiguration.MasqueradeBit`, settings['iptables.masqueradeBit']),
    ...(mode === 'nftables'
      ? masqueradeBit(`${path}.${part}ProxyNFTablesConfiguration.MasqueradeBit`, settings['nftables.masqueradeBit'])
      : []),
    ...linux(`${path}.${part}ProxyLinuxConfiguration`, settings),
    ...proxyMode(`${path}.Mode`, mode),
    ...negative(`${path}.ClientConnection.Burst`, settings['clientConnection.burst']),
    ...periods(path, settings),
    ...errorIf(!parseLooseIp(bindAddress), `${path}.BindAddress`, bindAddress, 'not a valid textual representation of an IP address'),
    ...(healthzBindAddress === '' ? [] : hostPort(`${path}.HealthzBindAddress`, healthzBindAddress)),
    ...(metricsBindAddress === '' ? [] : hostPort(`${path}.MetricsBindAddress`, metricsBindAddress)),
    ...nodePortAddresses(`${path}.NodePortAddresses`, settings.nodePortAddresses),
    ...errorIf(
      hidden !== '' && hidden !== hiddenVersion,
      `${path}.ShowHiddenMetricsForVersion`,
      hidden,
      `--show-hidden-metrics-for-version must be omitted or have the value '${hiddenVersion}'. Only the previous minor version is allowed`,
    ),
    ...detectLocal(path, settings),
  ]);
};
