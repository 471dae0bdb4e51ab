// The configuration of an agent, from its flags and its file.

import {formatDuration, parseDuration} from '#src/api/duration.js';
import {optionName, type FlagRow, type OptionsOf} from '#src/options/flag.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {defaultEndpoint} from '#src/transport/otlp/target.js';
import {fieldRows, type FieldRow, type FieldTypes, type Settings} from './fields.js';

export type PlatletOptions = OptionsOf<typeof platletFlags>;

type Value = FieldTypes[keyof FieldTypes];

const zeros: FieldTypes = {
  bool: false,
  maybe: undefined,
  int: 0,
  float: 0,
  string: '',
  duration: 0,
  interval: 0,
  strings: [],
  map: {},
  multimap: {},
  bools: {},
  objects: [],
  object: {},
};

/** Returns the value of a field from its written form. */
export const valueOf = (row: FieldRow, written: unknown): Value =>
  !isTime(row) ? (written as Value) : typeof written === 'number' ? written / 1_000_000 : (parseDuration(written as string) ?? 0);

const isTime = ({type}: FieldRow): boolean => type === 'duration' || type === 'interval';

/** Returns the written form of a value. */
export const writtenOf = (row: FieldRow, value: Value): unknown => (isTime(row) ? formatDuration(value as number) : value);

/** Whether any code reads a field. */
export const hasEffect = ({flag, withoutEffect}: FieldRow): boolean =>
  flag === undefined ? !withoutEffect : flagHasEffect((platletFlags.rows as Readonly<Record<string, FlagRow>>)[flag]);

const flagHasEffect = (row: FlagRow | undefined): boolean => row?.implementation !== 'pending' && !row?.withoutEffect;

/** Returns the default of a field: with a configuration file, or with flags only. */
export const defaultOf = (row: FieldRow, withFile: boolean): Value => {
  const written = withFile ? row.default : (row.flagDefault ?? row.default);
  return written === undefined ? zeros[row.type] : valueOf(row, written);
};

const plain = (value: unknown): unknown => (value instanceof Map ? Object.fromEntries(value as ReadonlyMap<string, unknown>) : value);

/** `0:memory=1Gi,hugepages-2Mi=…;1:…` for each NUMA node. */
const memoryReservations = (texts: readonly string[]): FieldTypes['objects'] =>
  texts
    .flatMap(text => text.split(';'))
    .map(text => {
      const [node = '', limits = ''] = text.split(':', 2);
      return {
        numaNode: Number(node),
        limits: Object.fromEntries(
          limits.split(',').map(limit => [limit.slice(0, limit.indexOf('=')), limit.slice(limit.indexOf('=') + 1)]),
        ),
      };
    });

/** Returns the value of a field set by its flag. */
const flagValue = (flag: string, options: PlatletOptions): Value => {
  const value = plain((options as Readonly<Record<string, unknown>>)[optionName(flag)]);
  switch (flag) {
    case 'reserved-memory':
      return memoryReservations(value as readonly string[]);
    case 'feature-gates':
      return Object.fromEntries(
        Object.entries(value as Record<string, string>).map(([gate, text]) => [gate, /^(?:1|t|true)$/i.test(text)]),
      );
    case 'vmodule':
      return (value as readonly string[]).map(item => {
        const [filePattern = '', verbosity = '0'] = item.split('=');
        return {filePattern, verbosity: Number(verbosity)};
      });
    case 'container-log-max-size':
    case 'log-text-info-buffer-size':
      return String(value);
    default:
      return value as Value;
  }
};

/** Returns the configuration of flags and defaults only. */
export const settingsOfFlags = (
  options: PlatletOptions,
  set: ReadonlySet<string>,
  base: Partial<Settings> = {},
  withFile = false,
): Settings =>
  Object.fromEntries(
    fieldRows.map(([name, row]): [string, Value] => {
      if (row.flag && set.has(row.flag)) {
        const value = flagValue(row.flag, options);
        // Feature gates of the command line override those of the file, gate by gate.
        return [name, name === 'featureGates' ? {...base.featureGates, ...(value as FieldTypes['bools'])} : value];
      }
      return [name, base[name] ?? defaultOf(row, withFile)];
    }),
  ) as unknown as Settings;

/** Returns the configuration as an object with the original's fields, without apiVersion and kind. */
export const writtenSettings = (settings: Settings): Record<string, unknown> => {
  const result: Record<string, unknown> = {};
  for (const [name, row] of fieldRows) {
    const path = name.split('.');
    const last = path.pop() ?? '';
    let at = result;
    for (const part of path) at = (at[part] ??= {}) as Record<string, unknown>;
    at[last] = writtenOf(row, name === 'staticPodURLHeader' ? masked(settings[name]) : settings[name]);
  }
  return result;
};

const masked = (headers: FieldTypes['multimap']): FieldTypes['multimap'] =>
  Object.fromEntries(Object.keys(headers).map(name => [name, ['<masked>']]));

/** Returns the OTLP endpoint and the sampling rate of traces. */
export const tracingOf = (settings: Settings): {readonly endpoint: string; readonly samplingRatePerMillion: number} => ({
  endpoint: settings['tracing.endpoint'] || defaultEndpoint,
  samplingRatePerMillion: settings['tracing.samplingRatePerMillion'],
});
