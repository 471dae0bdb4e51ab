import {andThen} from '#src/base/eventually.js';
import {sameContent} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {StatusError, type Status} from '#src/api/status.js';
import type {MutatingPolicySpec} from '#src/resources/admissionregistration/types.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {conditionMetrics, type ConditionMetrics} from '#src/apiserver/admission/expressions/condition-metrics.js';
import {subjectOf} from '#src/apiserver/admission/expressions/subject.js';
import {checkChanged} from '#src/apiserver/request/large.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {replaceContent} from '#src/apiserver/admission/replace-content.js';
import {Reinvocation} from '#src/apiserver/admission/reinvocation.js';
import {policyContext, type PolicyContext, type PolicyParts} from './context.js';
import {isExcluded} from './excluded.js';
import {mutatingMetrics, type CountMutation} from './mutating-metrics.js';
import type {BoundPolicy} from './policy.js';
import {selected, requestNamespace, type Invocation} from './selection.js';

type Bound = BoundPolicy<MutatingPolicySpec>;
type PolicyInvocation = Invocation<MutatingPolicySpec>;

interface PolicyMetrics {
  readonly count: CountMutation;
  readonly conditions: ConditionMetrics;
}

/** Whether this is the reinvocation, and the state of the first invocation. */
interface Invocations {
  readonly memory: Reinvocation;
  readonly isSecond: boolean;
}

/**
 * Applies the active mutating policies. If one changes the object, all plugins run once more, and of the policies those
 * with reinvocation.
 */
export const mutatingPolicies = (
  parts: Parameters<typeof policyContext>[0] & {readonly policies: PolicyParts; gate(name: string): boolean},
): AdmissionPlugin => {
  const name = 'MutatingAdmissionPolicy';
  if (!parts.gate('MutatingAdmissionPolicy')) return {name};
  const context = policyContext(parts);
  const source = parts.policies.sourceOf<MutatingPolicySpec>(
    kinds.mutatingAdmissionPolicies as Kind,
    kinds.mutatingAdmissionPolicyBindings as Kind,
  );
  const metrics = {
    count: mutatingMetrics(context.meter),
    conditions: conditionMetrics(context.meter, context.clock, {kind: 'policy', type: 'validate'}),
  };
  const reinvocations = new WeakMap<AdmissionAttributes, Reinvocation>();
  const admit = async (policies: readonly Bound[], attributes: AdmissionAttributes): Promise<void | 'again'> => {
    if (policies.length === 0 || isExcluded(attributes, context.naming)) return undefined;
    const before = reinvocations.get(attributes);
    const memory = before ?? new Reinvocation();
    reinvocations.set(attributes, memory);
    const found = await selected(policies, attributes, context);
    return found.length > 0 ? mutate(found, attributes, {memory, isSecond: before !== undefined}, context, metrics) : undefined;
  };
  return {
    name,
    rules: source,
    admit(attributes) {
      // Deleted objects are not mutated.
      if (attributes.operation === 'DELETE') return undefined;
      return andThen(source.current(), policies => (policies.length === 0 ? undefined : admit(policies, attributes)));
    },
  };
};

/** The error of a policy's evaluation. */
interface Failing {
  readonly text: string;
  /** The reason of the refusal, if it is not the usual one. */
  readonly reason?: string;
}

const mutate = async (
  found: Awaited<ReturnType<typeof selected<MutatingPolicySpec>>>,
  attributes: AdmissionAttributes,
  {memory, isSecond}: Invocations,
  context: PolicyContext,
  metrics: PolicyMetrics,
): Promise<void | 'again'> => {
  const failing: Failing[] = [];
  for (const one of found) {
    if ('matched' in one || one.policy.failsOpen) continue;
    const {policy, binding, problem} = one;
    failing.push({
      text: binding ? deniedBy(policy.name, binding.name, problem) : `policy ${JSON.stringify(policy.name)} denied request: ${problem}`,
    });
  }
  const invocations = found.filter(one => 'matched' in one);
  let isPatched = false;
  if (invocations.length > 0) {
    if (isSecond) memory.again(attributes.object);
    const mutation = await mutationBy(attributes, context, metrics);
    for (const invocation of invocations) {
      const {policy, binding} = invocation;
      const outcome = await mutation(invocation, {memory, isSecond});
      if (!policy.failsOpen)
        failing.push(...outcome.problems.map(problem => ({text: deniedBy(policy.name, binding.name, problem), reason: 'Invalid'})));
      if (outcome.isPatched) attributes.notes?.noteDecision({decision: 'changed', by: policy.name});
      isPatched ||= outcome.isPatched;
    }
    if (isPatched) memory.changed();
    memory.finished(attributes.object);
  }
  if (failing.length > 0) throw refusal(failing, attributes);
  return isPatched ? 'again' : undefined;
};

