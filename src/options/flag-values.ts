import {formatDuration} from '#src/api/duration.js';
import {optionName, type FlagRow, type FlagTable, type OptionsOf} from './flag.js';
import type {FlagType, FlagValues} from './types.js';

const csv = (items: readonly string[]): string =>
  items.map(item => (/[",\n]/.test(item) ? `"${item.replaceAll('"', '""')}"` : item)).join(',');
const bracketed = (items: readonly string[]): string => `[${csv(items)}]`;
const pairs =
  (separator: string) =>
  (map: ReadonlyMap<string, string>): string =>
    [...map]
      .map(([key, value]) => `${key}${separator}${value}`)
      .sort()
      .join(',');

/** Formats values by flag type, as command lines of Kubernetes' components show them. */
const formatters: {readonly [T in FlagType]: (value: FlagValues[T]) => string} = {
  bool: String,
  int: String,
  int32: String,
  port: String,
  float: String,
  duration: formatDuration,
  quantity: String,
  string: String,
  path: String,
  ip: String,
  url: String,
  cidr: String,
  version: value => (value === 'none' ? 'false' : value === 'line' ? 'true' : value),
  strings: bracketed,
  ips: bracketed,
  cidrs: items => items.join(','),
  each: bracketed,
  map: pairs('='),
  switches: pairs('='),
  componentMap: pairs('='),
  thresholds: pairs('<'),
  multimap: map => [...map].flatMap(([key, values]) => values.map(value => `${key}:${value}`)).join(','),
  portRange: ({from, to}) => (from === 0 && to === 0 ? '' : `${from}-${to}`),
  taints: items => bracketed(items.map(({key, value, effect}) => `${key}${value ? `=${value}` : ''}:${effect}`)),
  sniPairs: items =>
    `[${items.map(({certFile, keyFile, patterns}) => `${certFile},${keyFile}${patterns.length > 0 ? `:${patterns.join(',')}` : ''}`).join(';')}]`,
};

/** Returns the effective values of all flags as text. Flags contain no secrets: they name files that do. */
export const flagValues = <R>(table: Pick<FlagTable<R>, 'rows'>, options: OptionsOf<R>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries<FlagRow>(table.rows as Record<string, FlagRow>).map(([flag, {type}]) => {
      const value = (options as Readonly<Record<string, unknown>>)[optionName(flag)];
      return [flag, value === undefined ? '' : (formatters[type] as (value: unknown) => string)(value)];
    }),
  );
