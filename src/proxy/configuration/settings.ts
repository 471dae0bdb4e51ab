// The configuration in effect: that of the file, or that of the flags, which a file replaces but for a few.

import {formatDuration, parseDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import {messageOf} from '#src/base/message.js';
import {isIpv6, parseLooseIp} from '#src/base/ip-address.js';
import {optionName} from '#src/options/flag.js';
import type {ProxyOptions} from '#src/options/programs/proxy.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {decodeConfiguration, fieldAt} from './decode.js';
import {fieldRows, type FieldName, type FieldRow, type FieldTypes, type Settings} from './fields.js';

type Value = FieldTypes[keyof FieldTypes];

/** The ports of health checks and of metrics. */
const ports = {health: 10_256, metrics: 10_249} as const;

export interface LoadParts {
  readonly options: ProxyOptions;
  /** The flags on the command line. */
  readonly set: ReadonlySet<string>;
  /** The namings that the file may use; the first is that of the defaults. */
  readonly namings: readonly Naming[];
  /** Reads a file. */
  read(path: string): Promise<string>;
}

export interface LoadedSettings {
  readonly settings: Settings;
  /** The naming of the configuration file; undefined without one. */
  readonly naming: Naming | undefined;
  readonly warnings: readonly string[];
}

/** Returns the configuration in effect. Rejects with the original's errors. */
export const loadSettings = async (parts: LoadParts): Promise<LoadedSettings> => {
  const {options, set, namings} = parts;
  try {
    if (!options.config)
      return {settings: withHostname(settingsOfFlags(options, set, namings[0]!), options), naming: undefined, warnings: []};
    const text = await parts.read(options.config);
    const {naming, object, problem} = decoded(text, namings);
    const settings = withHostname({...settingsOfFile(object, naming), ...loggingOfFlags(options, set, object)}, options);
    return {settings, naming, warnings: [...lenientWarnings(problem), ...unreadFields(object)]};
  } catch (cause) {
    throw new Error(`failed complete: ${messageOf(cause)}`, {cause});
  }
};

const decoded = (text: string, namings: readonly Naming[]) => {
  try {
    return decodeConfiguration(text, namings);
  } catch (cause) {
    throw new Error(`failed to decode: ${messageOf(cause)}`, {cause});
  }
};

const lenientWarnings = (problem: string | undefined): readonly string[] =>
  problem === undefined ? [] : [`Using lenient decoding as strict decoding failed: ${problem}`];

const unreadFields = (object: PlainObject): readonly string[] => {
  const given = fieldRows.flatMap(([name, {withoutEffect}]) => (withoutEffect && !isZero(fieldAt(object, name)) ? [name] : []));
  return given.length > 0 ? [`Fields of the configuration file have no effect: ${given.join(', ')}`] : [];
};

const isZero = (value: unknown): boolean =>
  value === undefined || value === '' || value === 0 || value === false || (typeof value === 'string' && parseDuration(value) === 0);

const zeros: FieldTypes = {bool: false, int: 0, float: 0, string: '', duration: 0, interval: 0, strings: [], bools: {}, modules: []};

const isTime = ({type}: FieldRow): boolean => type === 'duration' || type === 'interval';

const valueOf = (row: FieldRow, written: unknown): Value =>
  !isTime(row) ? (written as Value) : typeof written === 'number' ? written / 1_000_000 : (parseDuration(written as string) ?? 0);

const defaultOf = (row: FieldRow): Value => (row.default === undefined ? zeros[row.type] : valueOf(row, row.default));

const isTextZero = ({type}: FieldRow, value: unknown): boolean =>
  value === 0 || value === '' || ((type === 'duration' || type === 'interval') && parseDuration(String(value)) === 0);

const settingsOfFile = (object: PlainObject, naming: Naming): Settings => {
  const entries = fieldRows.map(([name, row]): [string, Value] => {
    const value = fieldAt(object, name);
    return [name, value === undefined || (!row.keepsZero && isTextZero(row, value)) ? defaultOf(row) : valueOf(row, value)];
  });
  return withAddresses(withContentType(Object.fromEntries(entries) as unknown as Settings, naming));
};

const withContentType = (settings: Settings, naming: Naming): Settings => ({
  ...settings,
  'clientConnection.contentType': settings['clientConnection.contentType'] || naming.protobufMediaType,
});

/** Adds the port to an address that has none. */
export const withPort = (address: string, port: number): string => {
  if (/^(?:\[.*\]|[^:]*):[^:]*$/.test(address) || !parseLooseIp(address)) return address;
  return isIpv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
};

/** The ports listen by default on the family of the address of the node. */
const withAddresses = (settings: Settings): Settings => {
  const {bindAddress, healthzBindAddress: health, metricsBindAddress: metrics} = settings;
  const [all, loopback] = parseLooseIp(bindAddress)?.family === 4 ? ['0.0.0.0', '127.0.0.1'] : ['[::]', '[::1]'];
  return {
    ...settings,
    healthzBindAddress: health === '' ? `${all}:${ports.health}` : withPort(health, ports.health),
    metricsBindAddress: metrics === '' ? `${loopback}:${ports.metrics}` : withPort(metrics, ports.metrics),
  };
};

const modulesOf = (items: readonly string[]): FieldTypes['modules'] =>
  items.map(item => {
    const [filePattern = '', verbosity = '0'] = item.split('=');
    return {filePattern, verbosity: Number(verbosity)};
  });

const flagValue = (flag: string, options: ProxyOptions): Value => {
  const value = (options as Readonly<Record<string, unknown>>)[optionName(flag)];
  if (flag === 'feature-gates')
    return Object.fromEntries([...(value as ReadonlyMap<string, string>)].map(([gate, text]) => [gate, /^(?:1|t|true)$/i.test(text)]));
  if (flag === 'vmodule') return modulesOf(value as readonly string[]);
  if (flag.endsWith('buffer-size')) return String(value);
  return value as Value;
};

/** The part of the configuration that holds what the mode in use shares with others. */
export const sectionOf = ({mode}: Pick<Settings, 'mode'>): 'nftables' | 'iptables' => (mode === 'nftables' ? 'nftables' : 'iptables');

const settingsOfFlags = (options: ProxyOptions, set: ReadonlySet<string>, naming: Naming): Settings => {
  const entries = fieldRows.map(([name, row]): [string, Value] => [
    name,
    row.flag === undefined ? defaultOf(row) : flagValue(row.flag, options) || defaultOf(row),
  ]);
  const given = Object.fromEntries(entries) as unknown as Settings;
  // The default is in the vocabulary of the flags.
  const settings = set.has('plat-api-content-type') ? given : withContentType({...given, 'clientConnection.contentType': ''}, naming);
  const section = sectionOf(settings);
  const port = (address: string, value: number): string => (value === 0 || address === '' ? '' : withPort(address, value));
  return {
    ...settings,
    ...zeroFlags(options, set),
    'nftables.masqueradeBit': 14,
    [`${section}.masqueradeAll`]: options.masqueradeAll,
    [`${section}.syncPeriod`]: options.iptablesSyncPeriod,
    [`${section}.minSyncPeriod`]: options.iptablesMinSyncPeriod,
    healthzBindAddress: port(options.healthzBindAddress, options.healthzPort),
    metricsBindAddress: port(options.metricsBindAddress, options.metricsPort),
  };
};

/** Zeros on the command line are not taken for defaults. */
const zeroFlags = (options: ProxyOptions, set: ReadonlySet<string>): Partial<Settings> =>
  Object.fromEntries(fieldRows.flatMap(([name, {flag}]) => (flag && set.has(flag) && flagValue(flag, options) === 0 ? [[name, 0]] : [])));

/** Flags of logging take precedence over a file; patterns of both count, those of the flags first. */
const loggingOfFlags = (options: ProxyOptions, set: ReadonlySet<string>, object: PlainObject): Partial<Settings> =>
  Object.fromEntries(
    fieldRows.flatMap(([name, {flag}]): [FieldName, Value][] => {
      if (!flag || !name.startsWith('logging.') || !set.has(flag)) return [];
      const value = flagValue(flag, options);
      if (name !== 'logging.vmodule') return [[name, value]];
      return [[name, [...(value as FieldTypes['modules']), ...((fieldAt(object, name) as FieldTypes['modules'] | undefined) ?? [])]]];
    }),
  );

const withHostname = (settings: Settings, {hostnameOverride}: ProxyOptions): Settings => {
  if (hostnameOverride === '') return settings;
  const name = hostnameOverride.trim().toLowerCase();
  if (name === '') throw new Error('empty hostname-override is invalid');
  return {...settings, hostnameOverride: name};
};

/** Returns the form of a value in files. */
export const writtenOf = (row: FieldRow, value: Value): unknown => (isTime(row) ? formatDuration(value as number) : value);
