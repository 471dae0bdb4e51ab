// Bounds the errors of one object by number and length, so that one request cannot cause a response of any size.

import type {Steps} from '#src/base/steps.js';
import type {FieldError} from './field-error.js';

/**
 * The maximum number of errors of one object: a body of 3 MB can have a million. Differs from upstream, which has no
 * limit.
 */
export const maxErrors = 1000;
/** The maximum total length of the errors in characters: each may show a large value. */
export const maxErrorText = 1024 * 1024;

/** The length of the end of a long error, with the reason, that is shown after a part of its value. */
const endLength = 1024;

/**
 * Returns an error of at most about `maxErrorText` characters: values in their internal form can be many times as long
 * as in a body.
 */
const shortened = (error: FieldError): FieldError => {
  const {detail} = error;
  if (detail.length <= maxErrorText) return error;
  const beginning = detail.slice(0, maxErrorText - endLength);
  const left = detail.length - beginning.length - endLength;
  return {...error, detail: `${beginning}... (${left} characters more) ...${detail.slice(-endLength)}`};
};

/** Follows the errors of an object that has more than are collected. */
export const moreErrors: FieldError = {
  path: '',
  reason: 'FieldValueInvalid',
  detail: 'there are more errors than these; they are reported once these are corrected',
};

/** Errors as they are found, and undefined between them, where the search for more may pause. */
export type Findings = Iterable<FieldError | undefined>;

/** The errors of one object within the bounds. */
class Collected {
  readonly errors: FieldError[] = [];
  #text = 0;

  /** Adds an error. Returns false, after `moreErrors`, beyond the bounds. */
  add(full: FieldError): boolean {
    const error = shortened(full);
    if (error === moreErrors || this.errors.length >= maxErrors || this.#text >= maxErrorText) {
      this.errors.push(moreErrors);
      return false;
    }
    this.errors.push(error);
    this.#text += error.path.length + error.detail.length;
    return true;
  }
}

/**
 * Returns the errors of several sources in order, up to `maxErrors` errors or `maxErrorText` characters, followed by
 * `moreErrors` when there are more. A single longer error is shortened. Sources are read lazily: generators do no work
 * for errors that are not reported.
 */
export const collectErrors = (...sources: readonly Findings[]): FieldError[] => {
  const collected = new Collected();
  for (const source of sources) for (const error of source) if (error && !collected.add(error)) return collected.errors;
  return collected.errors;
};

/** As `collectErrors`, in steps where the sources may pause. */
export const collectErrorsInSteps = function* (...sources: readonly Findings[]): Steps<FieldError[]> {
  const collected = new Collected();
  for (const source of sources)
    for (const error of source) {
      if (!error) yield;
      else if (!collected.add(error)) return collected.errors;
    }
  return collected.errors;
};

/** Returns whether there is any error. */
export const isWrong = (errors: Findings): boolean => {
  for (const error of errors) if (error) return true;
  return false;
};
