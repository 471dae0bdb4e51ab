import type {Attributes, Authorizer} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';
import type {RuleLister} from '#src/apiserver/authorization/modes.js';
import {grantedPrefix} from '#src/apiserver/authorization/rules.js';
import type {AbacPolicy} from './policy-file.js';

const readingVerbs = ['get', 'list', 'watch'];

/**
 * Whether a policy is about a user: both the user and the group that it names must match, and it must name one of them.
 */
const isAbout = ({user, group}: AbacPolicy, {name, groups}: UserInfo): boolean =>
  (user !== '' || group !== '') && (user === '' || user === name) && (group === '' || groups.includes(group));

const covers = (wanted: string, value: string): boolean => wanted === '*' || wanted === value;

const coversPath = (wanted: string, path: string): boolean => {
  const prefix = grantedPrefix(wanted);
  return wanted === path || (prefix !== undefined && path.startsWith(prefix));
};

const allows = (policy: AbacPolicy, {user, verb, resource, path}: Attributes): boolean => {
  if (!isAbout(policy, user)) return false;
  if (policy.readonly && !readingVerbs.includes(verb)) return false;
  if (!resource) return coversPath(policy.nonResourcePath, path);
  return (
    covers(policy.namespace, resource.namespace) && covers(policy.resource, resource.resource) && covers(policy.apiGroup, resource.group)
  );
};

/** Allows what any policy of the list allows (the API reference, ABAC mode). */
export const abacAuthorizer = (policies: readonly AbacPolicy[]): Authorizer & RuleLister => ({
  authorize: attributes =>
    policies.some(policy => allows(policy, attributes)) ? {decision: 'allow'} : {decision: 'noOpinion', reason: 'No policy matched.'},
  rulesFor(user, namespace) {
    const matching = policies.filter(policy => isAbout(policy, user) && covers(policy.namespace, namespace));
    const verbsOf = (policy: AbacPolicy) => (policy.readonly ? [...readingVerbs] : ['*']);
    return {
      resourceRules: matching
        .filter(({resource}) => resource !== '')
        .map(policy => ({verbs: verbsOf(policy), apiGroups: [policy.apiGroup], resources: [policy.resource]})),
      nonResourceRules: matching
        .filter(({nonResourcePath}) => nonResourcePath !== '')
        .map(policy => ({verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath]})),
      incomplete: false,
    };
  },
});
