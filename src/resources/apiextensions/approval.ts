import {invalid, required, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import type {Definition} from './types.js';

// Approval of APIs in the project's own groups, by an annotation. Validation rejects a new unapproved API; a controller
// reports the approval as a condition.

/** Whether an API in a protected group is approved, with the condition's reason and message. */
export interface Approval {
  readonly state: 'approved' | 'bypassed' | 'missing' | 'invalid';
  readonly reason: string;
}

const page = 'https://github.com/kubernetes/enhancements/pull/1111';

/** Reports whether a group is a protected one of the project, whose APIs need approval. */
export const isProtected = (group: string, {apiSuffix, domain}: Naming): boolean =>
  [apiSuffix, domain].some(own => group === own || group.endsWith(`.${own}`));

export const approvalOf = ({metadata}: Readonly<Definition>, naming: Naming): Approval => {
  const text = metadata?.annotations?.[naming.annotations.approved] ?? '';
  const needed = `protected groups must have approval annotation ${JSON.stringify(naming.annotations.approved)}`;
  if (text === '') return {state: 'missing', reason: `${needed}, see ${page}`};
  if (text.startsWith('unapproved')) return {state: 'bypassed', reason: `not approved: ${JSON.stringify(text)}`};
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?]/.test(text) && URL.canParse(text)) return {state: 'approved', reason: `approved in ${text}`};
  return {state: 'invalid', reason: `${needed} with either a URL or a reason starting with "unapproved", see ${page}`};
};

/** Rejects an API in a protected group without approval, unless the stored definition had none. */
export function* validateApproval(
  definition: Readonly<Definition>,
  old: Readonly<Definition> | undefined,
  naming: Naming,
): Iterable<FieldError> {
  if (!isProtected(definition.spec?.group ?? '', naming)) return;
  const {state, reason} = approvalOf(definition, naming);
  if (old && approvalOf(old, naming).state === state) return;
  const path = `metadata.annotations[${naming.annotations.approved}]`;
  if (state === 'invalid') yield invalid(path, definition.metadata?.annotations?.[naming.annotations.approved], reason);
  else if (state === 'missing') yield required(path, reason);
}
