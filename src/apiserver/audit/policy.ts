// The audit policy: which requests are recorded, how much of each, and at which stages. Rules are tried from the top;
// the first that matches decides. policy-file.ts reads it.

import type {AuditLevel} from '#src/api/audit.js';
import type {UserInfo} from '#src/api/user.js';
import type {RequestInfo, ResourceTarget} from '#src/apiserver/request/request-info.js';

export const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;

/** When an event is generated. */
export type Stage = (typeof stages)[number];

/**
 * Resources of a group. A name is `pods`, `pods/log`, `pods/*`, `*` or, for a subresource of all resources, an asterisk
 * in place of the resource; no name means all.
 */
export interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** A rule matches a request if all of its lists do; an empty list matches everything. */
export interface PolicyRule {
  readonly level: (typeof levels)[number];
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

export interface Policy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

/** How a request is recorded. */
export interface Recording {
  readonly level: AuditLevel;
  readonly omitted: ReadonlySet<Stage>;
  readonly omitsManagedFields: boolean;
}

/** Returns how a request is recorded; undefined for level None. The user is undefined if none was authenticated. */
export type EvaluatePolicy = (user: UserInfo | undefined, info: RequestInfo) => Recording | undefined;

/** Returns the evaluation of a policy. Requests that no rule matches are not recorded. */
export const policyEvaluator = (policy: Policy): EvaluatePolicy => {
  const rules = policy.rules.map(rule => ({
    matches: matcherOf(rule),
    recording:
      rule.level === 'None'
        ? undefined
        : {
            level: rule.level,
            omitted: new Set([...(policy.omitStages ?? []), ...(rule.omitStages ?? [])]),
            omitsManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
          },
  }));
  return (user, info) => {
    for (const {matches, recording} of rules) if (matches(user, info)) return recording;
    return undefined;
  };
};

type Matches = (user: UserInfo | undefined, info: RequestInfo) => boolean;

const filled = <T>(list: readonly T[] | undefined): readonly T[] | undefined => (list && list.length > 0 ? list : undefined);

/** The checks of a rule's lists that are not empty. */
const matcherOf = (rule: PolicyRule): Matches => {
  const checks: Matches[] = [];
  const users = filled(rule.users);
  if (users) checks.push(user => user !== undefined && users.includes(user.name));
  const groups = filled(rule.userGroups);
  if (groups) checks.push(user => user?.groups.some(group => groups.includes(group)) === true);
  const verbs = filled(rule.verbs);
  if (verbs) checks.push((_, {verb}) => verbs.includes(verb));
  const namespaces = filled(rule.namespaces);
  if (namespaces) checks.push((_, {resource}) => resource !== undefined && namespaces.includes(resource.namespace));
  const resources = filled(rule.resources);
  if (resources) checks.push((_, {resource}) => resource !== undefined && resources.some(listed => matchesResource(listed, resource)));
  const urls = namespaces || resources ? undefined : filled(rule.nonResourceURLs);
  if (urls) checks.push((_, {resource, path}) => resource === undefined && urls.some(url => matchesPath(url, path)));
  return (user, info) => checks.every(check => check(user, info));
};

const matchesPath = (url: string, path: string): boolean => url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));

const matchesResource = (
  {group = '', resources, resourceNames}: GroupResources,
  {group: requested, resource, subresource: below, name}: ResourceTarget,
): boolean => {
  if (group !== requested) return false;
  const names = filled(resourceNames);
  if (names && !names.includes(name)) return false;
  const listed = filled(resources);
  if (!listed) return true;
  const subresource = below.split('/', 1)[0]!;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return listed.some(one => one === '*' || one === whole || (subresource !== '' && one === `*/${subresource}`) || one === `${resource}/*`);
};
