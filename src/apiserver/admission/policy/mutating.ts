import {sameContent} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import {StatusError, type Status} from '#src/api/status.js';
import type {MutatingPolicySpec} from '#src/resources/admissionregistration/types.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {conditionFigures, type ConditionFigures} from '#src/apiserver/admission/expressions/figures.js';
import {subjectOf} from '#src/apiserver/admission/expressions/subject.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {replaceContent} from '#src/apiserver/admission/replace.js';
import {Rounds} from '#src/apiserver/admission/rounds.js';
import {policyContext, type PolicyContext, type PolicyParts} from './context.js';
import {isExcluded} from './excluded.js';
import {mutatingFigures, type CountMutation} from './mutating-figures.js';
import type {BoundPolicy} from './policy.js';
import {selected, surroundings, type Invocation} from './selection.js';

type Bound = BoundPolicy<MutatingPolicySpec>;
type Held = Invocation<MutatingPolicySpec>;

interface Figures {
  readonly count: CountMutation;
  readonly conditions: ConditionFigures;
}

/** Which of the two rounds it is, and what is remembered of the first. */
interface Round {
  readonly memory: Rounds;
  readonly isSecond: boolean;
}

/**
 * Changes objects as the mutating policies that are in force say. When any did, all plugins run once more, and of the policies those that asked for it.
 */
export const mutatingPolicies = (parts: Parameters<typeof policyContext>[0] & {readonly policies: PolicyParts; gate(name: string): boolean}): AdmissionPlugin => {
  const name = 'MutatingAdmissionPolicy';
  if (!parts.gate('MutatingAdmissionPolicy')) return {name};
  const context = policyContext(parts);
  const source = parts.policies.sourceOf<MutatingPolicySpec>(kinds.mutatingAdmissionPolicies as Kind, kinds.mutatingAdmissionPolicyBindings as Kind);
  const figures = {count: mutatingFigures(context.meter), conditions: conditionFigures(context.meter, context.clock, {kind: 'policy', type: 'validate'})};
  const rounds = new WeakMap<AdmissionAttributes, Rounds>();
  const admit = async (policies: readonly Bound[], attributes: AdmissionAttributes): Promise<void | 'again'> => {
    if (policies.length === 0 || isExcluded(attributes, context.naming)) return undefined;
    const before = rounds.get(attributes);
    const memory = before ?? new Rounds();
    rounds.set(attributes, memory);
    const found = await selected(policies, attributes, context);
    return found.length > 0 ? mutate(found, attributes, {memory, isSecond: before !== undefined}, context, figures) : undefined;
  };
  return {
    name,
    admit(attributes) {
      // Nothing is left to be changed of what is deleted.
      if (attributes.operation === 'DELETE') return undefined;
      const policies = source.policies();
      if (policies instanceof Promise) return policies.then(all => admit(all, attributes));
      return policies.length === 0 ? undefined : admit(policies, attributes);
    },
  };
};

/** Why a policy could not be judged. */
interface Failing {
  readonly text: string;
  /** The reason of the refusal, where it is not the usual one. */
  readonly reason?: string;
}

const mutate = async (found: Awaited<ReturnType<typeof selected<MutatingPolicySpec>>>, attributes: AdmissionAttributes, {memory, isSecond}: Round, context: PolicyContext, figures: Figures): Promise<void | 'again'> => {
  const failing: Failing[] = [];
  for (const one of found) {
    if ('form' in one || one.policy.failsOpen) continue;
    const {policy, binding, problem} = one;
    failing.push({text: binding ? deniedBy(policy.name, binding.name, problem) : `policy ${JSON.stringify(policy.name)} denied request: ${problem}`});
  }
  const invocations = found.filter(one => 'form' in one);
  let isPatched = false;
  if (invocations.length > 0) {
    if (isSecond) memory.again(attributes.object);
    const mutation = await mutationBy(attributes, context, figures);
    for (const invocation of invocations) {
      const {policy, binding} = invocation;
      const outcome = await mutation(invocation, {memory, isSecond});
      if (!policy.failsOpen) failing.push(...outcome.problems.map(problem => ({text: deniedBy(policy.name, binding.name, problem), reason: 'Invalid'})));
      isPatched ||= outcome.isPatched;
    }
    if (isPatched) memory.changed();
    memory.left(attributes.object);
  }
  if (failing.length > 0) throw refusal(failing, attributes);
  return isPatched ? 'again' : undefined;
};

const deniedBy = (policy: string, binding: string, problem: string): string => `policy '${policy}' with binding '${binding}' denied request: ${problem}`;

/** What a policy came to: whether it has patched the object, and what went wrong. */
interface Outcome {
  readonly isPatched: boolean;
  readonly problems: readonly string[];
}

const untouched: Outcome = {isPatched: false, problems: []};

const keyOf = ({policy, binding, param}: Held): string => JSON.stringify([policy.name, binding.name, param?.metadata?.namespace, param?.metadata?.name]);

/** What one policy after another does to the object of a request. The language is loaded with the first. */
const mutationBy = async (attributes: AdmissionAttributes, context: PolicyContext, figures: Figures) => {
  const [{Authorizations}, {JudgingFailed, meetsConditions}, {mutated, readyMutations}] = await Promise.all([import('#src/cel/kubernetes/authorization.js'), import('./judging.js'), import('./mutation.js')]);
  const {clock, naming} = context;
  const authorizations = new Authorizations(context.authorizer);
  const namespace = await surroundings(attributes, context);
  return async (invocation: Held, {memory, isSecond}: Round): Promise<Outcome> => {
    const {policy, binding, form, own} = invocation;
    const {object} = attributes;
    const {compiler, mutations} = readyMutations(policy);
    const caseOf = async () => ({attributes, invocation, namespace, authorizations, subject: await subjectOf(attributes, form, own, naming)});
    try {
      if (!(await meetsConditions(compiler, await caseOf(), {figures: figures.conditions, startedAt: clock.monotonic()}))) return untouched;
    } catch (error) {
      if (error instanceof JudgingFailed) return {isPatched: false, problems: [error.message]};
      throw error;
    }
    // Who was not asked in the first round is not asked in the second, whatever the object has become.
    if (isSecond && !memory.isDue(keyOf(invocation))) return untouched;
    const problems: string[] = [];
    let isPatched = false;
    let hasChanged = false;
    for (const mutation of object ? mutations : []) {
      const startedAt = clock.monotonic();
      const by = {policy: policy.name, binding: binding.name};
      try {
        const content = await mutated({compiler}, mutation, await caseOf());
        figures.count(by, clock.monotonic() - startedAt);
        hasChanged ||= !sameContent(object, content);
        replaceContent(object!, content);
        isPatched = true;
      } catch (error) {
        figures.count(by, clock.monotonic() - startedAt, (error as Error).message);
        if (!(error instanceof JudgingFailed)) throw error;
        problems.push(error.message);
      }
    }
    if (hasChanged) memory.changed();
    if (policy.spec.reinvocationPolicy === 'IfNeeded') memory.asked(keyOf(invocation));
    return {isPatched, problems};
  };
};

/** The 403 of policies that could not be judged. It tells the first, and all of them as its causes. */
const refusal = (failing: readonly Failing[], attributes: AdmissionAttributes): StatusError => {
  const [{text, reason}] = failing as [Failing];
  const {status} = refuse(attributes, '', failing.map(({text: message}) => ({message})));
  return new StatusError({...status, message: text, ...(reason && {reason})} as Status);
};
