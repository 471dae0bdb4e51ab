import type {FieldError} from '#src/api/field-error.js';

/** A configuration as it was read, with everything that is wrong with it. */
export interface Read<T> {
  readonly value: T;
  readonly errors: readonly FieldError[];
}
