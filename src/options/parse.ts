// Parses a command line against a program's flag table: splits it into flags and arguments (grammar.ts), parses each
// value by its type and validates it (schema.ts), and then the rules between flags. Any error is an `OptionError`.

import {readGates} from './feature-gates.js';
import type {FeatureGates} from './feature-gates.js';
import type {FlagRow, FlagTable, Given, OptionsOf} from './flag.js';
import {parseArguments, type Assignment, type ParsedArguments} from './grammar.js';
import {OptionError} from './option-error.js';
import {readValues, resolveValues} from './schema.js';
import type {VersionRequest} from './types.js';
import {binaryVersion, checkReportedVersion, readVersions} from './versions.js';
import type {Versions} from './versions.js';

/** A parsed command line. */
export interface Parsed<R> {
  readonly options: OptionsOf<R>;
  /** The canonical names of the flags on the command line, without dashes. */
  readonly set: ReadonlySet<string>;
  readonly args: readonly string[];
  /** The flags and their texts, in the order in which they were given. */
  readonly assignments: readonly Assignment[];
  /** Warnings to be logged at start, one line each. */
  readonly warnings: readonly string[];
  readonly gates: FeatureGates;
  readonly versions: Versions;
  readonly help: boolean;
  readonly version: VersionRequest;
}

/** Whether a value is non-empty: `--flag=` and `--switch=false` do not set a flag. */
const isSet = (value: unknown): boolean => {
  if (typeof value === 'string') return value !== '';
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return value !== false;
};

const checkRelatedFlags = (table: FlagTable, values: ReadonlyMap<string, unknown>, given: Given): void => {
  for (const flag of values.keys()) {
    if (!given.has(flag)) continue;
    const row: FlagRow = table.rows[flag]!;
    const excluded = row.excludes?.find(other => given.has(other));
    if (excluded) throw new OptionError(`--${flag} and --${excluded} are mutually exclusive`);
    const missing = row.requires?.find(other => !given.has(other));
    if (missing) throw new OptionError(`--${flag} requires --${missing}`);
  }
};

/** Throws an `OptionError` for a flag that needs a gate which is off. */
export const checkFlagGates = <R>(table: FlagTable<R>, set: Iterable<string>, gates: Pick<FeatureGates, 'enabled'>): void => {
  const rows = table.rows as Readonly<Record<string, FlagRow>>;
  for (const flag of set) {
    const gate = rows[flag]?.gate;
    if (gate && !gates.enabled(gate)) throw new OptionError(`--${flag} requires the feature gate ${gate}, which is off`);
  }
};

const warningsFor = (table: FlagTable, values: ReadonlyMap<string, unknown>): string[] => {
  const warnings: string[] = [];
  for (const [flag, value] of values) {
    const row: FlagRow = table.rows[flag]!;
    if (row.deprecated) warnings.push(`Flag --${flag} has been deprecated, ${row.deprecated}`);
    const instead = row.deprecatedValues?.[String(value)];
    if (instead) warnings.push(`Flag --${flag}=${value} has been deprecated, ${instead}`);
    if (row.withoutEffect) warnings.push(`Flag --${flag} has no effect: ${row.withoutEffect}`);
    if (row.implementation === 'pending') warnings.push(`Flag --${flag} has no effect: what it governs is not part of this build yet`);
  }
  return warnings;
};

const checkRules = <R>(table: FlagTable<R>, options: OptionsOf<R>, given: Given): void => {
  for (const rule of table.rules) {
    const error = rule(options, given);
    if (error) throw new OptionError(error);
  }
};

const checkArguments = ({program, positional}: {readonly program: string; readonly positional?: string}, args: readonly string[]): void => {
  const unexpected = positional ? undefined : args.find(Boolean);
  if (unexpected !== undefined) throw new OptionError(`${program} does not take any arguments, got ${JSON.stringify(unexpected)}`);
};

const listValue = (values: ReadonlyMap<string, unknown>, flag: string): readonly string[] => (values.get(flag) ?? []) as readonly string[];
const mapValue = (values: ReadonlyMap<string, unknown>, flag: string): ReadonlyMap<string, string> =>
  (values.get(flag) ?? new Map()) as ReadonlyMap<string, string>;

const versionFlags: ReadonlySet<string> = new Set(['emulated-version', 'min-compatibility-version', 'feature-gates']);

const readRelease = (values: ReadonlyMap<string, unknown>): {readonly versions: Versions} & ReturnType<typeof readGates> => {
  const versions = readVersions(listValue(values, 'emulated-version'), listValue(values, 'min-compatibility-version'));
  return {versions, ...readGates(mapValue(values, 'feature-gates'), versions)};
};

/**
 * Returns the feature gates of a command line before its other flags are parsed. Throws an `OptionError` for invalid
 * gates or versions.
 */
export const readGatesOf = <R>(table: FlagTable<R>, argv: readonly string[]): FeatureGates => {
  const untyped = table as unknown as FlagTable;
  return readRelease(
    readValues(
      untyped.rows,
      parseArguments(untyped, argv).assignments.filter(({flag}) => versionFlags.has(flag)),
    ),
  ).gates;
};

/**
 * Parses a command line against a program's table, without side effects. Throws an `OptionError` for an invalid command
 * line. Rules between flags are not applied if only help or the version is requested.
 */
export const parseFlags = <R>(table: FlagTable<R>, argv: readonly string[]): Parsed<R> =>
  parseAssignments(table, parseArguments(table as unknown as FlagTable, argv));

/** Parses a command line that was split before, as `parseFlags` does. */
export const parseAssignments = <R>(table: FlagTable<R>, {assignments, args}: ParsedArguments): Parsed<R> => {
  const untyped = table as unknown as FlagTable;
  const values = readValues(untyped.rows, assignments);
  const options = resolveValues(untyped.rows, values) as OptionsOf<R>;
  const {versions, gates, warnings} = readRelease(values);
  const help = values.get('help') === true;
  // A program may have a flag of this name for something else.
  const asked = untyped.rows['version']?.type === 'version' ? values.get('version') : undefined;
  const version = (asked ?? 'none') as VersionRequest;
  const parsed: Parsed<R> = {
    options,
    set: new Set(values.keys()),
    args,
    assignments,
    warnings: [...warningsFor(untyped, values), ...warnings],
    gates,
    versions,
    help,
    version,
  };
  if (help || version === 'line' || version === 'raw') return parsed;

  if (version !== 'none') checkReportedVersion(version);
  checkArguments(table, args);
  const given: Given = {
    has: flag => values.has(flag) && isSet(values.get(flag)),
    gates,
    versions: {emulated: versions.emulated, binary: binaryVersion},
  };
  checkRelatedFlags(untyped, values, given);
  if (!table.hasConfiguration) checkFlagGates(table, [...values.keys()].filter(given.has), gates);
  checkRules(table, options, given);
  return {...parsed, options: {...options, ...table.derive?.(options, given)}};
};
