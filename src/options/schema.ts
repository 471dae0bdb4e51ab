// The values of flags. Convict parses, accumulates and validates those that are given (its formats are the flag types);
// the defaults of all others are computed here, since a schema of all 173 flags of the API server costs 10 ms of each
// start, three times as much. A test validates all defaults by convict.

import convict from 'convict';
import {optionName} from './flag.js';
import type {FlagRow, OptionsOf, Range} from './flag.js';
import type {Assignment} from './grammar.js';
import {OptionError} from './option-error.js';
import {flagTypes} from './types.js';
import type {FlagType} from './types.js';

type Value = unknown;
type Values = Record<string, Value>;
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

/**
 * The format of a flag type in convict: parses the text of each occurrence, and validates the value against the flag's
 * row.
 */
const formatOf = (type: FlagType): convict.Format => ({
  name: formatName(type),
  coerce: ((text: string, config: convict.Config<Values>, option: string): Value =>
    flagTypes[type].read(text, (config.get(option) ?? undefined) as never)) as convict.Format['coerce'] & {},
  validate(value: Value, {row}) {
    const error = validateValue(row as FlagRow, value);
    if (error) throw new Error(error);
  },
});

/** Differs from the names of convict's own formats, such as `port`. */
const formatName = (type: FlagType): string => `${type} flag`;

for (const type of Object.keys(flagTypes) as FlagType[]) convict.addFormat(formatOf(type));

/**
 * Returns the convict schema of a table. Keys are option names. Defaults are null: a repeated flag adds to what was
 * given before only.
 */
export const convictSchema = (rows: Readonly<Record<string, FlagRow>>): convict.Schema<Values> =>
  Object.fromEntries(
    Object.entries(rows).map(([flag, row]) => [
      optionName(flag),
      {doc: row.help, default: null, nullable: true, format: formatName(row.type) as never, row} satisfies convict.SchemaObj<Value>,
    ]),
  );

/**
 * Returns the values of the flags of a command line by their names, parsed and validated by convict. Throws an
 * `OptionError`.
 */
export const readValues = (rows: Readonly<Record<string, FlagRow>>, assignments: readonly Assignment[]): Map<string, Value> => {
  const given = new Set(assignments.map(({flag}) => flag));
  const values = new Map<string, Value>();
  if (given.size === 0) return values;
  const config = convict(convictSchema(Object.fromEntries(Array.from(given, flag => [flag, rows[flag]!]))), {env: {}, args: []});
  for (const {flag, text} of assignments) {
    try {
      config.set(optionName(flag), text);
    } catch (cause) {
      throw new OptionError(`invalid argument ${JSON.stringify(text)} for --${flag}: ${(cause as Error).message}`, {cause});
    }
  }
  for (const flag of given) values.set(flag, config.get(optionName(flag)));
  try {
    config.validate({allowed: 'strict'});
  } catch (cause) {
    throw firstValidationError(rows, values, cause);
  }
  return values;
};

/** Returns the values of a table: the given ones, and the defaults of all others. */
export const resolveValues = (rows: Readonly<Record<string, FlagRow>>, given: ReadonlyMap<string, Value>): Values => ({
  ...defaultsOf({rows}),
  ...Object.fromEntries(Array.from(given, ([flag, value]) => [optionName(flag), value])),
});

/** Convict reports all invalid values in one text, of which the user gets the first in the words of this program. */
const firstValidationError = (rows: Readonly<Record<string, FlagRow>>, given: ReadonlyMap<string, Value>, cause: unknown): unknown => {
  for (const [flag, value] of given) {
    const error = validateValue(rows[flag]!, value);
    if (error) return new OptionError(`invalid value for --${flag}: ${error}`, {cause});
  }
  return cause;
};
