// What a validation yields.

import type {FieldError} from '#src/api/field-error.js';

export {
  duplicate,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  forbiddenField as forbidden,
  type FieldError,
} from '#src/api/field-error.js';

/** A warning that the user of the request sees, whatever becomes of it. */
export interface Warning {
  readonly warning: string;
}

/** A warning: `yield warning('spec.schedule: @daily is deprecated')`. */
export const warning = (text: string): Warning => ({warning: text});

/** What a validation yields: errors of fields, which deny the request, and warnings. */
export type Finding = FieldError | Warning;

/** Findings at once, one after the other, or later. */
export type Findings = Iterable<Finding> | AsyncIterable<Finding> | Promise<Iterable<Finding> | void> | void;

/** More findings than that are not collected: a request should not produce an error of any length. */
const maxFindings = 100;

/** Collects findings. */
export const collected = async (findings: Findings): Promise<{readonly errors: FieldError[]; readonly warnings: string[]}> => {
  const errors: FieldError[] = [];
  const warnings: string[] = [];
  for await (const finding of (await findings) ?? []) {
    if ('warning' in finding) warnings.push(finding.warning);
    else errors.push(finding);
    if (errors.length + warnings.length >= maxFindings) break;
  }
  return {errors, warnings};
};
