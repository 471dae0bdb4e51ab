// Matching of requests with the rules of flow schemas. A schema is compiled once; the part that depends on the user is
// evaluated once per user.

import type {UserInfo} from '#src/api/user.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {FlowSchema} from '#src/resources/flowcontrol/bootstrap.js';

type Rules = NonNullable<NonNullable<FlowSchema['spec']>['rules']>[number];
type Subject = Rules['subjects'][number];
type Test<T> = (value: T) => boolean;

/** Matches everything. */
export const always = (): boolean => true;

/** Matches the values of a list; a list of `*` alone matches all. */
const within = (list: readonly string[] | undefined): Test<string> => {
  if (!list?.length) return () => false;
  if (list.length === 1) {
    const [only] = list;
    return only === '*' ? always : value => value === only;
  }
  const all = new Set(list);
  return value => all.has(value);
};

/** The requests that the rules of one group of subjects match. */
export type Requests = Test<RequestInfo>;

/** The rules of one group of subjects. */
export interface CompiledRules {
  readonly subjects: Test<UserInfo>;
  readonly requests: Requests;
}

const subjectTest = ({kind, user, group, serviceAccount}: Subject): Test<UserInfo> => {
  if (kind === 'User' && user) return user.name === '*' ? always : ({name}) => name === user.name;
  if (kind === 'Group' && group) return group.name === '*' ? always : ({groups}) => groups.includes(group.name);
  if (kind !== 'ServiceAccount' || !serviceAccount) return () => false;
  const prefix = `system:serviceaccount:${serviceAccount.namespace}:`;
  return serviceAccount.name === '*' ? ({name}) => name.startsWith(prefix) : ({name}) => name === prefix + serviceAccount.name;
};

const resourceTest = (rule: NonNullable<Rules['resourceRules']>[number]): Requests => {
  const [verb, resource, group, namespace] = [rule.verbs, rule.resources, rule.apiGroups, rule.namespaces].map(within) as [
    Test<string>,
    Test<string>,
    Test<string>,
    Test<string>,
  ];
  const isClusterScoped = rule.clusterScope === true;
  if ([verb, resource, group, namespace].every(test => test === always) && isClusterScoped) return always;
  return ({verb: requested, resource: target}) => {
    if (!target || !verb(requested)) return false;
    if (!resource(target.subresource ? `${target.resource}/${target.subresource.split('/', 1)[0]}` : target.resource)) return false;
    return group(target.group) && (target.namespace ? namespace(target.namespace) : isClusterScoped);
  };
};

const pathTest = (paths: readonly string[]): Test<string> => {
  const tests = paths.map((path): Test<string> => {
    if (path === '*') return always;
    const below = path.endsWith('/*') ? path.slice(0, -1) : `${path.replace(/\*$/, '').replace(/\/$/, '')}/`;
    return requested => requested === path || requested.startsWith(below);
  });
  return tests.includes(always) ? always : requested => tests.some(test => test(requested));
};

const nonResourceTest = ({verbs, nonResourceURLs}: NonNullable<Rules['nonResourceRules']>[number]): Requests => {
  const [verb, path] = [within(verbs), pathTest(nonResourceURLs)];
  return verb === always && path === always ? always : info => verb(info.verb) && path(info.path);
};

const anyOf = <T>(tests: readonly Test<T>[]): Test<T> => {
  if (tests.includes(always)) return always;
  if (tests.length === 1) return tests[0]!;
  return value => tests.some(test => test(value));
};

/** Compiles the rules of a schema. */
export const compiledRules = (schema: FlowSchema): CompiledRules[] =>
  (schema.spec?.rules ?? []).map(({subjects, resourceRules = [], nonResourceRules = []}) => {
    const [resources, others] = [anyOf(resourceRules.map(resourceTest)), anyOf(nonResourceRules.map(nonResourceTest))];
    const requests: Requests = resources === always && others === always ? always : info => (info.resource ? resources : others)(info);
    return {subjects: anyOf(subjects.map(subjectTest)), requests};
  });

/** The requests of a user that the rules match; undefined if they match none. */
export const requestsOf = (rules: readonly CompiledRules[], user: UserInfo): Requests | undefined => {
  const matching = rules.filter(({subjects}) => subjects(user)).map(({requests}) => requests);
  return matching.length > 0 ? anyOf(matching) : undefined;
};
