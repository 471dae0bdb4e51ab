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

/** What is wrong with a value of this flag, in a few words; nothing when it may be used. */
export const validateValue = (row: FlagRow, value: Value): string | undefined =>
  validateChoice(row, value) ?? validateRange(row, value) ?? row.check?.(value as never);

/** The value a flag has when it is not given. */
export const defaultOf = (row: FlagRow): Value => {
  const type = flagTypes[row.type];
  return row.default === undefined ? type.zero : type.read(row.default);
};

/** The typed values of a table or a section when nothing is given; `overrides` are taken as they are. */
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

/** The convict schema of a table's rows; keys are option names. */
export const convictSchema = (rows: Readonly<Record<string, FlagRow>>): convict.Schema<Record<string, Value>> =>
  Object.fromEntries(Object.entries(rows).map(([flag, row]) => [optionName(flag), property(row, defaultOf(row))]));

/**
 * All values of a table: those given, checked by convict against the rows, and the defaults of the rest. Defaults are known to be
 * good (a test checks every one), so only the given flags go through the schema: start-up pays for what was written, not for 250 rows.
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
