import {invalid, invalidUnshown, notSupported, type FieldError} from '#src/api/field-error.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import type {Condition} from '#src/api/types.js';
import type {HookContext} from '#src/resources/definition.js';
import {isConditionTrue, validateConditions} from '#src/resources/validation/conditions.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {validateIssued} from './issued.js';

type Request = Readonly<PodCertificateRequest>;

const outcomes = ['Issued', 'Denied', 'Failed'];

const conditionsOf = (request: Request | undefined): readonly Condition[] => request?.status?.conditions ?? [];
const has = (request: Request, ...types: readonly string[]): boolean => types.some(type => isConditionTrue(conditionsOf(request), type));

/**
 * Validates that there is at most one outcome, with status `True`. The brackets stand apart in the paths, as they do
 * upstream.
 */
function* validateOutcomes(conditions: readonly Condition[]): Iterable<FieldError> {
  let known = 0;
  for (const [i, {type, status}] of conditions.entries()) {
    const at = `status.conditions.[${i}]`;
    if (!outcomes.includes(type)) yield notSupported(`${at}.type`, type, outcomes);
    else {
      known += 1;
      if (known > 1) yield invalid(`${at}.type`, type, 'There may be at most one condition with type "Issued", "Denied", or "Failed"');
      if (status !== 'True') yield notSupported(`${at}.status`, status, ['True']);
    }
  }
}

export const sameStatus = (a: PodCertificateRequest['status'], b: PodCertificateRequest['status']): boolean => {
  const [left, right] = [a, b].map(status => ({...status, certificateChain: status?.certificateChain || undefined}));
  return semanticallyEqual(left, right);
};

/** Validates that a request ends once, as issued, denied or failed. */
export function* validateOutcome(request: Request, old: Request, context: HookContext): Iterable<FieldError> {
  const conditions = conditionsOf(request);
  const problems = [...validateOutcomes(conditions), ...validateConditions(conditions, 'status.conditions')];
  if (problems.length > 0) return yield* problems;
  if (has(old, ...outcomes)) {
    if (!sameStatus(request.status, old.status))
      yield invalidUnshown('status', 'immutable after PodCertificateRequest is issued, denied, or failed');
  } else if (has(request, 'Denied', 'Failed')) {
    if (sameStatus(request.status, {conditions: [...conditions]})) return;
    yield invalidUnshown('status', 'non-condition status fields must be empty when denying or failing the PodCertificateRequest');
  } else if (has(request, 'Issued')) {
    yield* validateIssued(request, context);
  } else if (!sameStatus(request.status, old.status)) {
    yield invalidUnshown('status', 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"');
  }
}
