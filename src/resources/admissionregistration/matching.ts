import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel1035Problems, dnsSubdomainProblems, pathSegmentProblems} from '#src/api/names.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {validateNamedRule} from './rules.js';
import type {MatchResources, ParamKind, ParamRef} from './types.js';

// Defaults and validation of match constraints and parameter references, shared by both kinds of admission policies and
// their bindings.

/** Applies the defaults of match constraints. */
export const defaultMatching = (resources: MatchResources | undefined): void => {
  if (!resources) return;
  resources.matchPolicy ??= 'Equivalent';
  resources.namespaceSelector ??= {};
  resources.objectSelector ??= {};
  for (const rule of [...(resources.resourceRules ?? []), ...(resources.excludeResourceRules ?? [])]) rule.scope ??= '*';
};

/** Validates match constraints. */
export function* validateMatching(resources: MatchResources | undefined, path: string): Iterable<FieldError> {
  if (!resources) return;
  const {matchPolicy: policy, namespaceSelector, objectSelector} = resources;
  if (policy === undefined) yield required(`${path}.matchPolicy`);
  else if (policy !== 'Exact' && policy !== 'Equivalent') yield notSupported(`${path}.matchPolicy`, policy, ['Equivalent', 'Exact']);
  for (const [field, selector] of [
    ['namespaceSelector', namespaceSelector],
    ['objectSelector', objectSelector],
  ] as const) {
    if (selector) yield* validateLabelSelector(selector, `${path}.${field}`);
    else yield required(`${path}.${field}`);
  }
  for (const [i, rule] of (resources.resourceRules ?? []).entries()) yield* validateNamedRule(rule, `${path}.resourceRules[${i}]`);
  for (const [i, rule] of (resources.excludeResourceRules ?? []).entries())
    yield* validateNamedRule(rule, `${path}.excludeResourceRules[${i}]`);
}

const mutable = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** Validates the operations of a mutating policy: a deleted object cannot be changed. */
export function* validateMutableOperations(resources: MatchResources | undefined, path: string): Iterable<FieldError> {
  for (const {operations = []} of resources?.resourceRules ?? []) {
    for (const operation of operations)
      if (!mutable.includes(operation)) yield notSupported(`${path}.resourceRules.operations`, operation, mutable);
  }
}

/** Validates the match constraints of a policy, which must have resource rules. */
export function* validateConstraints(constraints: MatchResources | undefined, path: string): Iterable<FieldError> {
  if (!constraints) return yield required(path);
  yield* validateMatching(constraints, path);
  if (!constraints.resourceRules?.length) yield required(`${path}.resourceRules`);
}

export function* validateFailurePolicy(policy: string | undefined, path: string): Iterable<FieldError> {
  if (policy === undefined) yield required(path);
  else if (policy !== 'Fail' && policy !== 'Ignore') yield notSupported(path, policy, ['Fail', 'Ignore']);
}

function* validateGroupVersion(text: string, path: string): Iterable<FieldError> {
  if (!text) return yield required(path);
  const parts = text.split('/');
  if (parts.length > 2) return yield invalid(path, text, `unexpected GroupVersion string: ${text}`);
  const [group, version] = parts.length === 2 ? [parts[0]!, parts[1]!] : ['', text];
  const problems = group ? dnsSubdomainProblems(group) : [];
  if (problems.length > 0) yield invalid(path, group, problems.join(','));
  if (!version) return yield invalid(path, text, 'version must be specified');
  const versionProblems = dnsLabel1035Problems(version);
  if (versionProblems.length > 0) yield invalid(path, version, versionProblems.join(','));
}

/** Validates the kind of a policy's parameters. */
export function* validateParamKind(kind: ParamKind | undefined, path: string): Iterable<FieldError> {
  if (!kind) return;
  yield* validateGroupVersion(kind.apiVersion ?? '', `${path}.apiVersion`);
  if (!kind.kind) return yield required(`${path}.kind`);
  const problems = dnsLabel1035Problems(kind.kind.toLowerCase());
  if (problems.length > 0)
    yield invalid(`${path}.kind`, kind.kind, `may have mixed case, but should otherwise match: ${problems.join(',')}`);
}

/** Validates a binding's parameter reference: a name or a selector, and the action for missing parameters. */
export function* validateParamRef(ref: ParamRef | undefined, path: string): Iterable<FieldError> {
  if (!ref) return;
  const {name, selector, parameterNotFoundAction: action} = ref;
  const both = 'name and selector are mutually exclusive';
  if (name) {
    for (const problem of pathSegmentProblems(name)) yield invalid(`${path}.name`, name, problem);
    if (selector) yield forbiddenField(`${path}.name`, both);
  }
  if (selector) {
    yield* validateLabelSelector(selector, `${path}.selector`);
    if (name) yield forbiddenField(`${path}.selector`, both);
  }
  if (!name && !selector) yield required(path, 'one of name or selector must be specified');
  if (!action) yield required(`${path}.parameterNotFoundAction`);
  else if (action !== 'Deny' && action !== 'Allow') yield notSupported(`${path}.parameterNotFoundAction`, action, ['Deny', 'Allow']);
}

/** Validates the policy name of a binding. */
export function* validatePolicyName(name: string | undefined, path: string): Iterable<FieldError> {
  if (!name) return yield required(path);
  for (const problem of dnsSubdomainProblems(name)) yield invalid(path, name, problem);
}
