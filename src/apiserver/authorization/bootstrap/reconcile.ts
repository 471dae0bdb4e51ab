import type {Naming} from '#src/api/naming.js';
import type {ClusterRole, ClusterRoleBinding, ObjectMeta, RbacSubject, Role, RoleBinding} from '#src/api/types.js';
import {missing} from '#src/apiserver/authorization/coverage.js';
import {rulesOf} from '#src/apiserver/authorization/rules.js';
import {sameContent, sameJson} from '#src/api/equal.js';

/** The write that is needed so that an object has at least the expected content. */
export type Step<T> =
  | {readonly do: 'nothing'}
  | {readonly do: 'create'; readonly object: T}
  | {readonly do: 'update'; readonly object: T}
  /** A binding cannot change its role: it is deleted first. */
  | {readonly do: 'recreate'; readonly old: T; readonly object: T};

type AnyRole = Role & Pick<ClusterRole, 'aggregationRule'>;
type AnyBinding = RoleBinding | ClusterRoleBinding;

const noStep = {do: 'nothing'} as const;

const isProtected = (metadata: ObjectMeta | undefined, naming: Naming): boolean =>
  metadata?.annotations?.[naming.annotations.autoupdate] === 'false';

/** Adds missing entries and keeps changed ones. */
const mergedMetadata = (existing: ObjectMeta | undefined, expected: ObjectMeta | undefined): ObjectMeta => ({
  ...existing,
  labels: {...expected?.labels, ...existing?.labels},
  annotations: {...expected?.annotations, ...existing?.annotations},
});

/** Whether nothing is missing in the metadata. */
const hasMetadata = (existing: ObjectMeta | undefined, expected: ObjectMeta | undefined): boolean =>
  hasKeys(existing?.labels, expected?.labels) && hasKeys(existing?.annotations, expected?.annotations);

const hasKeys = (existing: object = {}, expected: object = {}): boolean => {
  for (const key in expected) if (!Object.hasOwn(existing, key)) return false;
  return true;
};

/**
 * Adds missing rules to a role and keeps additional ones, unless its annotation disables updates. The rules of an
 * aggregated role are not changed.
 */
export const reconcileRole = <T extends AnyRole>(existing: T | undefined, expected: T, naming: Naming): Step<T> => {
  if (!existing) return {do: 'create', object: expected};
  if (isProtected(existing.metadata, naming)) return noStep;
  const isAggregated = existing.aggregationRule && expected.aggregationRule;
  // The rules are mostly the expected ones, which is quicker to see than that they cover them.
  const isComplete = isAggregated || sameJson(existing.rules ?? [], expected.rules ?? []);
  const lacking = isComplete ? [] : rulesOf(missing(existing.rules ?? [], expected.rules ?? []).grants);
  const wanted = expected.aggregationRule?.clusterRoleSelectors ?? [];
  const selectors = existing.aggregationRule?.clusterRoleSelectors ?? [];
  const absent = wanted.filter(selector => !selectors.some(known => sameContent(known, selector)));
  if (lacking.length === 0 && absent.length === 0 && hasMetadata(existing.metadata, expected.metadata)) return noStep;
  const object = {
    ...existing,
    metadata: mergedMetadata(existing.metadata, expected.metadata),
    ...(lacking.length > 0 ? {rules: [...(existing.rules ?? []), ...lacking]} : {}),
    ...(absent.length > 0 ? {aggregationRule: {clusterRoleSelectors: [...selectors, ...absent]}} : {}),
  };
  return {do: 'update', object};
};

const sameSubject = (one: RbacSubject, other: RbacSubject): boolean =>
  one.kind === other.kind &&
  one.name === other.name &&
  (one.namespace ?? '') === (other.namespace ?? '') &&
  (one.apiGroup ?? '') === (other.apiGroup ?? '');

/**
 * Adds missing subjects to a binding and keeps additional ones, unless updates are disabled; a binding to another role
 * is created anew.
 */
export const reconcileBinding = <T extends AnyBinding>(existing: T | undefined, expected: T, naming: Naming): Step<T> => {
  if (!existing) return {do: 'create', object: expected};
  if (isProtected(existing.metadata, naming)) return noStep;
  const lacking = (expected.subjects ?? []).filter(subject => !existing.subjects?.some(known => sameSubject(known, subject)));
  const subjects = lacking.length > 0 ? [...(existing.subjects ?? []), ...lacking] : (existing.subjects ?? []);
  if (!sameContent(existing.roleRef, expected.roleRef)) {
    const {labels, annotations} = mergedMetadata(existing.metadata, expected.metadata);
    const metadata = {...expected.metadata, ...(labels ? {labels} : {}), ...(annotations ? {annotations} : {})};
    return {do: 'recreate', old: existing, object: {...expected, metadata, ...(subjects.length > 0 ? {subjects} : {})}};
  }
  if (lacking.length === 0 && hasMetadata(existing.metadata, expected.metadata)) return noStep;
  return {
    do: 'update',
    object: {
      ...existing,
      metadata: mergedMetadata(existing.metadata, expected.metadata),
      ...(lacking.length > 0 ? {subjects} : {}),
    },
  };
};
