import {jsonText} from '#src/base/json/json.js';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import {parseDuration} from '#src/api/duration.js';
import {parseQuantity, QuantityError, quantityNumber} from '#src/api/quantity.js';
import {parseLabelSelector, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {patternOf} from './pattern.js';
import {never, type DurationRange, type UsageSetting} from './behavior.js';

/** An invalid rule. The message is one line and begins with the field path. */
export class RuleError extends Error {
  override readonly name = 'RuleError';

  constructor(at: string, message: string, options?: ErrorOptions) {
    super(at ? `${at}: ${message}` : message, options);
  }
}

/** A field of a rule: its reader and its documentation. */
export interface Field<T> {
  /** The accepted values, in a few words. */
  readonly expects: string;
  readonly read: (value: unknown, at: string) => T;
}
export type Fields = Readonly<Record<string, Field<unknown>>>;
export type ValuesOf<F extends Fields> = {[K in keyof F]?: F[K] extends Field<infer T> ? T : never};

const format = (value: unknown): string => {
  const text = jsonText(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const field = <T>(expects: string, read: (value: unknown, at: string) => T | undefined): Field<T> => ({
  expects,
  read(value, at) {
    const found = read(value, at);
    if (found === undefined) throw new RuleError(at, `must be ${expects}, got ${format(value)}`);
    return found;
  },
});

/** Reads the fields of an object; an unknown field is an error. */
export const fieldsOf = <F extends Fields>(fields: F, value: unknown, at: string): ValuesOf<F> => {
  if (!isObject(value)) throw new RuleError(at, `must be an object, got ${format(value)}`);
  const values: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(value)) {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!known) throw new RuleError(at, `unknown field ${JSON.stringify(name)}; there are ${Object.keys(fields).join(', ')}`);
    if (given !== null) values[name] = known.read(given, at ? `${at}.${name}` : name);
  }
  return values as ValuesOf<F>;
};

export const object = <F extends Fields>(fields: F): Field<ValuesOf<F>> => ({
  expects: 'an object',
  read: (value, at) => fieldsOf(fields, value, at),
});

/** A list, or a single item for a list of one. */
export const listOf = <T>(item: Field<T>, expects = `${item.expects}, or a list of them`): Field<readonly T[]> => ({
  expects,
  read: (value, at) => (Array.isArray(value) ? value.map((one, i) => item.read(one, `${at}[${i}]`)) : [item.read(value, at)]),
});

/** A list. */
export const items = <T>(read: (value: unknown, at: string) => T): Field<readonly T[]> =>
  field('a list', (value, at) => (Array.isArray(value) ? value.map((one, i) => read(one, `${at}[${i}]`)) : undefined));

export const text = field('a text', value => (typeof value === 'string' ? value : undefined));

export const oneOf = <T extends string>(choices: readonly T[]): Field<T> =>
  field(choices.join(', '), value => choices.find(choice => choice === value));

/** A pattern in which `*` matches anything. */
export const pattern = field('a text, `*` for anything', value => (typeof value === 'string' ? patternOf(value) : undefined));

export const selector = field<LabelSelector>('a label selector', (value, at) => {
  if (typeof value !== 'string') return undefined;
  try {
    return parseLabelSelector(value);
  } catch (error) {
    throw new RuleError(at, (error as Error).message, {cause: error});
  }
});

export const mapOf = <T>(takes: string, read: (value: unknown, key: string, at: string) => T): Field<Record<string, T>> =>
  field(takes, (value, at) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, read(one, key, `${at}[${key}]`)])) : undefined,
  );

export const patterns = mapOf('texts by their keys, `*` for anything', (value, _, at) => pattern.read(value, at));

const checkedKey = (key: string, at: string): void => {
  const [problem] = labelKeyProblems(key);
  if (problem) throw new RuleError(at, problem);
};

export const labels = mapOf('texts by their keys', (value, key, at) => {
  checkedKey(key, at);
  const read = text.read(value, at);
  const [problem] = labelValueProblems(read);
  if (problem) throw new RuleError(at, problem);
  return read;
});

export const annotations = mapOf('texts by their keys', (value, key, at) => {
  checkedKey(key, at);
  return text.read(value, at);
});

const quantity = field('a quantity such as 500m or 2Gi', value => {
  const written = typeof value === 'number' ? String(value) : value;
  if (typeof written !== 'string') return undefined;
  try {
    return quantityNumber(parseQuantity(written)) >= 0 ? written : undefined;
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
});

export const quantities = mapOf('quantities by the names of resources', (value, key, at) => {
  checkedKey(key, at);
  return quantity.read(value, at);
});

/** An amount, or a fraction of the request; `scale` converts units. */
export const usage = (scale: number): Field<UsageSetting> =>
  field('a quantity, or a part of the request such as 50%', (value, at) => {
    const part = typeof value === 'string' ? /^(\d+(?:\.\d+)?)%$/.exec(value)?.[1] : undefined;
    return part === undefined ? {amount: quantityNumber(parseQuantity(quantity.read(value, at))) * scale} : {ofRequest: Number(part) / 100};
  });

const durationMs = (written: string): number | undefined => {
  const ms = parseDuration(written);
  return ms === undefined || ms < 0 ? undefined : Math.round(ms);
};

export const duration = field('a duration such as 1m30s', value => (typeof value === 'string' ? durationMs(value) : undefined));

/** A duration: fixed, random within a range, or never. */
export const durationRange = field<DurationRange>('a duration such as 500ms, a range such as 1s..5s, or never', value => {
  if (value === 'never') return never;
  if (typeof value !== 'string') return undefined;
  const [first = '', second = first, ...more] = value.split('..');
  const [min, max] = [durationMs(first), durationMs(second)];
  return min === undefined || max === undefined || max < min || more.length > 0 ? undefined : {min, max};
});

export const exitCode = field('a whole number from 0 to 255', value =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255 ? value : undefined,
);

export const wholeNumber = field('a whole number', value =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined,
);

export const bool = field('true or false', value => (typeof value === 'boolean' ? value : undefined));
