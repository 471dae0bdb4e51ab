import convict from 'convict';
import {optionName} from './flag.js';
import type {FlagRow, OptionsOf, Range} from './flag.js';
import {OptionError} from './option-error.js';
import {flagTypes} from './types.js';

type Value = unknown;
type Limit = keyof Range;

const limitText: Record<Limit, string> = {min: 'at least', max: 'at most', above: 'greater than'};

const isWithin: Record<Limit, (value: number, limit: number) => boolean> = {
  min: (value, limit) => value >= limit,
  max: (value, limit) => value <= limit,
  above: (value, limit) => value > limit,
};

const validateRange = (row: FlagRow, value: Value): string | undefined => {
  for (const limit of ['min', 'max', 'above'] as const) {
    const text = row.range?.[limit];
    if (text === undefined) continue;
    if (!isWithin[limit](value as number, flagTypes[row.type].read(String(text)) as number)) return `must be ${limitText[limit]} ${text}`;
  }
  return undefined;
};

const validateChoice = ({oneOf}: FlagRow, value: Value): string | undefined => {
  const invalid = oneOf && (Array.isArray(value) ? value : [value]).find(item => !oneOf.includes(item as string));
  return invalid === undefined ? undefined : `"${invalid}" is not one of ${oneOf!.filter(Boolean).join(', ')}`;
};

/** Validates a value of a flag. Returns an error in a few words, or undefined. */
export const validateValue = (row: FlagRow, value: Value): string | undefined =>
  validateChoice(row, value) ?? validateRange(row, value) ?? row.check?.(value as never);

/** Returns the default value of a flag. */
export const defaultOf = (row: FlagRow): Value => {
  const type = flagTypes[row.type];
  return row.default === undefined ? type.zero : type.read(row.default);
};

/** Returns the default values of a table or section; `overrides` are not validated. */
export const defaultsOf = <T extends {readonly rows: object}>(table: T, overrides: Partial<OptionsOf<T>> = {}): OptionsOf<T> => {
  const defaults = Object.entries<FlagRow>(table.rows as Record<string, FlagRow>).map(([flag, row]) => [optionName(flag), defaultOf(row)]);
  return {...Object.fromEntries(defaults), ...overrides} as OptionsOf<T>;
};

const property = (row: FlagRow, value: Value): convict.SchemaObj<Value> => ({
  doc: row.help,
  default: value,
  format(candidate: Value) {
    const error = validateValue(row, candidate);
    if (error) throw new Error(error);
  },
});

/** Returns the convict schema of a table. Keys are option names. */
export const convictSchema = (rows: Readonly<Record<string, FlagRow>>): convict.Schema<Record<string, Value>> =>
  Object.fromEntries(Object.entries(rows).map(([flag, row]) => [optionName(flag), property(row, defaultOf(row))]));

/**
 * Returns the values of a table: the given ones, validated by convict, and the defaults of all others. Only given flags are validated, which
 * saves start-up time; a test checks that all defaults are valid.
 */
export const resolveValues = (rows: Readonly<Record<string, FlagRow>>, given: ReadonlyMap<string, Value>): Record<string, Value> => {
  const options: Record<string, Value> = defaultsOf({rows});
  if (given.size === 0) return options;

  const config = convict(convictSchema(Object.fromEntries([...given.keys()].map(flag => [flag, rows[flag]!]))), {env: {}, args: []});
  for (const [flag, value] of given) config.set(optionName(flag), value);
  try {
    config.validate({allowed: 'strict'});
  } catch (cause) {
    throw firstValidationError(rows, given, cause);
  }
  return Object.assign(options, config.getProperties());
};

const firstValidationError = (rows: Readonly<Record<string, FlagRow>>, given: ReadonlyMap<string, Value>, cause: unknown): unknown => {
  for (const [flag, value] of given) {
    const error = validateValue(rows[flag]!, value);
    if (error) return new OptionError(`invalid value for --${flag}: ${error}`, {cause});
  }
  return cause;
};
