// Selects the policies that apply to a request. Each combination of policy, binding and parameter is one invocation;
// configurations that cannot be evaluated are returned as such, and the failure policy decides about them.

import type {KubeObject, Namespace} from '#src/api/types.js';
import {notFound} from '#src/api/status.js';
import {isNamespace, type AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {versionsOf, type ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {match, namespaceOf} from '#src/apiserver/admission/matching/match.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {checkEnd, RequestTurns} from '#src/apiserver/request/turns.js';
import type {PolicyContext} from './context.js';
import {paramsOf, paramsServed} from './params.js';
import type {Binding, BoundPolicy, CommonSpec, Policy} from './policy.js';

/** The evaluation of a policy on a request, for one binding and one of its parameters. */
export interface Invocation<S extends CommonSpec = CommonSpec> {
  readonly policy: Policy<S>;
  readonly binding: Binding;
  readonly param: Readonly<KubeObject> | undefined;
  /** The version in which the policy receives the objects. */
  readonly matched: ObjectVersion;
  /** The version of the request itself. */
  readonly own: ObjectVersion;
}

/** A policy that cannot be evaluated because of its own or the binding's configuration. */
export interface InvalidPolicy<S extends CommonSpec = CommonSpec> {
  readonly policy: Policy<S>;
  readonly binding: Binding | undefined;
  readonly problem: string;
}

const invalidPolicy = <S extends CommonSpec>(policy: Policy<S>, binding: Binding | undefined, error: unknown): InvalidPolicy<S> => ({
  policy,
  binding,
  problem: `failed to configure ${binding ? 'binding' : 'policy'}: ${(error as Error).message}`,
});

/**
 * Returns the invocations for a request, ordered by policies, bindings and parameters, and the policies that cannot be
 * evaluated.
 */
export const selected = async <S extends CommonSpec>(
  policies: readonly BoundPolicy<S>[],
  attributes: AdmissionAttributes,
  context: PolicyContext,
): Promise<readonly (Invocation<S> | InvalidPolicy<S>)[]> => {
  const invocations: (Invocation<S> | InvalidPolicy<S>)[] = [];
  const turns = new RequestTurns(context.clock, attributes);
  for (const bound of policies) {
    const {policy} = bound;
    try {
      const found = match(policy.criteria, attributes, context);
      const matched = await found;
      const own = matched && versionsOf(context.registry, attributes)?.own;
      if (own) invocations.push(...(await invocationsOf(bound, {matched, own}, attributes, context, turns)));
    } catch (error) {
      checkEnd(attributes, context.clock);
      invocations.push(invalidPolicy(policy, undefined, error));
    }
  }
  return invocations;
};

const invocationsOf = async <S extends CommonSpec>(
  {policy, bindings}: BoundPolicy<S>,
  versions: Pick<Invocation, 'matched' | 'own'>,
  attributes: AdmissionAttributes,
  context: PolicyContext,
  turns: RequestTurns,
) => {
  const {paramKind} = policy.spec;
  const served: ServedResource | undefined = paramKind && paramsServed(paramKind, context);
  const found: (Invocation<S> | InvalidPolicy<S>)[] = [];
  for (const binding of bindings) {
    const pause = turns.pause();
    if (pause) await pause;
    try {
      if (binding.criteria && !(await match(binding.criteria, attributes, context))) continue;
      const params = await paramsOf(served, binding.spec.paramRef, namespaceOf(attributes), context);
      for (const param of params) found.push({policy, binding, param, ...versions});
    } catch (error) {
      found.push(invalidPolicy(policy, binding, error));
    }
  }
  return found;
};

/** Returns the current namespace of a request; null for a namespace itself. Rejects with 404 if it does not exist. */
export const requestNamespace = async (
  attributes: AdmissionAttributes,
  {findNamespace}: PolicyContext,
): Promise<Readonly<Namespace> | null> => {
  const {namespace} = attributes;
  if (namespace === '' || isNamespace(attributes)) return null;
  const found = await findNamespace(namespace);
  if (!found) throw notFound({group: '', resource: 'namespaces'}, namespace);
  return found;
};
