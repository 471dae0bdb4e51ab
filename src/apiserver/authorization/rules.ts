// The semantics of single RBAC rules: whether one allows a request, and how permissions are written as rules. Users,
// roles and bindings are not known here.

import type {PolicyRule} from '#src/api/types.js';
import type {Attributes} from '#src/api/authorization.js';

type Texts = readonly string[] | undefined;

const holds = (list: Texts, text: string): boolean => list !== undefined && (list.includes(text) || list.includes('*'));

/** The prefix that a path ending in a star grants; undefined without a star. */
export const grantedPrefix = (granted: string): string | undefined => {
  if (!granted.endsWith('*')) return undefined;
  let end = granted.length - 1;
  while (granted[end - 1] === '*') end -= 1;
  return granted.slice(0, end);
};

const matchesPath = (granted: string, path: string): boolean => {
  const prefix = grantedPrefix(granted);
  return granted === path || (prefix !== undefined && path.startsWith(prefix));
};

/**
 * Whether a list of resources covers one: by itself, with its subresource, by `*`, or by any resource's subresource.
 */
const namesResource = (resources: Texts, resource: string, subresource: string): boolean => {
  if (!resources) return false;
  return (
    holds(resources, subresource ? `${resource}/${subresource}` : resource) ||
    (subresource !== '' && resources.includes(`*/${subresource}`))
  );
};

/** Whether a rule allows a request. A rule with names never matches a request without one. */
export const allows = (rule: Readonly<PolicyRule>, {verb, resource: requested, path}: Attributes): boolean => {
  if (!holds(rule.verbs, verb)) return false;
  if (!requested) return (rule.nonResourceURLs ?? []).some(granted => matchesPath(granted, path));
  const names = rule.resourceNames;
  return (
    holds(rule.apiGroups, requested.group) &&
    namesResource(rule.resources, requested.resource, requested.subresource) &&
    (names === undefined || names.length === 0 || names.includes(requested.name))
  );
};

/** One verb on one resource (of one name), or on one path. */
export interface Grant {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly path?: string;
}

const resourceKey = ({group, resource, name}: Grant): string => JSON.stringify([group, resource, name]);

/** Permissions as rules: verbs on the same resource (and name) together, each path separately. */
export const rulesOf = (grants: readonly Grant[]): PolicyRule[] => {
  const rules: PolicyRule[] = [];
  const byResource = new Map<string, PolicyRule>();
  for (const grant of grants) {
    const {verb, group = '', resource = '', name, path} = grant;
    const known = path === undefined ? byResource.get(resourceKey(grant)) : undefined;
    if (known) {
      known.verbs.push(verb);
      continue;
    }
    const target = path === undefined ? {apiGroups: [group], resources: [resource]} : {nonResourceURLs: [path]};
    const rule: PolicyRule = {verbs: [verb], ...target, ...(name === undefined ? {} : {resourceNames: [name]})};
    rules.push(rule);
    if (path === undefined) byResource.set(resourceKey(grant), rule);
  }
  return rules;
};

const list = (name: string, texts: readonly string[] | undefined): string[] =>
  texts?.length ? [`${name}:[${texts.map(text => JSON.stringify(text)).join(' ')}]`] : [];

/** A rule on one line, as refusals show it. */
const lineOf = ({apiGroups, resources, nonResourceURLs, resourceNames, verbs}: PolicyRule): string => {
  const parts = [
    ...list('APIGroups', apiGroups),
    ...list('Resources', resources),
    ...list('NonResourceURLs', nonResourceURLs),
    ...list('ResourceNames', resourceNames),
    ...list('Verbs', verbs),
  ];
  return `{${parts.join(', ')}}`;
};

/** Permissions as the refusal of an escalation lists them: sorted, one rule per line. */
export const grantLines = (grants: readonly Grant[]): string[] => [...new Set(rulesOf(grants).map(lineOf))].sort();
