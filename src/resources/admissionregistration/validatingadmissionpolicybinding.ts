import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {selectorText} from '#src/model/selector-text.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {defaultMatching, validateMatching, validateParamRef, validatePolicyName} from './matching.js';
import {mayUseParams} from './permission.js';
import type {ParamRef, ValidatingBinding} from './types.js';

const actions = ['Audit', 'Deny', 'Warn'];

function* validateActions(chosen: readonly string[], path: string): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, action] of chosen.entries()) {
    if (!actions.includes(action)) yield notSupported(`${path}[${i}]`, action, actions);
    if (seen.has(action)) yield duplicate(`${path}[${i}]`, action);
    seen.add(action);
  }
  if (seen.has('Deny') && seen.has('Warn')) {
    yield invalid(
      path,
      chosen,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
  }
  if (seen.size === 0) yield required(path, 'at least one validation action is required');
}

/** Formats the parameters of a binding for tables. */
const paramRefText = (ref: ParamRef | undefined): string => {
  if (ref?.name) return `${ref.namespace || '*'}/${ref.name}`;
  return ref?.selector ? selectorText(ref.selector) : '<unset>';
};

/** Returns the columns of both kinds of policy bindings. */
export const bindingColumns = <T extends {readonly spec?: {policyName?: string; paramRef?: ParamRef}}>(): readonly Column<T>[] => [
  nameColumn as Column<unknown>,
  {
    name: 'PolicyName',
    description: 'PolicyName indicates the policy definition which the policy binding binds to',
    of: ({spec}) => spec?.policyName ?? '',
  },
  {
    name: 'ParamRef',
    description: 'ParamRef indicates the param resource which sets the configration param',
    of: ({spec}) => paramRefText(spec?.paramRef),
  },
  ageColumn as Column<unknown>,
];

/**
 * ValidatingAdmissionPolicyBinding: applies a validating policy to matching requests, with parameters and the actions
 * on a violation.
 */
export const validatingAdmissionPolicyBindings = defineResource<ValidatingBinding>({
  kind: kinds.validatingAdmissionPolicyBindings,
  discovery: {categories: ['api-extensions']},
  metadata: {nameProblems: subdomainName, anyFinalizers: true, generation: true},
  update: {unconditional: false},
  default: ({spec}) => defaultMatching(spec?.matchResources),
  main: {
    metadata: 'whole',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate({spec}) {
      yield* validatePolicyName(spec?.policyName, 'spec.policyName');
      yield* validateParamRef(spec?.paramRef, 'spec.paramRef');
      yield* validateMatching(spec?.matchResources, 'spec.matchResources');
      yield* validateActions(spec?.validationActions ?? [], 'spec.validationActions');
    },
    authorize: mayUseParams(kinds.validatingAdmissionPolicies),
  },
  presentation: {columns: bindingColumns<ValidatingBinding>()},
});
