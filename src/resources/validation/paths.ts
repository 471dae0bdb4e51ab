import {invalid, type FieldError} from '#src/api/field-error.js';

/** Rejects a path with an element `..`. */
export function* withoutBacksteps(path: string, target: string): Iterable<FieldError> {
  if (target.split('/').includes('..')) yield invalid(path, target, "must not contain '..'");
}

/** Validates a relative path without `..`. */
export function* descendingPath(path: string, target: string): Iterable<FieldError> {
  if (target.startsWith('/')) yield invalid(path, target, 'must be a relative path');
  yield* withoutBacksteps(path, target);
}

/** Validates a relative path that does not begin with two dots, which volumes reserve. */
export function* unreservedPath(path: string, target: string): Iterable<FieldError> {
  yield* descendingPath(path, target);
  if (target.startsWith('..') && !target.startsWith('../')) yield invalid(path, target, "must not start with '..'");
}
