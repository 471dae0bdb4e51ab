import {invalid, type FieldError} from '#src/api/field-error.js';
import {patternText} from '#src/api/names.js';
import {percentOf, type IntOrPercent} from '#src/model/int-or-percent.js';
import {nonNegative} from './numbers.js';

const percentProblem = patternText("a valid percent string must be a numeric string followed by an ending '%'", '[0-9]+%', '1%', '93%');

/** Returns the number of a count or percentage; 0 for other texts. */
export const amountOf = (value: IntOrPercent | undefined): number => {
  if (value === undefined) return 0;
  return percentOf(value) ?? (Number.isFinite(Number(value)) ? Number(value) : 0);
};

/** Validates a non-negative count or percentage. */
export function* positiveIntOrPercent(path: string, value: IntOrPercent | undefined): Iterable<FieldError> {
  if (typeof value === 'string') {
    if (percentOf(value) === undefined) yield invalid(path, value, percentProblem);
  } else yield* nonNegative(path, value);
}

/** Validates that a percentage is at most 100. */
export function* notMoreThanWhole(path: string, value: IntOrPercent | undefined): Iterable<FieldError> {
  if (value !== undefined && (percentOf(value) ?? 0) > 100) yield invalid(path, value, 'must not be greater than 100%');
}
