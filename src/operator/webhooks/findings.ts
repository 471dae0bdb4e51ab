// The findings of a validation.

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

/** A warning shown to the user of the request, whether it is denied or not. */
export interface Warning {
  readonly warning: string;
}

/** A warning: `yield warning('spec.schedule: @daily is deprecated')`. */
export const warning = (text: string): Warning => ({warning: text});

/** A finding of a validation: a field error, which denies the request, or a warning. */
export type Finding = FieldError | Warning;

/** Findings, synchronous or asynchronous. */
export type Findings = Iterable<Finding> | AsyncIterable<Finding> | Promise<Iterable<Finding> | void> | void;

/** The maximum number of findings, which limits the size of the error. */
const maxFindings = 100;

/** Collects findings. */
export const collectFindings = async (findings: Findings): Promise<{readonly errors: FieldError[]; readonly warnings: string[]}> => {
  const errors: FieldError[] = [];
  const warnings: string[] = [];
  for await (const finding of (await findings) ?? []) {
    if ('warning' in finding) warnings.push(finding.warning);
    else errors.push(finding);
    if (errors.length + warnings.length >= maxFindings) break;
  }
  return {errors, warnings};
};
