// Bounds the errors of one object by number and length, so that one request cannot cause a response of any size.

import type {FieldError} from './field-error.js';

/** The maximum number of errors of one object: a body of 3 MB can have a million. Differs from upstream, which has no limit. */
export const maxErrors = 1000;
/** The maximum total length of the errors in characters: each may show a large value. */
export const maxErrorText = 1024 * 1024;

/** Follows the errors of an object that has more than are collected. */
export const moreErrors: FieldError = {
  path: '',
  reason: 'FieldValueInvalid',
  detail: 'there are more errors than these; correct them to be told of the others',
};

/**
 * Returns the errors of several sources in order, up to `maxErrors` errors or `maxErrorText` characters, followed by `moreErrors`
 * when there are more. Sources are read lazily: generators do no work for errors that are not reported.
 */
export const collectErrors = (...sources: readonly Iterable<FieldError>[]): FieldError[] => {
  const errors: FieldError[] = [];
  let text = 0;
  for (const source of sources) {
    for (const error of source) {
      if (error === moreErrors || errors.length >= maxErrors || text >= maxErrorText) {
        errors.push(moreErrors);
        return errors;
      }
      errors.push(error);
      text += error.path.length + error.detail.length;
    }
  }
  return errors;
};

/** Returns whether there is any error. */
export const isWrong = (errors: Iterable<FieldError>): boolean => {
  for (const _ of errors) return true;
  return false;
};
