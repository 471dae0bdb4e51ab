import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PolicyRule} from '#src/api/types.js';
import {missing} from '#src/apiserver/authorization/coverage.js';
import {escalation, escalationCheck} from '#src/apiserver/authorization/escalation.js';
import type {PolicyChange} from '#src/apiserver/authorization/policy.js';
import {seededRandom} from '#src/base/random.js';
import {refusal, startEnvironment} from '#test/resources/environment.js';
import {aUser, binding, clusterBinding, clusterRole, paths, rbacOf, role, rule, user, words} from './policy.js';

const jane = aUser('jane', 'devs');

const cases: [title: string, held: PolicyRule[], wanted: PolicyRule[], missing: string[]][] = [
  ['the same', [rule('get list', 'pods')], [rule('get', 'pods')], []],
  ['several rules together', [rule('get', 'pods'), rule('list', 'pods')], [rule('get list', 'pods')], []],
  [
    'another verb',
    [rule('get', 'pods')],
    [rule('get list watch', 'pods')],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}'],
  ],
  ['every verb', [rule('get', 'pods')], [rule('*', 'pods')], ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}']],
  ['any resource held', [rule('get', '*')], [rule('get', 'pods pods/log */scale')], []],
  [
    'a subresource of any resource held',
    [rule('get', '*/scale')],
    [rule('get', 'pods/scale pods')],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
  ],
  [
    'names within names',
    [rule('get', 'pods', {resourceNames: ['a', 'b']})],
    [rule('get', 'pods', {resourceNames: ['b', 'c']})],
    ['{APIGroups:[""], Resources:["pods"], ResourceNames:["c"], Verbs:["get"]}'],
  ],
  [
    'all names',
    [rule('get', 'pods', {resourceNames: ['a']})],
    [rule('get', 'pods')],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
  ],
  ['paths below a path', [paths('get', '/a/*')], [paths('get', '/a/b', '/a/*', '/c')], ['{NonResourceURLs:["/c"], Verbs:["get"]}']],
  [
    'two groups',
    [rule('get', 'x', {apiGroups: ['b']})],
    [rule('get', 'x', {apiGroups: ['a', 'b']})],
    ['{APIGroups:["a"], Resources:["x"], Verbs:["get"]}'],
  ],
];

for (const [title, held, wanted, missing] of cases) {
  test(`granting ${title}`, async t => {
    const {rbac} = await rbacOf(clusterRole('r', ...held), clusterBinding('b', 'r', user('jane')));
    const expected =
      missing.length === 0
        ? undefined
        : `user "jane" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:\n${missing.join('\n')}`;

    t.is(escalation(rbac, jane, '', wanted), expected);
  });
}

/** Every permission of a rule, one by one. */
const each = ({verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = []}: PolicyRule): PolicyRule[] => [
  ...apiGroups.flatMap(group =>
    resources.flatMap(resource =>
      verbs.flatMap(verb =>
        (resourceNames.length ? resourceNames : [undefined]).map(name => ({
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          ...(name === undefined ? {} : {resourceNames: [name]}),
        })),
      ),
    ),
  ),
  ...nonResourceURLs.flatMap(path => verbs.map(verb => ({verbs: [verb], nonResourceURLs: [path]}))),
];

/** Whether a rule holds a single permission, by the words of the API reference. */
const covers = (rule: PolicyRule, {verbs: [verb = ''], apiGroups, resources = [], resourceNames, nonResourceURLs}: PolicyRule): boolean => {
  const holds = (list: readonly string[] = [], text: string): boolean => list.includes(text) || list.includes('*');
  if (!holds(rule.verbs, verb)) return false;
  if (nonResourceURLs)
    return (rule.nonResourceURLs ?? []).some(
      held => held === nonResourceURLs[0] || (held.endsWith('*') && nonResourceURLs[0]!.startsWith(held.replace(/\*+$/, ''))),
    );
  const [main = '', subresource = ''] = resources[0]!.split('/');
  const isOfAny = subresource !== '' && (rule.resources ?? []).includes(`*/${subresource}`);
  const named = rule.resourceNames?.length ? rule.resourceNames : undefined;
  return (
    holds(rule.apiGroups, apiGroups![0]!) &&
    (isOfAny || holds(rule.resources, subresource ? `${main}/${subresource}` : main)) &&
    (!named || (resourceNames !== undefined && named.includes(resourceNames[0]!)))
  );
};

test('comparing rules as sets finds the same as comparing each permission', t => {
  const {float} = seededRandom(3);
  const some = (choices: readonly string[]): string[] => choices.filter(() => float() < 0.4);
  const aRule = (): PolicyRule => ({
    verbs: some(['get', 'list', '*', 'watch']),
    apiGroups: some(['', 'apps', '*']),
    resources: some(['pods', 'pods/log', '*/log', 'nodes', '*', 'pods/']),
    resourceNames: float() < 0.5 ? [] : some(['a', 'b', '*']),
    nonResourceURLs: some(['/a', '/a/*', '/a/b', '*', '/', '/a**']),
  });
  for (let round = 0; round < 400; round++) {
    const held = Array.from({length: Math.floor(float() * 4)}, aRule);
    const wanted = [aRule(), aRule()];
    const {grants, hasMore} = missing(held, wanted);
    const singly = wanted.flatMap(each).filter(one => !held.some(rule => covers(rule, one)));
    const asRules = grants.map(({verb, group, resource, name, path}) =>
      path === undefined
        ? {verbs: [verb], apiGroups: [group], resources: [resource], ...(name === undefined ? {} : {resourceNames: [name]})}
        : {verbs: [verb], nonResourceURLs: [path]},
    );

    t.deepEqual<unknown[], unknown[]>(asRules, singly);
    t.false(hasMore);
  }
});

