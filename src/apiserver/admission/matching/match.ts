// Decides whether a webhook or policy receives a request: by its rules (also for other versions of the object), object
// selector and namespace selector. Match conditions in CEL are evaluated later, by the webhook or policy.

import {andThen} from '#src/base/eventually.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {notFound} from '#src/api/status.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {isNamespace, type AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {FindNamespace} from '#src/apiserver/admission/namespace-lifecycle.js';
import {versionsOf, type KindName, type ObjectVersions, type ObjectVersion} from './object-versions.js';
import {ruleMatches, type Rule, type RuleSubject} from './rules.js';

/**
 * The requests that a webhook or policy receives: those of a rule, and of no excluding one, on objects and in
 * namespaces with matching labels.
 */
export interface Criteria {
  /** Undefined if all requests match. */
  readonly rules: readonly Rule[] | undefined;
  readonly excluded?: readonly Rule[] | undefined;
  /** Whether a rule for another version of the same objects matches too. */
  readonly matchPolicy?: string | undefined;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
}

/** The sources of objects for matching. */
export interface MatchingContext {
  readonly registry: Pick<Registry, 'find' | 'served'>;
  readonly findNamespace: FindNamespace;
}

/**
 * The version in which a matching request is passed on; undefined if it does not match. Rejects with 404 when its
 * namespace has to be read and does not exist.
 */
export type Matched = ObjectVersion | undefined;

/** The namespace of a request; for a namespace itself its own name. */
export const namespaceOf = (attributes: AdmissionAttributes): string =>
  isNamespace(attributes) ? attributes.name || (attributes.object?.metadata?.name ?? '') : attributes.namespace;

const subjectOf = (
  attributes: AdmissionAttributes,
  {group, version, resource}: Pick<KindName, 'group' | 'version' | 'resource'>,
): RuleSubject => ({
  operation: attributes.operation,
  group,
  version,
  resource,
  subresource: attributes.subresource,
  namespace: namespaceOf(attributes),
  name: attributes.name,
});

const isAnyOf = (rules: readonly Rule[], subject: RuleSubject): boolean => rules.some(rule => ruleMatches(rule, subject));

/** Earlier rules come first, and the request's own version before others. */
const matchingVersion = (
  rules: readonly Rule[],
  matchPolicy: string | undefined,
  attributes: AdmissionAttributes,
  versions: ObjectVersions,
): ObjectVersion | undefined => {
  if (isAnyOf(rules, subjectOf(attributes, attributes))) return versions.own;
  if (matchPolicy !== 'Equivalent') return undefined;
  const others = versions.others();
  for (const rule of others.length > 0 ? rules : []) {
    const found = others.find(version => ruleMatches(rule, subjectOf(attributes, version)));
    if (found) return found;
  }
  return undefined;
};

/** Options of connect requests neither match nor violate an object selector. */
const hasLabels = (selector: LabelSelector, attributes: AdmissionAttributes, version: ObjectVersion): boolean => {
  const {operation, object, oldObject} = attributes;
  if (selector.empty) return true;
  const labels = [operation === 'CONNECT' ? undefined : object, oldObject].flatMap(each => (each ? [version.labelsOf(each)] : []));
  return labels.some(each => selector.matches(each));
};

const inNamespace = (selector: LabelSelector, attributes: AdmissionAttributes, find: FindNamespace): boolean | Promise<boolean> => {
  const {operation, subresource, object} = attributes;
  const name = namespaceOf(attributes);
  if ((name === '' && attributes.resource !== 'namespaces') || selector.empty) return true;
  // The stored state of a namespace is outdated while it is being written.
  if (isNamespace(attributes) && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'))
    return selector.matches(object?.metadata?.labels ?? {});
  const matchesNamespace = (namespace: Awaited<ReturnType<FindNamespace>>): boolean => {
    if (!namespace) throw notFound({group: '', resource: 'namespaces'}, name);
    return selector.matches(namespace.metadata?.labels ?? {});
  };
  const found = find(name);
  return andThen(found, matchesNamespace);
};

/** Matches a request against criteria, synchronously if the namespace is available. The cheapest checks come first. */
export const match = (
  criteria: Criteria,
  attributes: AdmissionAttributes,
  {registry, findNamespace}: MatchingContext,
): Matched | Promise<Matched> => {
  const {rules, excluded = [], matchPolicy, namespaceSelector, objectSelector} = criteria;
  const versions = versionsOf(registry, attributes);
  const version = versions && (rules ? matchingVersion(rules, matchPolicy, attributes, versions) : versions.own);
  if (
    !version ||
    (excluded.length > 0 && matchingVersion(excluded, matchPolicy, attributes, versions)) ||
    !hasLabels(objectSelector, attributes, version)
  )
    return undefined;
  const inside = inNamespace(namespaceSelector, attributes, findNamespace);
  return andThen(inside, yes => (yes ? version : undefined));
};
