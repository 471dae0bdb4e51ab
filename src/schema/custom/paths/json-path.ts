import {isPlainObject} from '#src/schema/decode/plain.js';
import {JsonPathError, parseJsonPath, type Step} from './json-path-parse.js';
import {isWhole} from '#src/schema/custom/numbers.js';

const members = (value: unknown): unknown[] => {
  if (Array.isArray(value)) return value;
  return isPlainObject(value) ? Object.values(value) : [];
};

const isNothing = (value: unknown): boolean => value === null || value === undefined;

/** A path with more values than this has none: each `..` can multiply them. */
const maxValues = 100_000;

const limited = (values: readonly unknown[]): readonly unknown[] => {
  if (values.length > maxValues) throw new JsonPathError('the path leads to too many values');
  return values;
};

const descended = (values: readonly unknown[], found: unknown[] = []): readonly unknown[] => {
  for (const value of values) {
    const inner = members(value);
    if (inner.length === 0) continue;
    found.push(value);
    descended(inner, limited(found) as unknown[]);
  }
  return found;
};

const sliced = (value: unknown, given: Extract<Step, {do: 'slice'}>): unknown[] => {
  if (!Array.isArray(value)) throw new JsonPathError(`${typeof value} is not array or slice`);
  const {length} = value;
  const start = given.start === undefined ? 0 : given.start < 0 ? given.start + length : given.start;
  const lastIndex = given.isIndex ? (given.start ?? 0) + 1 : (given.end ?? length);
  const end = lastIndex < 0 || (lastIndex === 0 && given.isIndex) ? lastIndex + length : lastIndex;
  if (start === end) return [];
  if (start >= length || start < 0) throw new JsonPathError(`array index out of bounds: index ${start}, length ${length}`);
  if (end > length || end < 0) throw new JsonPathError(`array index out of bounds: index ${end - 1}, length ${length}`);
  if (start > end) throw new JsonPathError(`starting index ${start} is greater than ending index ${end}`);
  const {step = 1} = given;
  if (step <= 0) throw new JsonPathError('step must be > 0');
  return value.slice(start, end).filter((_, at) => at % step === 0);
};

type Scalar = string | number | boolean;

const kindOf = (value: unknown): string =>
  typeof value === 'number' ? (isWhole(value) ? 'int' : 'float') : typeof value === 'bigint' ? 'int' : typeof value;

const comparisons: Readonly<Record<string, (left: Scalar, right: Scalar) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
};

const compares = (left: unknown, operator: string, right: unknown): boolean => {
  const compare = comparisons[operator];
  if (!compare) throw new JsonPathError(`unrecognized filter operator ${operator}`);
  const kinds = [kindOf(left), kindOf(right)];
  if (kinds.some(kind => kind === 'object' || kind === 'undefined')) throw new JsonPathError('invalid type for comparison');
  if (kinds[0] !== kinds[1]) throw new JsonPathError('incompatible types for comparison');
  if (kinds[0] === 'boolean' && operator !== '==' && operator !== '!=') throw new JsonPathError('invalid type for comparison');
  return compare(left as Scalar, right as Scalar);
};

const one = (values: readonly unknown[]): unknown => {
  if (values.length > 1) throw new JsonPathError('can only compare one element at a time');
  return values[0];
};

const passes = (item: unknown, {left, operator, right}: Extract<Step, {do: 'filter'}>): boolean => {
  if (operator === 'exists') return found(left, [item]).length > 0;
  const [lefts, rights] = [walked(left, [item]), walked(right, [item])];
  if (lefts.length === 0) return false;
  const value = one(lefts);
  return rights.length > 0 && compares(value, operator, one(rights));
};

/** Returns the values at the steps; none for a path that does not exist. */
const found = (steps: readonly Step[], values: readonly unknown[]): readonly unknown[] => {
  try {
    return walked(steps, values);
  } catch (error) {
    if (error instanceof JsonPathError) return values;
    throw error;
  }
};

const take = (step: Step, values: readonly unknown[]): readonly unknown[] => {
  switch (step.do) {
    case 'field':
      return values.flatMap(value => (isPlainObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []));
    case 'slice':
      return values.flatMap(value => (isNothing(value) ? [] : sliced(value, step)));
    case 'union':
      return step.of.flatMap(steps => walked(steps, values));
    case 'filter':
      return values.flatMap(value => {
        if (!Array.isArray(value)) throw new JsonPathError(`${String(value)} is not array or slice and cannot be filtered`);
        return value.filter(item => passes(item, step));
      });
    case 'value':
      return typeof step.value === 'string' ? [step.value] : values.map(() => step.value);
    case 'keyword':
      throw new JsonPathError(`unrecognized identifier ${step.name}`);
    case 'all':
      return values.flatMap(members);
    case 'descend':
      return descended(values);
  }
};

const walked = (steps: readonly Step[], values: readonly unknown[]): readonly unknown[] => {
  let current = values;
  for (const step of steps) current = limited(take(step, current));
  return current;
};

/**
 * Evaluates a path. Missing fields are no error; throws `JsonPathError` for a list that is too short, or for an index
 * of something else.
 */
export type JsonPath = (object: unknown) => readonly unknown[];

/**
 * Compiles a path in kubectl's dialect, such as `.status.conditions[?(@.type=="Ready")].status`. Throws `JsonPathError`
 * for an invalid one.
 */
export const jsonPath = (text: string): JsonPath => {
  const steps = parseJsonPath(text);
  return object => walked(steps, [object]);
};
