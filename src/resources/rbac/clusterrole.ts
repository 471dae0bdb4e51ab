import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ClusterRole} from '#src/api/types.js';
import {createdAtColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {validateRules} from './rules.js';

function* validate({rules, aggregationRule}: Readonly<ClusterRole>, old: Readonly<ClusterRole> | undefined): Iterable<FieldError> {
  yield* validateRules(rules, false);
  if (!aggregationRule) return;
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) yield required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil');
  const anyValue = (old?.aggregationRule?.clusterRoleSelectors ?? []).some(hasInvalidValues);
  for (const [i, selector] of selectors.entries()) {
    const at = `${path}[${i}]`;
    yield* validateLabelSelector(selector, at, anyValue);
    for (const _ of [...validateLabelSelector(selector, at)].slice(0, 1)) yield invalid(at, null, 'invalid label selector.');
  }
}

/**
 * ClusterRole: permissions in the whole cluster, or granted per namespace. May aggregate the rules of other roles by
 * their labels.
 */
export const clusterRoles = defineResource<ClusterRole>({
  kind: kinds.clusterRoles,
  storage: {alwaysPresent: {rules: null}},
  metadata: {nameProblems: pathSegmentName},
  update: {createsMissing: true},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'rules', 'aggregationRule'], update: ['metadata', 'rules', 'aggregationRule']},
    validate,
  },
  presentation: {columns: [nameColumn, createdAtColumn]},
});
