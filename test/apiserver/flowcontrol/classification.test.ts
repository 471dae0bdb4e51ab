import test from 'ava';
import {naming} from '#src/api/naming.js';
import {serviceAccountUser, type UserInfo} from '#src/api/user.js';
import {requestInfo} from '#src/apiserver/request/request-info.js';
import {suggestedObjects} from '#src/resources/flowcontrol/bootstrap.js';
import {aLevel, aSchema, aUser, startFair} from './environment.js';

const {levels, schemas} = suggestedObjects(naming('kubernetes'));
const defaults = {levels, schemas};

const classifier = async (objects: Pick<Parameters<typeof startFair>[1], 'levels' | 'schemas'>) => {
  const env = await startFair(600, objects);
  const {flowControl} = env.server;
  const classify = (user: UserInfo, method: string, url: string) => {
    const {name, level} = flowControl!.schemaOf(user, requestInfo(method, url));
    return `${name} ${level.name}`;
  };
  return {...env, classify};
};

test('the default schemas classify requests by user and by what they do', async t => {
  const {classify, stop} = await classifier(defaults);
  const node = aUser('system:node:one', 'system:nodes');
  const [manager, scheduler] = [aUser('system:kube-controller-manager'), aUser('system:kube-scheduler')];
  const controller = serviceAccountUser('kube-system', 'job-controller');
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a';
  for (const [user, method, url, expected] of [
    [aUser('root', 'system:masters'), 'DELETE', '/api/v1/namespaces/a/pods', 'exempt exempt'],
    [aUser('jane'), 'GET', '/healthz', 'probes exempt'],
    [aUser('jane'), 'GET', '/readyz', 'probes exempt'],
    [aUser('jane'), 'GET', '/readyz/ping', 'probes exempt'],
    [aUser('jane'), 'POST', '/healthz', 'global-default global-default'],
    [manager, 'GET', lease, 'system-leader-election leader-election'],
    [manager, 'PUT', lease, 'system-leader-election leader-election'],
    [manager, 'DELETE', lease, 'kube-controller-manager workload-high'],
    [scheduler, 'GET', '/api/v1/pods', 'kube-scheduler workload-high'],
    [controller, 'GET', lease, 'system-leader-election leader-election'],
    [controller, 'POST', '/api/v1/namespaces/a/pods', 'kube-system-service-accounts workload-high'],
    [node, 'PATCH', '/api/v1/nodes/one/status', 'system-node-high node-high'],
    [node, 'PUT', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/one', 'system-node-high node-high'],
    [node, 'GET', '/api/v1/namespaces/a/pods/b', 'system-nodes system'],
    [serviceAccountUser('a', 'b'), 'GET', '/api/v1/pods', 'service-accounts workload-low'],
    [serviceAccountUser('kube-system-too', 'b'), 'GET', '/api/v1/pods', 'service-accounts workload-low'],
    [aUser('jane'), 'GET', '/apis', 'global-default global-default'],
    [{name: 'system:anonymous', groups: ['system:unauthenticated']}, 'GET', '/api/v1/pods', 'global-default global-default'],
    [{name: 'nobody', groups: []}, 'GET', '/api/v1/pods', 'catch-all catch-all'],
  ] as const)
    t.is(classify(user, method, url), expected, `${user.name} ${method} ${url}`);
  stop();
});

test('of several schemas that match the one with the lowest precedence applies, of equal ones the first by name', async t => {
  const {
    classify,
    schemas: objects,
    stop,
  } = await classifier({
    levels: [aLevel('some', {nominalConcurrencyShares: 1})],
    schemas: [aSchema('b', 'some', 700), aSchema('c', 'some', 600), aSchema('a', 'some', 700), aSchema('d', 'none', 500)],
  });
  t.is(classify(aUser('jane'), 'GET', '/'), 'c some', 'a schema without a level is not used');
  await objects.delete('c');
  t.is(classify(aUser('jane'), 'GET', '/'), 'a some');
  await objects.delete('a');
  await objects.delete('b');
  t.is(classify(aUser('jane'), 'GET', '/'), 'catch-all catch-all');
  stop();
});

test('rules match verbs, groups, resources with their subresources, namespaces, cluster scope and paths', async t => {
  const rule = {verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/status', 'nodes'], namespaces: ['a', 'b']};
  const {classify, stop} = await classifier({
    levels: [aLevel('some', {nominalConcurrencyShares: 1})],
    schemas: [
      aSchema('named', 'some', 100, {resourceRules: [rule]}),
      aSchema('cluster', 'some', 200, {
        resourceRules: [{verbs: ['*'], apiGroups: ['apps'], resources: ['*'], namespaces: [], clusterScope: true}],
      }),
      aSchema('paths', 'some', 300, {nonResourceRules: [{verbs: ['get'], nonResourceURLs: ['/version', '/logs/*']}]}),
      aSchema('account', 'some', 400, {
        subjects: [
          {kind: 'ServiceAccount', serviceAccount: {namespace: 'a', name: 'robot'}},
          {kind: 'User', user: {name: 'jim'}},
        ],
      }),
      aSchema('own', 'some', 500, {
        subjects: [{kind: 'User', user: {name: '*'}}],
        nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['/own']}],
      }),
    ],
  });
  const jane = aUser('jane');
  for (const [user, method, url, expected] of [
    [jane, 'GET', '/api/v1/namespaces/a/pods/x', 'named'],
    [jane, 'GET', '/api/v1/namespaces/b/pods', 'named'],
    [jane, 'GET', '/api/v1/namespaces/a/pods/x/status', 'named'],
    [jane, 'GET', '/api/v1/namespaces/a/pods/x/log', 'catch-all'],
    [jane, 'GET', '/api/v1/namespaces/c/pods/x', 'catch-all'],
    [jane, 'GET', '/api/v1/pods', 'catch-all'],
    [jane, 'DELETE', '/api/v1/namespaces/a/pods/x', 'catch-all'],
    [jane, 'GET', '/apis/apps/v1/deployments', 'cluster'],
    [jane, 'GET', '/apis/apps/v1/namespaces/a/deployments', 'catch-all'],
    [jane, 'GET', '/version', 'paths'],
    [jane, 'GET', '/version/more', 'paths'],
    [jane, 'GET', '/logs/a/b', 'paths'],
    [jane, 'GET', '/logs', 'catch-all'],
    [jane, 'POST', '/version', 'catch-all'],
    [jane, 'GET', '/own', 'own'],
    [serviceAccountUser('a', 'robot'), 'GET', '/', 'account'],
    [serviceAccountUser('a', 'robots'), 'GET', '/', 'catch-all'],
    [aUser('jim'), 'GET', '/', 'account'],
  ] as const)
    t.is(classify(user, method, url).split(' ')[0], expected, `${user.name} ${method} ${url}`);
  stop();
});

test('flows of a schema are distinguished by user or by namespace', async t => {
  const {server, stop} = await classifier(defaults);
  const flowOf = (user: UserInfo, url: string) => {
    const info = requestInfo('GET', url);
    return server.flowControl!.schemaOf(user, info).flowOf(user, info);
  };
  const byUser = flowOf(aUser('jane'), '/api/v1/namespaces/a/pods');
  t.is(byUser.distinguisher, 'jane');
  t.is(byUser.hand.length, 6);
  t.is(flowOf(aUser('jane'), '/api/v1/namespaces/b/pods'), byUser);
  t.notDeepEqual(flowOf(aUser('jim'), '/api/v1/namespaces/a/pods').hand, byUser.hand);
  const controller = serviceAccountUser('kube-system', 'job-controller');
  t.is(flowOf(controller, '/api/v1/namespaces/a/pods').distinguisher, 'a');
  t.is(flowOf(controller, '/api/v1/pods').distinguisher, '');
  t.is(flowOf(serviceAccountUser('kube-system', 'x'), '/api/v1/namespaces/a/pods'), flowOf(controller, '/api/v1/namespaces/a/pods'));
  stop();
});
