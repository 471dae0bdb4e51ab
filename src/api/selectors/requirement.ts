// One requirement of a label selector: its validation, evaluation and text form. label-selector.ts combines
// requirements.

import {invalid, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';

/** The operator of a requirement. `=` and `==` are equivalent but preserved. */
export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

/** One term of a label selector. `values` is empty for `exists` and `!`. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;

/** A signed 64-bit integer in decimal; undefined for anything else. */
const integer = (text: string): bigint | undefined => {
  if (!/^[+-]?[0-9]{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value >= least && value <= most ? value : undefined;
};

/** Returns the error of an invalid label key; `path` is shown in the message. */
export const keyError = (key: string, path: string): FieldError | undefined => {
  const problems = labelKeyProblems(key);
  return problems.length > 0 ? invalid(path, key, problems.join('; ')) : undefined;
};

const countError = ({operator, values}: LabelRequirement): string | undefined => {
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length === 0 ? "for 'in', 'notin' operators, values set can't be empty" : undefined;
    case '=':
    case '==':
    case '!=':
      return values.length === 1 ? undefined : 'exact-match compatibility requires one single value';
    case 'exists':
    case '!':
      return values.length === 0 ? undefined : 'values set must be empty for exists and does not exist';
    case 'gt':
    case 'lt':
      return values.length === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required";
  }
};

/** Yields the errors of a requirement. */
export const requirementErrors = function* (of: LabelRequirement): Iterable<FieldError> {
  const key = keyError(of.key, 'key');
  if (key) yield key;
  const count = countError(of);
  if (count) yield invalid('values', of.values, count);
  if (of.operator === 'gt' || of.operator === 'lt') {
    for (const [at, value] of of.values.entries()) {
      if (integer(value) === undefined) yield invalid(`values[${at}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer");
    }
  }
  for (const [at, value] of of.values.entries()) {
    const problems = labelValueProblems(value);
    if (problems.length > 0) yield invalid(`values[${at}][${of.key}]`, value, problems.join('; '));
  }
};

/** Returns whether labels meet the requirement. `!=`, `notin` and `!` are also met by objects without the label. */
export const meets = ({key, operator, values}: LabelRequirement, labels: Readonly<Record<string, string>>): boolean => {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'in':
    case '=':
    case '==':
      return value !== undefined && values.includes(value);
    case 'notin':
    case '!=':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
    case 'lt': {
      const have = integer(value ?? '');
      const bound = integer(values[0] ?? '');
      if (have === undefined || bound === undefined) return false;
      return operator === 'gt' ? have > bound : have < bound;
    }
  }
};

const signs = {'=': '=', '==': '==', '!=': '!=', in: ' in ', notin: ' notin ', gt: '>', lt: '<'} as const;

/** Formats the requirement for a query. */
export const requirementText = ({key, operator, values}: LabelRequirement): string => {
  if (operator === 'exists') return key;
  if (operator === '!') return `!${key}`;
  const list = [...values].sort().join(',');
  return `${key}${signs[operator]}${operator === 'in' || operator === 'notin' ? `(${list})` : list}`;
};
