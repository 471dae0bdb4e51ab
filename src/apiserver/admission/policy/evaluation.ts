import type {Namespace} from '#src/api/types.js';
import type {Bindings} from '#src/cel/compile.js';
import type {Authorizations} from '#src/cel/kubernetes/authorization.js';
import {combinedMessage} from '#src/apiserver/admission/request-kind.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {budgetOfConditions, evaluateConditions} from '#src/apiserver/admission/expressions/conditions.js';
import type {ConditionMetrics} from '#src/apiserver/admission/expressions/condition-metrics.js';
import {authorizerBindings, startRun} from '#src/apiserver/admission/expressions/run.js';
import {conditionSubject, type Subject} from '#src/apiserver/admission/expressions/subject.js';
import type {RequestTurns} from '#src/apiserver/request/turns.js';
import type {Compiler} from './programs.js';
import type {Invocation} from './selection.js';

/** The cost limit of all expressions of a policy for one request and binding, without match conditions. */
export const budgetOfPolicy = 10_000_000;

/** A policy that could not be evaluated: its failure policy decides. */
export class EvaluationFailed extends Error {}

/** A request and the objects it is evaluated with. */
export interface EvaluationInput {
  readonly attributes: AdmissionAttributes;
  readonly invocation: Invocation;
  readonly subject: Subject;
  /** The request's namespace; null if it has none. */
  readonly namespace: Readonly<Namespace> | null;
  readonly authorizations: Authorizations;
}

/** The variables of expressions, with the authorizer only where it is allowed. */
export const bindingsOf = (
  {attributes, invocation, subject, namespace, authorizations}: EvaluationInput,
  {hasAuthorizer}: {readonly hasAuthorizer: boolean},
): Bindings => ({
  ...subject,
  namespaceObject: namespace,
  params: invocation.param ?? null,
  ...(hasAuthorizer ? authorizerBindings(attributes.user, attributes, authorizations) : {}),
});

/**
 * Whether a policy's match conditions hold. One that is false decides. Rejects with `EvaluationFailed` when others
 * fail.
 */
export const matchConditionsHold = async (
  {conditions, variables}: Compiler,
  input: EvaluationInput,
  {metrics, startedAt, turns}: {readonly metrics: ConditionMetrics; readonly startedAt: number; readonly turns: RequestTurns},
): Promise<boolean> => {
  if (conditions.length === 0) return true;
  const {attributes, invocation, authorizations} = input;
  const bindings = bindingsOf({...input, subject: conditionSubject(input.subject), namespace: null}, {hasAuthorizer: true});
  const {isFalse, errors, isOutOfBudget} = await authorizations.runUntilDecided(() =>
    turns.run(evaluateConditions(conditions, startRun(bindings, budgetOfConditions, variables))),
  );
  const {name, failsOpen} = invocation.policy;
  metrics.evaluated(name, attributes.operation, startedAt);
  if (!isOutOfBudget) for (const _ of errors) metrics.failed(name, attributes.operation);
  if (isFalse) return false;
  if (errors.length > 0 && !failsOpen) throw new EvaluationFailed(combinedMessage(errors));
  return errors.length === 0;
};
