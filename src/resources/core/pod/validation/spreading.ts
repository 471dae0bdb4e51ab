import {duplicate, forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import type {TopologySpreadConstraint} from '#src/api/pod.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {notPositiveText, oneOf, qualifiedName} from '#src/resources/validation/values.js';
import {validateLabelKeys} from './affinity.js';
import type {PodSpecRules} from './rules.js';

// Validation of topology spread constraints, and of the label keys that creation merges into their selectors.

/** Reports whether creation merges `matchLabelKeys` into spread selectors (KEP-3243). */
export const mergesSpreadKeys = (gate: (name: string) => boolean): boolean =>
  gate('MatchLabelKeysInPodTopologySpread') && gate('MatchLabelKeysInPodTopologySpreadSelectorMerge');

function* unmergedKeys({matchLabelKeys = [], labelSelector}: TopologySpreadConstraint, path: string): Iterable<FieldError> {
  if (matchLabelKeys.length === 0) return;
  if (!labelSelector) yield forbiddenField(path, 'must not be specified when labelSelector is not set');
  const selectedKeys = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map(({key}) => key),
  ]);
  for (const [i, key] of matchLabelKeys.entries()) {
    yield* qualifiedName(`${path}[${i}]`, key);
    if (selectedKeys.has(key)) yield invalid(`${path}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector');
  }
}

/** Validates spread keys. Once merged, the selector has each of them once more. */
export function* validateSpreadKeys(constraint: TopologySpreadConstraint, path: string, merged: boolean): Iterable<FieldError> {
  if (merged) yield* validateLabelKeys(constraint, path);
  else yield* unmergedKeys(constraint, `${path}.matchLabelKeys`);
}

/** Validates topology spread constraints. */
export function* validateSpread(
  constraints: readonly TopologySpreadConstraint[],
  path: string,
  {gate, allow}: PodSpecRules,
): Iterable<FieldError> {
  const merged = mergesSpreadKeys(gate);
  for (const [i, constraint] of constraints.entries()) {
    const at = `${path}[${i}]`;
    const {maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector} = constraint;
    if (!(maxSkew > 0)) yield invalid(`${at}.maxSkew`, maxSkew ?? 0, notPositiveText);
    if (!topologyKey) yield required(`${at}.topologyKey`, 'can not be empty');
    yield* oneOf(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    if (constraints.slice(i + 1).some(other => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable)) {
      yield duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    }
    if (minDomains !== undefined && minDomains <= 0) yield invalid(`${at}.minDomains`, minDomains, notPositiveText);
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
      yield invalid(`${at}.minDomains`, minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`);
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      if (constraint[policy] !== undefined) yield* oneOf(`${at}.${policy}`, constraint[policy], ['Honor', 'Ignore']);
    }
    yield* validateSpreadKeys(constraint, at, allow.spreadKeys ? !merged : merged);
    if (labelSelector && !allow.spreadSelectors) yield* validateLabelSelector(labelSelector, `${at}.labelSelector`);
  }
}
