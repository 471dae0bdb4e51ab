import {semanticallyEqual} from '#src/api/equal.js';
import {invalid, type FieldError} from '#src/api/field-error.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';

export {semanticallyEqual};

// Validation of immutable fields.

export const immutableText = 'field is immutable';

/** Validates that a field is unchanged. */
export function* immutable(path: string, value: unknown, old: unknown, detail = immutableText): Iterable<FieldError> {
  if (!semanticallyEqual(value, old)) yield invalid(path, value, detail);
}

/** Does the same for a value that errors show in its internal form; `type` is its internal type. */
export function* immutableInternal(
  path: string,
  type: string,
  value: object | undefined,
  old: object | undefined,
  detail = immutableText,
): Iterable<FieldError> {
  if (!semanticallyEqual(value, old)) yield invalid(path, value && internalForm(type, value), detail);
}
