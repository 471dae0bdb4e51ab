import {forbidden, internalError} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {versionsOf} from '#src/apiserver/admission/matching/object-versions.js';
import {match, type MatchingContext} from '#src/apiserver/admission/matching/match.js';
import type {HookCall} from './call.js';
import type {EvaluateConditions} from './conditions.js';
import type {WebhookMetrics} from './metrics.js';
import type {Hook} from './hook.js';

/** The dependencies of the selection of webhooks. */
export interface SelectionContext extends MatchingContext {
  readonly clock: Clock;
  readonly evaluateConditions: EvaluateConditions;
  readonly metrics: WebhookMetrics;
}

/**
 * Returns the call of a webhook for a request, or undefined if it does not match. Rejects with a Status if that cannot
 * be decided.
 */
export const hookCallFor = async (
  hook: Hook,
  attributes: AdmissionAttributes,
  context: SelectionContext,
): Promise<HookCall | undefined> => {
  const matched = await match(hook.criteria, attributes, context);
  const own = matched && versionsOf(context.registry, attributes)?.own;
  if (!own) return undefined;
  const hookCall = {hook, attributes, matched, own};
  return hook.conditions.length === 0 || (await matchConditionsHold(hookCall, context)) ? hookCall : undefined;
};

/** Whether all match conditions hold. One that is false decides; if one fails, the failure policy does. */
const matchConditionsHold = async (hookCall: HookCall, {clock, evaluateConditions, metrics}: SelectionContext): Promise<boolean> => {
  const {hook, attributes} = hookCall;
  const {group, resource, name, operation} = attributes;
  const startedAt = clock.monotonic();
  const {isFalse, errors, isOutOfBudget} = await evaluateConditions(hook.conditions, hookCall).catch((error: unknown) => {
    throw internalError(error);
  });
  metrics.conditionsEvaluated(hook.name, operation, startedAt);
  if (!isOutOfBudget) for (const _ of errors) metrics.conditionFailed(hook.name, operation);
  if (!isFalse && errors.length > 0 && !hook.failsOpen)
    throw forbidden({group, resource}, name, errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`);
  const hold = !isFalse && errors.length === 0;
  if (!hold) metrics.excluded(hook.name, operation);
  return hold;
};
