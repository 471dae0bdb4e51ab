import {invalid, type FieldError} from '#src/api/field-error.js';

/** Rejects a path with an element `..`. */
export function* validateNoBacksteps(path: string, target: string): Iterable<FieldError> {
  if (target.split('/').includes('..')) yield invalid(path, target, "must not contain '..'");
}

/** Validates a relative path without `..`. */
export function* validateDescendingPath(path: string, target: string): Iterable<FieldError> {
  if (target.startsWith('/')) yield invalid(path, target, 'must be a relative path');
  yield* validateNoBacksteps(path, target);
}

/** Validates a relative path that does not begin with two dots, which volumes reserve. */
export function* validateUnreservedPath(path: string, target: string): Iterable<FieldError> {
  yield* validateDescendingPath(path, target);
  if (target.startsWith('..') && !target.startsWith('../')) yield invalid(path, target, "must not start with '..'");
}
