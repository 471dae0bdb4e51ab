// Validation of the rules by which webhooks and admission policies match requests.

import type * as kinds from './types.js';
import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {pathSegmentProblems} from '#src/api/names.js';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];

function* validateWildcard(values: readonly string[] | undefined, path: string, others: string): Iterable<FieldError> {
  if (!values?.length) yield required(path);
  else if (values.length > 1 && values.includes('*')) yield invalid(path, values, `if '*' is present, must not specify other ${others}`);
}

function* validateResources(resources: readonly string[], path: string): Iterable<FieldError> {
  if (resources.length === 0) yield required(path);
  const anySub = new Set<string>();
  const anyResource = new Set<string>();
  let lastIsWhole = false;
  for (const [i, text] of resources.entries()) {
    if (text === '') {
      yield required(`${path}[${i}]`);
      continue;
    }
    const slash = text.indexOf('/');
    if (slash < 0) {
      lastIsWhole = text !== '*';
      continue;
    }
    const [resource, sub] = [text.slice(0, slash), text.slice(slash + 1)];
    if (anySub.has(resource)) yield invalid(`${path}[${i}]`, text, `if '${resource}/*' is present, must not specify ${text}`);
    if (anyResource.has(sub)) yield invalid(`${path}[${i}]`, text, `if '*/${sub}' is present, must not specify ${text}`);
    if (sub === '*') anySub.add(resource);
    if (resource === '*') anyResource.add(sub);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    yield invalid(path, resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes('*') && lastIsWhole)
    yield invalid(path, resources, "if '*' is present, must not specify other resources without subresources");
}

/** Validates the operations and resources of a rule. */
export function* validateRule(rule: kinds.Rule, path: string): Iterable<FieldError> {
  yield* validateWildcard(rule.operations, `${path}.operations`, 'operations');
  for (const [i, operation] of (rule.operations ?? []).entries())
    if (!operations.includes(operation)) yield notSupported(`${path}.operations[${i}]`, operation, operations);
  yield* validateWildcard(rule.apiGroups, `${path}.apiGroups`, 'API groups');
  yield* validateWildcard(rule.apiVersions, `${path}.apiVersions`, 'API versions');
  for (const [i, version] of (rule.apiVersions ?? []).entries()) if (version === '') yield required(`${path}.apiVersions[${i}]`);
  yield* validateResources(rule.resources ?? [], `${path}.resources`);
  if (rule.scope !== undefined && !scopes.includes(rule.scope)) yield notSupported(`${path}.scope`, rule.scope, scopes);
}

/** Validates a rule that may also have resource names. */
export function* validateNamedRule(rule: kinds.NamedRule, path: string): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, name] of (rule.resourceNames ?? []).entries()) {
    for (const problem of pathSegmentProblems(name)) yield invalid(`${path}.resourceNames[${i}]`, name, problem);
    if (seen.has(name)) yield duplicate(`${path}.resourceNames[${i}]`, name);
    seen.add(name);
  }
  yield* validateRule(rule, path);
}
