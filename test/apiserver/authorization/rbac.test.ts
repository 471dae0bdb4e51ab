import test from 'ava';
import {serviceAccountUser} from '#src/api/user.js';
import {alwaysAllow, alwaysDeny, privileged, union, unionRules} from '#src/apiserver/authorization/modes.js';
import {attributesOf, requestInfo} from '#src/apiserver/request/request-info.js';
import type {Authorizer} from '#src/api/authorization.js';
import {account, asking, aUser, binding, clusterBinding, clusterRole, group, paths, rbacOf, role, rule, user} from './policy.js';

const jane = aUser('jane', 'devs', 'system:authenticated');

const matches: [
  allowed: boolean,
  rule: ReturnType<typeof rule>,
  verb: string,
  what: string,
  more?: {name?: string; namespace?: string; group?: string},
][] = [
  [true, rule('get', 'pods'), 'get', 'pods'],
  [false, rule('get', 'pods'), 'list', 'pods'],
  [true, rule('*', 'pods'), 'anything', 'pods'],
  [false, rule('get', 'pods'), 'get', 'pods', {group: 'apps'}],
  [true, rule('get', 'pods', {apiGroups: ['*']}), 'get', 'pods', {group: 'apps'}],
  [false, rule('get', 'pods'), 'get', 'pods/log'],
  [true, rule('get', 'pods/log'), 'get', 'pods/log'],
  [false, rule('get', 'pods/log'), 'get', 'pods'],
  [true, rule('get', '*'), 'get', 'pods/log'],
  [true, rule('get', '*/scale'), 'get', 'deployments/scale'],
  [false, rule('get', '*/scale'), 'get', 'deployments'],
  [true, rule('get', 'pods', {resourceNames: ['a', 'b']}), 'get', 'pods', {name: 'b'}],
  [false, rule('get', 'pods', {resourceNames: ['a']}), 'get', 'pods', {name: 'b'}],
  [false, rule('create', 'pods', {resourceNames: ['a']}), 'create', 'pods'],
  [true, paths('get', '/healthz'), 'get', '/healthz'],
  [false, paths('get', '/healthz'), 'get', '/healthz/etcd'],
  [true, paths('get', '/healthz/*'), 'get', '/healthz/etcd'],
  [true, paths('*', '*'), 'post', '/x'],
  [false, paths('get', '/api*'), 'get', '/version'],
  [false, rule('get', '*', {apiGroups: ['*']}), 'get', '/healthz'],
];

for (const [allowed, granted, verb, what, more = {}] of matches) {
  test(`${JSON.stringify(granted)} ${allowed ? 'allows' : 'does not allow'} ${verb} ${what} ${JSON.stringify(more)}`, async t => {
    const {rbac} = await rbacOf(clusterRole('r', granted), clusterBinding('b', 'r', user('jane')));

    t.is(rbac.authorize(asking(jane, verb, what, more)).decision, allowed ? 'allow' : 'noOpinion');
  });
}

test('bindings match users, groups and service accounts, and are named in the reason', async t => {
  const {rbac} = await rbacOf(
    clusterRole('r', rule('get', 'pods')),
    clusterBinding('to-user', 'r', user('joe')),
    clusterBinding('to-group', 'r', group('devs')),
    clusterBinding('to-account', 'r', account('bot', 'ns')),
    clusterBinding('to-nobody', 'r', account('lost')),
  );
  const reason = (who: Parameters<typeof asking>[0]) => rbac.authorize(asking(who, 'get', 'pods')).reason;

  t.is(reason(aUser('joe')), 'RBAC: allowed by ClusterRoleBinding "to-user" of ClusterRole "r" to User "joe"');
  t.is(reason(jane), 'RBAC: allowed by ClusterRoleBinding "to-group" of ClusterRole "r" to Group "devs"');
  t.is(
    reason(serviceAccountUser('ns', 'bot')),
    'RBAC: allowed by ClusterRoleBinding "to-account" of ClusterRole "r" to ServiceAccount "bot/ns"',
  );
  t.is(reason(serviceAccountUser('other', 'bot')), undefined);
  t.is(reason(aUser('devs')), undefined);
});

test('a binding in a namespace grants there alone, to accounts of that namespace unless it names another', async t => {
  const {rbac} = await rbacOf(
    role('ns', 'r', rule('get', 'pods')),
    clusterRole('c', rule('list', 'pods')),
    binding('ns', 'b', 'Role', 'r', account('bot')),
    binding('ns', 'c', 'ClusterRole', 'c', user('jane')),
  );
  const bot = serviceAccountUser('ns', 'bot');

  t.is(
    rbac.authorize(asking(bot, 'get', 'pods', {namespace: 'ns'})).reason,
    'RBAC: allowed by RoleBinding "b/ns" of Role "r" to ServiceAccount "bot/ns"',
  );
  t.is(rbac.authorize(asking(bot, 'get', 'pods', {namespace: 'other'})).decision, 'noOpinion');
  t.is(rbac.authorize(asking(bot, 'get', 'pods')).decision, 'noOpinion');
  t.is(rbac.authorize(asking(jane, 'list', 'pods', {namespace: 'ns'})).decision, 'allow');
});

