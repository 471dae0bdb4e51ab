import type {FieldError} from './field-error.js';

/** No more errors are taken from the rules of one object: a body of 3 MB can hold a million mistakes. Differs from upstream, which has no limit. */
export const maxErrors = 1000;
/** No more errors are taken once those there are have so many characters together: each may show a large value. */
export const maxErrorText = 1024 * 1024;

/** Stands behind the errors of an object that has more than are taken. */
export const moreErrors: FieldError = {path: '', reason: 'FieldValueInvalid', detail: 'there are more errors than these; correct them to be told of the others'};

/**
 * The errors of several sources in order, read only as far as they are taken: `mostErrors` of them or `mostErrorText` characters, and `moreErrors`
 * behind them where there are more. Rules that yield their errors one by one do no work for those that nobody is told of.
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

/** Whether rules find anything wrong at all. */
export const isWrong = (errors: Iterable<FieldError>): boolean => {
  for (const _ of errors) return true;
  return false;
};
