import type {PolicyRule} from '#src/api/types.js';
import type {Attributes} from '#src/serving/authorization.js';

type Texts = readonly string[] | undefined;

const holds = (list: Texts, text: string): boolean => list !== undefined && (list.includes(text) || list.includes('*'));

const meetsPath = (granted: string, path: string): boolean =>
  granted === path || granted === '*' || (granted.endsWith('*') && path.startsWith(granted.replace(/\*+$/, '')));

/** Whether a list of resources names one: by itself, with its subresource, as `*`, or as any resource's subresource. */
const namesResource = (resources: Texts, resource: string, subresource: string): boolean => {
  if (!resources) return false;
  return holds(resources, subresource ? `${resource}/${subresource}` : resource) || (subresource !== '' && resources.includes(`*/${subresource}`));
};

/** Whether a rule allows what is asked. A rule that names objects is never met by a request that names none. */
export const allows = (rule: Readonly<PolicyRule>, {verb, resource: asked, path}: Attributes): boolean => {
  if (!holds(rule.verbs, verb)) return false;
  if (!asked) return (rule.nonResourceURLs ?? []).some(granted => meetsPath(granted, path));
  const names = rule.resourceNames;
  return (
    holds(rule.apiGroups, asked.group) &&
    namesResource(rule.resources, asked.resource, asked.subresource) &&
    (names === undefined || names.length === 0 || names.includes(asked.name))
  );
};

/** One verb on one resource (of one name), or on one path. */
interface Grant {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly path?: string;
}

function* grantsOf({verbs, apiGroups, resources, resourceNames, nonResourceURLs}: Readonly<PolicyRule>): Iterable<Grant> {
  const names = resourceNames?.length ? resourceNames : [undefined];
  for (const group of apiGroups ?? []) {
    for (const resource of resources ?? []) {
      for (const verb of verbs) for (const name of names) yield {verb, group, resource, ...(name === undefined ? {} : {name})};
    }
  }
  for (const path of nonResourceURLs ?? []) for (const verb of verbs) yield {verb, path};
}

const covers = (rule: Readonly<PolicyRule>, {verb, group, resource, name, path}: Grant): boolean => {
  if (!holds(rule.verbs, verb)) return false;
  if (path !== undefined) return (rule.nonResourceURLs ?? []).some(granted => meetsPath(granted, path));
  const [main = '', subresource = ''] = (resource ?? '').split(/\/(.*)/s);
  const names = rule.resourceNames ?? [];
  return (
    holds(rule.apiGroups, group ?? '') &&
    namesResource(rule.resources, main, subresource) &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
};

/** Which of the permissions in `wanted` are not among those in `held`. */
export const missing = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Grant[] =>
  wanted.flatMap(rule => [...grantsOf(rule)].filter(grant => !held.some(owned => covers(owned, grant))));

const list = (name: string, texts: readonly string[]): string[] =>
  texts.length > 0 ? [`${name}:[${texts.map(text => JSON.stringify(text)).join(' ')}]`] : [];

const braces = (...parts: readonly string[][]): string => `{${parts.flat().join(', ')}}`;

/** Permissions as the refusal of an escalation lists them: verbs on one resource together, sorted, one line each. */
export const grantLines = (grants: readonly Grant[]): string[] => {
  const byResource = new Map<string, {grant: Grant; verbs: string[]}>();
  const lines: string[] = [];
  for (const grant of grants) {
    const {verb, group, resource, name, path} = grant;
    if (path !== undefined) {
      lines.push(braces(list('NonResourceURLs', [path]), list('Verbs', [verb])));
      continue;
    }
    const key = JSON.stringify([group, resource, name]);
    const entry = byResource.get(key);
    if (entry) entry.verbs.push(verb);
    else byResource.set(key, {grant, verbs: [verb]});
  }
  for (const {grant, verbs} of byResource.values()) {
    const {group = '', resource = '', name} = grant;
    lines.push(braces(list('APIGroups', [group]), list('Resources', [resource]), list('ResourceNames', name === undefined ? [] : [name]), list('Verbs', verbs)));
  }
  return [...new Set(lines)].sort();
};
