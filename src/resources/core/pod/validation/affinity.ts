import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabelProblems} from '#src/api/names.js';
import type {Affinity, PodAffinityTerm} from '#src/api/pod.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {validateNodeSelector, validateNodeTerm} from '#src/resources/validation/node-selector.js';
import {each, qualifiedName} from '#src/resources/validation/values.js';
import type {PodSpecRules} from './rules.js';

// Validation of node affinity, pod affinity and anti-affinity.

const mandatory = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

function* weight(value: number, path: string): Iterable<FieldError> {
  if (value <= 0 || value > 100) yield invalid(`${path}.weight`, value, 'must be in the range 1-100');
}

function* labelKeys(keys: readonly string[], path: string, hasSelector: boolean): Iterable<FieldError> {
  if (keys.length === 0) return;
  if (!hasSelector) return yield forbiddenField(path, 'must not be specified when labelSelector is not set');
  for (const [i, key] of keys.entries()) yield* qualifiedName(`${path}[${i}]`, key);
}

/**
 * Validates label keys whose values come from the pod: none may also be in the selector, except for the one merged at
 * creation.
 */
export function* validateLabelKeys(
  {
    matchLabelKeys = [],
    mismatchLabelKeys = [],
    labelSelector,
  }: Pick<PodAffinityTerm, 'matchLabelKeys' | 'mismatchLabelKeys' | 'labelSelector'>,
  path: string,
): Iterable<FieldError> {
  yield* labelKeys(matchLabelKeys, `${path}.matchLabelKeys`, Boolean(labelSelector));
  yield* labelKeys(mismatchLabelKeys, `${path}.mismatchLabelKeys`, Boolean(labelSelector));
  const selectedKeys = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const {key} of labelSelector?.matchExpressions ?? []) {
    const at = matchLabelKeys.lastIndexOf(key);
    if (at >= 0 && selectedKeys.has(key)) yield invalid(`${path}[${at}]`, key, 'exists in both matchLabelKeys and labelSelector');
    selectedKeys.add(key);
  }
  for (const [i, key] of matchLabelKeys.entries()) {
    if (mismatchLabelKeys.includes(key))
      yield invalid(`${path}.matchLabelKeys[${i}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  }
}

/** Validates only the selectors of a term, to check stored ones. */
export function* validateTermSelectors(
  {labelSelector, namespaceSelector}: PodAffinityTerm,
  path: string,
  anyValue: boolean,
): Iterable<FieldError> {
  if (labelSelector) yield* validateLabelSelector(labelSelector, `${path}.labelSelector`, anyValue);
  if (namespaceSelector) yield* validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`, anyValue);
}

function* podTerm(term: PodAffinityTerm, path: string, {allow}: PodSpecRules): Iterable<FieldError> {
  yield* validateTermSelectors(term, path, allow.selectorValues);
  for (const name of term.namespaces ?? []) yield* each(`${path}.namespace`, name, dnsLabelProblems(name));
  yield* validateLabelKeys(term, path);
  if (!term.topologyKey) yield required(`${path}.topologyKey`, 'can not be empty');
  yield* qualifiedName(`${path}.topologyKey`, term.topologyKey ?? '');
}

/** Yields the terms of pod affinity and anti-affinity with their paths. */
export function* podTerms(
  affinity: Affinity | undefined,
  path: string,
): Iterable<{readonly term: PodAffinityTerm; readonly path: string; readonly weight?: number}> {
  for (const sort of ['podAffinity', 'podAntiAffinity'] as const) {
    const at = `${path}.${sort}`;
    for (const [i, term] of (affinity?.[sort]?.[mandatory] ?? []).entries()) yield {term, path: `${at}.${mandatory}[${i}]`};
    for (const [i, {weight: value, podAffinityTerm}] of (affinity?.[sort]?.[preferred] ?? []).entries()) {
      yield {term: podAffinityTerm, path: `${at}.${preferred}[${i}]`, weight: value};
    }
  }
}

/** Validates node and pod affinity. */
export function* validateAffinity(affinity: Affinity | undefined, path: string, rules: PodSpecRules): Iterable<FieldError> {
  const nodes = affinity?.nodeAffinity;
  const at = `${path}.nodeAffinity`;
  if (nodes?.[mandatory]) yield* validateNodeSelector(nodes[mandatory], `${at}.${mandatory}`, rules.allow.nodeSelectorValues);
  for (const [i, term] of (nodes?.[preferred] ?? []).entries()) {
    yield* weight(term.weight, `${at}.${preferred}[${i}]`);
    yield* validateNodeTerm(term.preference, `${at}.${preferred}[${i}].preference`, true);
  }
  for (const {term, path: where, weight: value} of podTerms(affinity, path)) {
    if (value !== undefined) yield* weight(value, where);
    yield* podTerm(term, value === undefined ? where : `${where}.podAffinityTerm`, rules);
  }
}
