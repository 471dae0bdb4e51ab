import {andThen} from '#src/base/eventually.js';
import {warned} from '#src/apiserver/admission/recorded-decisions.js';
import type {Status} from '#src/api/status.js';
import {StatusError} from '#src/api/status.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {ValidatingPolicySpec} from '#src/resources/admissionregistration/types.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {conditionMetrics, type ConditionMetrics} from '#src/apiserver/admission/expressions/condition-metrics.js';
import {subjectOf, type Subject} from '#src/apiserver/admission/expressions/subject.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {policyContext, type PolicyContext, type PolicyParts} from './context.js';
import {isExcluded} from './excluded.js';
import type {Binding, BoundPolicy} from './policy.js';
import {selected, requestNamespace, type Invocation} from './selection.js';
import type {Decision, Validated} from './validation.js';
import {validatingMetrics, type CountCheck} from './validating-metrics.js';

type Bound = BoundPolicy<ValidatingPolicySpec>;
type PolicyInvocation = Invocation<ValidatingPolicySpec>;

interface PolicyMetrics {
  readonly count: CountCheck;
  readonly conditions: ConditionMetrics;
}

/** Evaluates requests by the active validating policies. */
export const validatingPolicies = (parts: Parameters<typeof policyContext>[0] & {readonly policies: PolicyParts}): AdmissionPlugin => {
  const context = policyContext(parts);
  const source = parts.policies.sourceOf<ValidatingPolicySpec>(
    kinds.validatingAdmissionPolicies as Kind,
    kinds.validatingAdmissionPolicyBindings as Kind,
  );
  const metrics = {
    count: validatingMetrics(context.meter),
    conditions: conditionMetrics(context.meter, context.clock, {kind: 'policy', type: 'validate'}),
  };
  const validate = async (policies: readonly Bound[], attributes: AdmissionAttributes): Promise<void> => {
    if (policies.length === 0 || isExcluded(attributes, context.naming)) return;
    const found = await selected(policies, attributes, context);
    if (found.length > 0) await evaluate(found, attributes, context, metrics);
  };
  return {
    name: 'ValidatingAdmissionPolicy',
    rules: source,
    validate(attributes) {
      return andThen(source.current(), policies => (policies.length === 0 ? undefined : validate(policies, attributes)));
    },
  };
};

/** The refusal of a request. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

const evaluate = async (
  found: Awaited<ReturnType<typeof selected<ValidatingPolicySpec>>>,
  attributes: AdmissionAttributes,
  context: PolicyContext,
  metrics: PolicyMetrics,
): Promise<void> => {
  const denials: Denial[] = [];
  const annotations = new Annotations();
  const turns = new RequestTurns(context.clock, attributes);
  const validation = found.some(one => 'matched' in one) ? await validationOf(attributes, context, metrics, turns) : undefined;
  for (const one of found) {
    const {policy, binding} = one;
    if (!('matched' in one)) {
      if (!policy.failsOpen) denials.push({policy: policy.name, binding: binding?.name, message: one.problem, reason: ''});
      continue;
    }
    const pause = turns.pause();
    if (pause) await pause;
    const {decisions, annotations: notes} = await validation!(one);
    for (const [index, decision] of decisions.entries())
      if (enforce(one, index, decision, attributes, metrics.count, context))
        denials.push({policy: policy.name, binding: one.binding.name, message: decision.message, reason: decision.reason});
    for (const note of notes) {
      if ('value' in note) annotations.add(`${policy.name}/${note.key}`, note.value);
      else if (!policy.failsOpen) {
        denials.push({policy: policy.name, binding: one.binding.name, message: note.error, reason: ''});
        metrics.count('deny', {policy: policy.name, binding: one.binding.name, message: note.error, tookMs: note.tookMs});
      }
    }
  }
  annotations.record(attributes);
  if (denials.length > 0) throw refusal(denials[0]!, attributes);
};

/** Evaluates one policy after another on a request. CEL is loaded with the first. */
const validationOf = async (attributes: AdmissionAttributes, context: PolicyContext, metrics: PolicyMetrics, turns: RequestTurns) => {
  const [{Authorizations}, {EvaluationFailed, matchConditionsHold}, {readyPolicy, validated}] = await Promise.all([
    import('#src/cel/kubernetes/authorization.js'),
    import('./evaluation.js'),
    import('./validation.js'),
  ]);
  const authorizations = new Authorizations(context.authorizer);
  const namespace = await requestNamespace(attributes, context);
  const subjects = new Map<ObjectVersion, Subject>();
  return async (invocation: PolicyInvocation): Promise<Validated> => {
    const {matched, own, policy} = invocation;
    const startedAt = context.clock.monotonic();
    try {
      let subject = subjects.get(matched);
      if (!subject) {
        subject = await subjectOf(attributes, matched, own, context.naming).catch((error: unknown) => {
          throw new EvaluationFailed(`failed to configure binding: failed to convert object version: ${(error as Error).message}`);
        });
        subjects.set(matched, subject);
      }
      const held = {attributes, invocation, subject, namespace, authorizations};
      const ready = await readyPolicy(policy, context.clock, attributes);
      if (!(await matchConditionsHold(ready.compiler, held, {metrics: metrics.conditions, startedAt, turns})))
        return {decisions: [], annotations: []};
      return await authorizations.runUntilDecided(() => turns.run(validated(ready, held, context.clock)));
    } catch (error) {
      if (!(error instanceof EvaluationFailed)) throw error;
      return {decisions: [{outcome: 'error', message: error.message, reason: '', tookMs: 0}], annotations: []};
    }
  };
};

