import type {Findings} from '#src/api/collect-errors.js';
import {invalid, notSupported, required} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {
  loadExpressionValidator,
  textsOf,
  validateExpressions,
  validateMatchConditions,
  validateVariables,
  type ValidateExpression,
} from './expressions.js';
import {defaultMatching, validateConstraints, validateFailurePolicy, validateMutableOperations, validateParamKind} from './matching.js';
import {mayUseParamKind} from './permission.js';
import type {MutatingPolicy, MutatingPolicySpec} from './types.js';
import {paramKindText} from './validatingadmissionpolicy.js';

type Mutation = NonNullable<MutatingPolicySpec['mutations']>[number];

/** The context in which a policy's expressions are validated. */
interface PolicyContext {
  readonly hasParams: boolean;
  readonly validateExpression: ValidateExpression;
  /** The expressions of the stored policy. */
  readonly stored: ReadonlySet<string>;
}

function* validateMutation(mutation: Mutation, path: string, {hasParams, validateExpression, stored}: PolicyContext): Findings {
  const {patchType, jsonPatch, applyConfiguration} = mutation;
  if (!patchType) return yield required(`${path}.patchType`);
  if (patchType !== 'JSONPatch' && patchType !== 'ApplyConfiguration')
    return yield notSupported(`${path}.patchType`, patchType, ['ApplyConfiguration', 'JSONPatch']);
  const isJson = patchType === 'JSONPatch';
  const [wanted, source] = isJson ? (['jsonPatch', jsonPatch] as const) : (['applyConfiguration', applyConfiguration] as const);
  const [unwanted, other] = isJson ? (['applyConfiguration', applyConfiguration] as const) : (['jsonPatch', jsonPatch] as const);
  const text = (source?.expression ?? '').trim();
  if (!source) yield required(`${path}.${wanted}`, `must be specified when patchType is ${patchType}`);
  else if (text === '') yield required(`${path}.${wanted}.expression`);
  else
    yield* validateExpression(text, `${path}.${wanted}.expression`, {
      yields: isJson ? 'jsonPatch' : 'applied',
      hasParams,
      hasAuthorizer: true,
      isStored: stored.has(source.expression ?? ''),
    });
  if (other) yield invalid(`${path}.${unwanted}`, `{${unwanted}}`, `must not be specified when patchType is ${patchType}`);
}

function* validate({spec = {}}: Readonly<MutatingPolicy>, old: Readonly<MutatingPolicy> | undefined): Findings {
  const context: PolicyContext = {
    hasParams: spec.paramKind !== undefined,
    validateExpression: validateExpressions((spec.variables ?? []).length > 0),
    stored: textsOf(
      (old?.spec?.mutations ?? []).flatMap(({jsonPatch, applyConfiguration}) => [jsonPatch?.expression, applyConfiguration?.expression]),
    ),
  };
  yield* validateFailurePolicy(spec.failurePolicy, 'spec.failurePolicy');
  yield* validateParamKind(spec.paramKind, 'spec.paramKind');
  yield* validateConstraints(spec.matchConstraints, 'spec.matchConstraints');
  yield* validateMutableOperations(spec.matchConstraints, 'spec.matchConstraints');
  const sameConditions =
    old && semanticallyEqual(spec.paramKind, old.spec?.paramKind) && semanticallyEqual(spec.matchConditions, old.spec?.matchConditions);
  if (!sameConditions)
    yield* validateMatchConditions(spec.matchConditions, 'spec.matchConditions', {...context, before: old?.spec?.matchConditions ?? []});
  yield* validateVariables(spec.variables, 'spec.variables', context);
  const {mutations = [], reinvocationPolicy: policy} = spec;
  if (mutations.length === 0) yield required('spec.mutations', 'mutations must contain at least one item');
  for (const [i, mutation] of mutations.entries()) yield* validateMutation(mutation, `spec.mutations[${i}]`, context);
  if (!policy) yield required('spec.reinvocationPolicy');
  else if (policy !== 'Never' && policy !== 'IfNeeded') yield notSupported('spec.reinvocationPolicy', policy, ['IfNeeded', 'Never']);
}

const columns: readonly Column<MutatingPolicy>[] = [
  nameColumn,
  {
    name: 'Mutations',
    type: 'integer',
    description: 'Mutation indicates the number of mutations rules defined in this configuration',
    of: ({spec}) => spec?.mutations?.length ?? 0,
  },
  {
    name: 'ParamKind',
    description: 'ParamKind specifies the kind of resources used to parameterize this policy',
    of: ({spec}) => paramKindText(spec?.paramKind),
  },
  ageColumn,
];

/** MutatingAdmissionPolicy: changes to requests, written as CEL expressions. A binding puts them into force. */
export const mutatingAdmissionPolicies = defineResource<MutatingPolicy>({
  kind: kinds.mutatingAdmissionPolicies,
  discovery: {categories: ['api-extensions']},
  served: {otherVersions: [sameFieldsVersion(kinds.mutatingAdmissionPoliciesV1alpha1, {deprecation: {since: 'v1.35', until: 'v1.38'}})]},
  metadata: {nameProblems: subdomainName, anyFinalizers: true, generation: true},
  update: {unconditional: false},
  ready: () => loadExpressionValidator(true),
  default(policy) {
    const spec = (policy.spec ??= {});
    spec.failurePolicy ??= 'Fail';
    defaultMatching(spec.matchConstraints);
  },
  main: {metadata: 'whole', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate, authorize: mayUseParamKind},
  presentation: {columns},
});
