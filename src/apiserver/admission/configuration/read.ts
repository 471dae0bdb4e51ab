import type {FieldError} from '#src/api/field-error.js';

/** A configuration, with all its errors. */
export interface Read<T> {
  readonly value: T;
  readonly errors: readonly FieldError[];
}
