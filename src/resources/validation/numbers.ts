import {invalid, type FieldError} from '#src/api/field-error.js';

/** Validates a number that is absent or not negative. */
export function* nonNegative(path: string, value: number | null | undefined): Iterable<FieldError> {
  if ((typeof value === 'number' || typeof value === 'bigint') && value < 0)
    yield invalid(path, value, 'must be greater than or equal to 0');
}