/** Enforces a decision by the binding's actions. Returns whether the request is to be denied. */
const enforce = (
  {policy, binding}: PolicyInvocation,
  index: number,
  decision: Decision,
  attributes: AdmissionAttributes,
  count: CountCheck,
  {naming}: PolicyContext,
): boolean => {
  const {outcome, message, tookMs} = decision;
  if (outcome === 'admit') return false;
  const check = {policy: policy.name, binding: binding.name, message, tookMs};
  if (outcome === 'error' && policy.failsOpen) {
    count('allow', check);
    return false;
  }
  let isDenied = false;
  for (const action of binding.spec.validationActions ?? []) {
    if (action === 'Deny') {
      isDenied = true;
      count('deny', check);
    } else if (action === 'Audit') {
      attributes.annotate?.(`validation.policy.${naming.group('admission')}/validation_failure`, failureText(binding, index, message));
      count('audit', check);
    } else if (action === 'Warn') {
      warned(attributes, `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`);
      count('warn', check);
    }
  }
  return isDenied;
};

const failureText = (
  {name: binding, spec: {policyName: policy, validationActions}}: Binding,
  expressionIndex: number,
  message: string,
): string => JSON.stringify([{message, policy, binding, expressionIndex, validationActions}]);

/** The audit annotations of policies. Values of several bindings are joined; each is listed once. */
class Annotations {
  readonly #texts = new Map<string, Set<string>>();

  add(key: string, text: string): void {
    const texts = this.#texts.get(key);
    if (texts) texts.add(text);
    else this.#texts.set(key, new Set([text]));
  }

  record({annotate}: AdmissionAttributes): void {
    for (const [key, texts] of this.#texts) annotate?.(key, [...texts].join(', '));
  }
}

const refusal = ({policy, binding, message, reason}: Denial, attributes: AdmissionAttributes): StatusError => {
  const text = `ValidatingAdmissionPolicy '${policy}'${binding === undefined ? '' : ` with binding '${binding}'`} denied request: ${message}`;
  const {status} = refuse(attributes, text, [{message: text}]);
  const stated = reason || 'Invalid';
  return new StatusError({...status, reason: stated, code: codes[stated] ?? 422} as Status);
};

/** The status codes of the reasons that a validation may have. */
const codes: Readonly<Record<string, number>> = {Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413, Invalid: 422};
