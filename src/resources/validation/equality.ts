import {semanticallyEqual} from '#src/api/equal.js';
import {invalid, type FieldError} from '#src/api/field-error.js';
import {internalForm} from './internal-form.js';

export {semanticallyEqual};

export const immutableText = 'field is immutable';

/** Refuses any change of a field. */
export function* immutable(path: string, value: unknown, old: unknown, detail = immutableText): Iterable<FieldError> {
  if (!semanticallyEqual(value, old)) yield invalid(path, value, detail);
}

/** The same for a value that is shown as the original holds it; `type` is one of its names there. */
export function* immutableInternal(path: string, type: string, value: object | undefined, old: object | undefined, detail = immutableText): Iterable<FieldError> {
  if (!semanticallyEqual(value, old)) yield invalid(path, value && internalForm(type, value), detail);
}
