import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {ClusterRole} from '#src/api/types.js';
import {ensureBootstrapPolicy} from '#src/apiserver/authorization/bootstrap/ensure.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {reconcileBinding, reconcileRole} from '#src/apiserver/authorization/bootstrap/reconcile.js';
import {startServer} from '#test/fixtures/server.js';
import {clusterRole, rule, user, words, apiGroup} from './policy.js';

const expected: ClusterRole = {
  ...clusterRole('r', rule('get list', 'pods')).object,
  metadata: {name: 'r', labels: {a: 'ours', b: 'ours'}, annotations: {}},
};
const existing: ClusterRole = {...expected, metadata: {...expected.metadata, uid: 'u', resourceVersion: '1'}};

test('a role that is missing is created, one that is whole is left alone', t => {
  t.deepEqual(reconcileRole(undefined, expected, words), {do: 'create', object: expected});
  t.deepEqual(reconcileRole(existing, expected, words), {do: 'nothing'});
  t.deepEqual(reconcileRole({...existing, rules: [rule('*', '*')]}, expected, words), {do: 'nothing'});
});

test('a role gets missing rules back and keeps added ones', t => {
  const less = {...existing, rules: [rule('get', 'pods'), rule('get', 'secrets')], metadata: {...existing.metadata, labels: {a: 'theirs'}}};

  t.deepEqual(reconcileRole<ClusterRole>(less, expected, words), {
    do: 'update',
    object: {
      ...less,
      metadata: {...existing.metadata, labels: {a: 'theirs', b: 'ours'}},
      rules: [rule('get', 'pods'), rule('get', 'secrets'), rule('list', 'pods')],
    },
  });
});

test('a role without auto-update is left alone', t => {
  const metadata = {...existing.metadata, annotations: {[words.annotations.autoupdate]: 'false'}};
  const bound = {metadata, roleRef: {apiGroup, kind: 'ClusterRole', name: 'other'}};

  t.deepEqual(reconcileRole({...existing, metadata, rules: []}, expected, words), {do: 'nothing'});
  t.deepEqual(reconcileBinding(bound, {...bound, roleRef: {...bound.roleRef, name: 'r'}}, words), {do: 'nothing'});
});

test('a role that gathers gets back its selectors, not its rules', t => {
  const selector = {matchLabels: {a: 'b'}};
  const gathering = {...expected, rules: [], aggregationRule: {clusterRoleSelectors: [selector]}};
  const theirs = {...existing, rules: [rule('get', 'x')], aggregationRule: {clusterRoleSelectors: [{matchLabels: {c: 'd'}}]}};

  t.deepEqual(reconcileRole<ClusterRole>(theirs, gathering, words), {
    do: 'update',
    object: {...theirs, aggregationRule: {clusterRoleSelectors: [{matchLabels: {c: 'd'}}, selector]}},
  });
});

const binding = {metadata: {name: 'b'}, roleRef: {apiGroup, kind: 'ClusterRole', name: 'r'}, subjects: [user('jane'), user('joe')]};

test('a binding gets back the subjects it lacks, and is made again for another role', t => {
  const fewer = {...binding, metadata: {name: 'b', labels: {}, annotations: {}}, subjects: [user('ann'), user('joe')]};
  const subjects = [user('ann'), user('joe'), user('jane')];

  t.deepEqual(reconcileBinding(undefined, binding, words), {do: 'create', object: binding});
  t.deepEqual(reconcileBinding(fewer, binding, words), {do: 'update', object: {...fewer, subjects}});
  t.like(reconcileBinding({...fewer, roleRef: {...fewer.roleRef, name: 'old'}}, binding, words), {
    do: 'recreate',
    object: {roleRef: binding.roleRef, subjects},
  });
});

test('the bootstrap policy is written once, and missing parts are restored', async t => {
  const {clientOf, store} = startServer();
  const client = clientOf();
  const policy = bootstrapPolicy(naming('plat'), () => false);
  await ensureBootstrapPolicy(client, words, policy);
  const {revision} = await store.range({start: '/', end: '0'});

  const admin = await client.resource(kinds.clusterRoles).get('admin');
  t.deepEqual([admin.aggregationRule?.clusterRoleSelectors?.length, admin.rules ?? []], [1, []]);
  await ensureBootstrapPolicy(client, words, policy);
  t.is((await store.range({start: '/', end: '0'})).revision, revision);

  const roles = client.resource(kinds.clusterRoles);
  const viewer = await roles.get('system:public-info-viewer');
  await roles.update({...viewer, rules: []});
  const bindings = client.resource(kinds.clusterRoleBindings);
  await bindings.delete('cluster-admin');
  await ensureBootstrapPolicy(client, words, policy);

  t.deepEqual(
    (await roles.get('system:public-info-viewer')).rules?.flatMap(({nonResourceURLs}) => nonResourceURLs),
    viewer.rules?.[0]?.nonResourceURLs,
  );
  t.is((await bindings.get('cluster-admin')).subjects?.[0]?.name, 'system:masters');
});
