import {invalid, type FieldError} from '#src/api/field-error.js';

/** Refuses a path with an element `..`. */
export function* withoutBacksteps(path: string, target: string): Iterable<FieldError> {
  if (target.split('/').includes('..')) yield invalid(path, target, "must not contain '..'");
}

/** A path that stays below where it begins. */
export function* descendingPath(path: string, target: string): Iterable<FieldError> {
  if (target.startsWith('/')) yield invalid(path, target, 'must be a relative path');
  yield* withoutBacksteps(path, target);
}

/** A descending path whose first element does not begin with two dots: volumes keep such names for themselves. */
export function* unreservedPath(path: string, target: string): Iterable<FieldError> {
  yield* descendingPath(path, target);
  if (target.startsWith('..') && !target.startsWith('../')) yield invalid(path, target, "must not start with '..'");
}
