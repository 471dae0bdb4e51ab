import {invalid, required, type FieldError} from '#src/api/field-error.js';
import type {PolicyRule} from '#src/api/types.js';

function* validateRule(rule: Readonly<PolicyRule>, namespaced: boolean, path: string): Iterable<FieldError> {
  const has = (field: 'verbs' | 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs'): boolean => (rule[field] ?? []).length > 0;
  if (!has('verbs')) yield required(`${path}.verbs`, 'verbs must contain at least one value');
  if (has('nonResourceURLs')) {
    const at = `${path}.nonResourceURLs`;
    if (namespaced) yield invalid(at, rule.nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    if (has('apiGroups') || has('resources') || has('resourceNames')) {
      yield invalid(at, rule.nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs');
    }
    return;
  }
  if (!has('apiGroups')) yield required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
  if (!has('resources')) yield required(`${path}.resources`, 'resource rules must supply at least one resource');
}

/** Validates that each rule covers resources or URL paths. Rules in a namespace cannot cover paths. */
export function* validateRules(rules: readonly PolicyRule[] | undefined | null, namespaced: boolean): Iterable<FieldError> {
  for (const [i, rule] of (rules ?? []).entries()) yield* validateRule(rule, namespaced, `rules[${i}]`);
}
