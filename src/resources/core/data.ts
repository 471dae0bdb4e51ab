import {forbiddenField, invalid, tooLong, type FieldError} from '#src/api/field-error.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {dataKeyProblems} from '#src/resources/validation/names.js';

/** The size limit of a ConfigMap or Secret. */
const dataLimit = 1024 * 1024;

const whenSet = 'field is immutable when `immutable` is set';

/** Returns the decoded length of all base64 texts of a map; null counts as empty. */
export const decodedSize = (data: Readonly<Record<string, string | null>> | undefined): number => {
  let size = 0;
  for (const base64 of Object.values(data ?? {})) if (base64 !== null) size += Buffer.byteLength(base64, 'base64');
  return size;
};

/** Validates that each key is usable as a file name. */
export function* validateKeys(data: Readonly<Record<string, unknown>> | undefined, path: string): Iterable<FieldError> {
  for (const key of Object.keys(data ?? {})) yield* validateKey(key, path);
}

export function* validateKey(key: string, path: string): Iterable<FieldError> {
  for (const problem of dataKeyProblems(key)) yield invalid(`${path}[${key}]`, key, problem);
}

/** Validates the size of all values together. */
export function* validateSize(size: number, path: string): Iterable<FieldError> {
  if (size > dataLimit) yield tooLong(path, dataLimit);
}

/** Validates that an object with `immutable: true` keeps it and the given fields. */
export function* validateImmutable<T extends {immutable?: boolean}>(
  object: Readonly<T>,
  old: Readonly<T>,
  fields: readonly (keyof T & string)[],
): Iterable<FieldError> {
  if (!old.immutable) return;
  if (!object.immutable) yield forbiddenField('immutable', whenSet);
  for (const field of fields) {
    // Data given as empty is other than none.
    if (!semanticallyEqual(object[field], old[field]) || givenEmpty(object, field)) yield forbiddenField(field, whenSet);
  }
}
