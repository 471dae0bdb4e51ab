import {unlessMissing} from '#src/client/missing.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Client} from '#src/client/client.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {documentedKinds, servedResources, type KindName, type Resources} from './kinds.js';
import {kindsNamed, type Policy} from './subjects.js';
import type {ParamType, TypedKind} from './type-check.js';

const fieldManager = 'validatingadmissionpolicy-status';

/** Returns the kind of a policy's parameters; undefined without parameters. */
const paramName = ({spec}: Frozen<Policy>): KindName | undefined => {
  if (!spec?.paramKind) return undefined;
  const {apiVersion = '', kind = ''} = spec.paramKind;
  const slash = apiVersion.indexOf('/');
  return {group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind};
};

/**
 * Returns the kinds that a policy matches and its parameter kind, with their current schemas. Kinds without a schema
 * are left out.
 */
const typesOf = async (
  policy: Frozen<Policy>,
  resources: Resources,
  client: Client,
): Promise<{readonly types: readonly TypedKind[]; readonly params: ParamType | undefined}> => {
  const nodeOf = documentedKinds(client);
  const types: TypedKind[] = [];
  for (const name of await kindsNamed(policy, resources)) {
    const node = await nodeOf(name);
    if (node) types.push({...name, node});
  }
  const param = paramName(policy);
  return {types, params: param && {kind: param.kind, node: types.length > 0 ? await nodeOf(param) : undefined}};
};

/** Reports type-checking warnings in the status of a policy, once for each generation. */
export const policyStatusReconciler = ({lister, client, clock}: KeyedContext): Reconcile => {
  const policies = lister(kinds.validatingAdmissionPolicies);
  const served = servedResources(client, clock);
  const pieces = new Yielder(clock);
  const apiVersion = apiVersionOf(client.naming, kinds.validatingAdmissionPolicies);

  return async ({name}) => {
    const policy = policies.get(name);
    const generation = policy?.metadata?.generation ?? 0;
    if (!policy || generation <= (policy.status?.observedGeneration ?? 0)) return settled;
    const {types, params} = await typesOf(policy, served.lookup(), client);
    // Loaded on demand: the CEL implementation is large, and most clusters have no policies.
    const {typeWarnings} = await import('./type-check.js');
    const mark = String((clock.now() * 1_000_000) % 1_000_000_000);
    const expressionWarnings = await runStepsYielding(typeWarnings(policy, types, params, mark), pieces);
    const status = {observedGeneration: generation, typeChecking: expressionWarnings.length > 0 ? {expressionWarnings} : {}};
    const intent = {apiVersion, kind: kinds.validatingAdmissionPolicies.kind, metadata: {name}, status};
    await unlessMissing(
      client.resource(kinds.validatingAdmissionPolicies).patch(name, 'apply', intent, {fieldManager, force: true, subresource: 'status'}),
    );
    return settled;
  };
};