test('missing roles are reported when no rule allows', async t => {
  const {rbac} = await rbacOf(
    clusterRole('r', rule('get', 'pods')),
    clusterBinding('a', 'gone', user('jane')),
    clusterBinding('b', 'r', user('jane')),
    binding('ns', 'c', 'Role', 'lost', user('jane')),
  );

  t.is(rbac.authorize(asking(jane, 'get', 'pods')).decision, 'allow');
  t.deepEqual(rbac.authorize(asking(jane, 'list', 'pods')), {
    decision: 'noOpinion',
    reason: 'RBAC: clusterrole.rbac.authorization.plat.io "gone" not found',
  });
  t.is(
    rbac.authorize(asking(jane, 'list', 'pods', {namespace: 'ns'})).reason,
    'RBAC: [clusterrole.rbac.authorization.plat.io "gone" not found, role.rbac.authorization.plat.io "lost" not found]',
  );
});

test('changes of roles and bindings count at once', async t => {
  const {rbac, change} = await rbacOf(clusterRole('r', rule('get', 'pods')), clusterBinding('b', 'r', user('jane')));
  const may = (verb: string) => rbac.authorize(asking(jane, verb, 'pods')).decision === 'allow';

  t.true(may('get'));
  change(clusterRole('r', rule('list', 'pods')));
  t.deepEqual([may('get'), may('list')], [false, true]);
  change(clusterBinding('b', 'r', user('joe')));
  t.false(may('list'));
  change(clusterBinding('b', 'r', group('devs')));
  t.true(may('list'));
  change({...clusterBinding('b', 'r', group('devs')), gone: true});
  t.false(may('list'));
  change(clusterBinding('b', 'r', user('jane')));
  change({...clusterRole('r'), gone: true});
  t.false(may('list'));
});

test('users with the same name and other groups are not mixed up', async t => {
  const {rbac} = await rbacOf(clusterRole('r', rule('get', 'pods')), clusterBinding('b', 'r', group('devs')));

  t.is(rbac.authorize(asking(jane, 'get', 'pods')).decision, 'allow');
  t.is(rbac.authorize(asking(aUser('jane'), 'get', 'pods')).decision, 'noOpinion');
  t.is(rbac.authorize(asking(aUser('jane\0devs'), 'get', 'pods')).decision, 'noOpinion');
});

test('the rules of a user are listed', async t => {
  const {rbac} = await rbacOf(
    clusterRole('r', rule('get', 'pods', {resourceNames: ['a']}), paths('get', '/x')),
    clusterBinding('b', 'r', user('jane')),
    clusterBinding('c', 'gone', user('jane')),
    role('ns', 'r', rule('list', 'secrets')),
    binding('ns', 'b', 'Role', 'r', user('jane')),
  );

  t.deepEqual(rbac.rulesFor(jane, 'ns'), {
    resourceRules: [
      {verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a']},
      {verbs: ['list'], apiGroups: [''], resources: ['secrets']},
    ],
    nonResourceRules: [{verbs: ['get'], nonResourceURLs: ['/x']}],
    incomplete: false,
    error: 'clusterrole.rbac.authorization.plat.io "gone" not found',
  });
});

const answering = (decision: 'allow' | 'deny' | 'noOpinion', reason?: string, waits = false): Authorizer => ({
  authorize: () => {
    const answer = {decision, ...(reason ? {reason} : {})};
    return waits ? Promise.resolve(answer) : answer;
  },
});

const unions: [title: string, authorizers: Authorizer[], expected: object][] = [
  ['no rule allows', [], {decision: 'noOpinion'}],
  ['the first opinion decides', [answering('noOpinion', 'a'), answering('deny', 'b'), alwaysAllow], {decision: 'deny', reason: 'b'}],
  [
    'the first opinion decides though one waits',
    [answering('noOpinion', 'a', true), answering('allow', 'b', true), alwaysDeny],
    {decision: 'allow', reason: 'b'},
  ],
  [
    'reasons are collected',
    [answering('noOpinion', 'a'), answering('noOpinion', 'b', true), alwaysDeny],
    {decision: 'noOpinion', reason: 'a\nb\nEverything is forbidden.'},
  ],
];

for (const [title, authorizers, expected] of unions) {
  test(`of several authorizers ${title}`, async t => {
    t.deepEqual(await union(authorizers).authorize(asking(jane, 'get', 'pods')), expected as never);
  });
}

test('masters may do anything', t => {
  t.deepEqual(privileged.authorize(asking(aUser('root', 'system:masters'), 'get', '/x')), {decision: 'allow'});
  t.deepEqual(privileged.authorize(asking(jane, 'get', '/x')), {decision: 'noOpinion'});
});

test('only the first segment after a name is the subresource', t => {
  const requested = attributesOf(jane, requestInfo('GET', '/api/v1/namespaces/x/pods/y/log/z'));

  t.like(requested.resource, {resource: 'pods', name: 'y', subresource: 'log'});
});

test('failures to list rules and bindings to missing roles are reported', async t => {
  const {rbac} = await rbacOf(clusterBinding('c', 'gone', user('jane')));

  t.like(await unionRules([alwaysAllow, rbac])(jane, 'ns'), {
    incomplete: false,
    error: 'clusterrole.rbac.authorization.plat.io "gone" not found',
    resourceRules: [{verbs: ['*']}],
  });
  t.like(await unionRules([alwaysAllow, alwaysDeny])(jane, 'ns'), {incomplete: false});
});