const deniedBy = (policy: string, binding: string, problem: string): string =>
  `policy '${policy}' with binding '${binding}' denied request: ${problem}`;

/** The result of a policy: whether it changed the object, and its error. */
interface Outcome {
  readonly isPatched: boolean;
  readonly problems: readonly string[];
}

const unchanged: Outcome = {isPatched: false, problems: []};

const keyOf = ({policy, binding, param}: PolicyInvocation): string =>
  JSON.stringify([policy.name, binding.name, param?.metadata?.namespace, param?.metadata?.name]);

/** Applies one policy after another to the object of a request. CEL is loaded with the first. */
const mutationBy = async (attributes: AdmissionAttributes, context: PolicyContext, metrics: PolicyMetrics) => {
  const [{Authorizations}, {EvaluationFailed, matchConditionsHold}, {mutated, readyMutations}] = await Promise.all([
    import('#src/cel/kubernetes/authorization.js'),
    import('./evaluation.js'),
    import('./mutation.js'),
  ]);
  const {clock, naming} = context;
  const authorizations = new Authorizations(context.authorizer);
  const namespace = await requestNamespace(attributes, context);
  const turns = new RequestTurns(clock, attributes);
  return async (invocation: PolicyInvocation, {memory, isSecond}: Invocations): Promise<Outcome> => {
    const pause = turns.pause();
    if (pause) await pause;
    const {policy, binding, matched, own} = invocation;
    const {object} = attributes;
    const {compiler, mutations} = await readyMutations(policy, clock, attributes);
    const inputOf = async () => ({
      attributes,
      invocation,
      namespace,
      authorizations,
      subject: await subjectOf(attributes, matched, own, naming),
    });
    try {
      if (!(await matchConditionsHold(compiler, await inputOf(), {metrics: metrics.conditions, startedAt: clock.monotonic(), turns})))
        return unchanged;
    } catch (error) {
      if (error instanceof EvaluationFailed) return {isPatched: false, problems: [error.message]};
      throw error;
    }
    // Only policies invoked the first time are invoked again, whatever the object has become.
    if (isSecond && !memory.isDue(keyOf(invocation))) return unchanged;
    const problems: string[] = [];
    let isPatched = false;
    let hasChanged = false;
    for (const mutation of object ? mutations : []) {
      const startedAt = clock.monotonic();
      const by = {policy: policy.name, binding: binding.name};
      try {
        const content = await mutated({compiler}, mutation, await inputOf(), turns);
        metrics.count(by, clock.monotonic() - startedAt);
        checkChanged(attributes.original ?? {}, content);
        hasChanged ||= !sameContent(object, content);
        replaceContent(object!, content);
        isPatched = true;
      } catch (error) {
        metrics.count(by, clock.monotonic() - startedAt, (error as Error).message);
        if (!(error instanceof EvaluationFailed)) throw error;
        problems.push(error.message);
      }
    }
    if (hasChanged) memory.changed();
    if (policy.spec.reinvocationPolicy === 'IfNeeded') memory.invoked(keyOf(invocation));
    return {isPatched, problems};
  };
};

/** The 403 for failed policies, with the first error as its message and all of them as causes. */
const refusal = (failing: readonly Failing[], attributes: AdmissionAttributes): StatusError => {
  const [{text, reason}] = failing as [Failing];
  const {status} = refuse(
    attributes,
    '',
    failing.map(({text: message}) => ({message})),
  );
  return new StatusError({...status, message: text, ...(reason && {reason})} as Status);
};
