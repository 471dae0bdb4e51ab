import {sameContent} from '#src/api/equal.js';
import {invalid, type FieldError} from '#src/api/field-error.js';

export {sameContent};

export const immutableText = 'field is immutable';

/** Refuses any change of a field. */
export function* immutable(path: string, value: unknown, old: unknown, detail = immutableText): Iterable<FieldError> {
  if (!sameContent(value, old)) yield invalid(path, value, detail);
}