test('roles that cannot be resolved are listed with the permissions that are missing', async t => {
  const {rbac} = await rbacOf(clusterBinding('b', 'gone', user('jane')));

  t.regex(
    escalation(rbac, jane, '', [rule('get', 'pods')]) ?? '',
    /Verbs:\["get"\]\}; resolution errors: \[clusterrole\.rbac\.authorization\.plat\.io "gone" not found\]$/,
  );
});

const own = [
  clusterRole('own', rule('get', 'pods')),
  clusterBinding('own', 'own', user('jane')),
  clusterRole('pods', rule('get', 'pods')),
  clusterRole('secrets', rule('get', 'secrets')),
  role('default', 'secrets', rule('get', 'secrets')),
  clusterRole('may-bind', {
    verbs: ['bind'],
    apiGroups: [words.group('rbac.authorization')],
    resources: ['roles'],
    resourceNames: ['secrets'],
  }),
  clusterRole('may-escalate', {verbs: ['escalate'], apiGroups: [words.group('rbac.authorization')], resources: ['roles', 'clusterroles']}),
];

/** A server that lets jane write, and checks the permissions she grants. */
const start = async (...more: PolicyChange[]) => {
  const {rbac} = await rbacOf(...own, ...more);
  const check = escalationCheck({naming: words, rbac, authorizer: rbac});
  return startEnvironment({admission: () => [check]});
};

const grantsSecrets = 'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}';

test('a role grants no more than its author holds', async t => {
  const {of} = await start();
  const roles = of(kinds.roles, jane);
  await roles.create({metadata: {name: 'good', namespace: 'default'}, rules: [rule('get', 'pods')]});
  const refused = await refusal(roles.create({metadata: {name: 'bad', namespace: 'default'}, rules: [rule('get', 'secrets')]}));

  t.is(refused.code, 403);
  t.is(refused.message, `roles.rbac.authorization.plat.io "bad" is forbidden: user "jane" (groups=["devs"]) ${grantsSecrets}`);

  const good = await roles.get('good', {namespace: 'default'});
  t.is((await refusal(roles.update({...good, rules: [rule('get', 'secrets')]}))).code, 403);
});

test('the escalate permission allows writing any role', async t => {
  const {of} = await start(clusterBinding('e', 'may-escalate', user('jane')));

  await t.notThrowsAsync(of(kinds.clusterRoles, jane).create({metadata: {name: 'r'}, rules: [rule('*', '*')]}));
});

test('gathering the rules of others takes all there is', async t => {
  const {of} = await start();
  const gathering = {metadata: {name: 'g'}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: 'b'}}]}};

  t.is(
    (await refusal(of(kinds.clusterRoles, jane).create(gathering))).message,
    'clusterroles.rbac.authorization.plat.io "g" is forbidden: must have cluster-admin privileges to use the aggregationRule',
  );
  t.is((await refusal(of(kinds.clusterRoles, jane).create({...gathering, aggregationRule: {clusterRoleSelectors: []}}))).code, 422);
  await t.notThrowsAsync(of(kinds.clusterRoles, aUser('root', 'system:masters')).create(gathering));
});

const aBinding = (kind: string, name: string) => ({
  metadata: {name: 'b', namespace: 'default'},
  roleRef: {apiGroup: words.group('rbac.authorization'), kind, name},
  subjects: [user('joe')],
});

test('a binding grants no more than its author holds', async t => {
  const {of} = await start();
  const bindings = of(kinds.roleBindings, jane);

  t.is(
    (await refusal(bindings.create(aBinding('Role', 'secrets')))).message,
    `rolebindings.rbac.authorization.plat.io "b" is forbidden: user "jane" (groups=["devs"]) ${grantsSecrets}`,
  );
  t.is(
    (await refusal(bindings.create(aBinding('ClusterRole', 'gone')))).message,
    'rolebindings.rbac.authorization.plat.io "gone" not found',
  );
  t.like(await refusal(bindings.create(aBinding('Sheet', 'x'))), {code: 500, message: 'unsupported role reference kind: "Sheet"'});
  await t.notThrowsAsync(bindings.create(aBinding('ClusterRole', 'pods')));
});

test('the bind permission allows binding a role in that namespace', async t => {
  const {of} = await start(binding('default', 'b', 'ClusterRole', 'may-bind', user('jane')));

  await t.notThrowsAsync(of(kinds.roleBindings, jane).create(aBinding('Role', 'secrets')));
  t.is(
    (
      await refusal(
        of(kinds.roleBindings, jane).create({...aBinding('ClusterRole', 'secrets'), metadata: {name: 'c', namespace: 'default'}}),
      )
    ).code,
    403,
  );
});

test('finalizers and owners of roles change without a question', async t => {
  const {of} = await start();
  const made = await of(kinds.roles, aUser('root', 'system:masters')).create({
    metadata: {name: 'r', namespace: 'default'},
    rules: [rule('get', 'secrets')],
  });

  await t.notThrowsAsync(of(kinds.roles, jane).update({...made, metadata: {...made.metadata, finalizers: ['a.b/c']}}));
  const again = await of(kinds.roles, jane).get('r', {namespace: 'default'});
  t.is((await refusal(of(kinds.roles, jane).update({...again, metadata: {...again.metadata, labels: {a: 'b'}}}))).code, 403);
});
