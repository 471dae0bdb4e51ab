import {invalid, type FieldError} from '#src/api/field-error.js';

/** Refuses a number below zero; one that is not there is fine. */
export function* nonNegative(path: string, value: number | null | undefined): Iterable<FieldError> {
  if ((typeof value === 'number' || typeof value === 'bigint') && value < 0) yield invalid(path, value, 'must be greater than or equal to 0');
}
