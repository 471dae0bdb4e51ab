// The scenarios of upstream's cloud-provider/controllers/service/controller_test.go: TestSyncLoadBalancerIfNeeded,
// TestProcessServiceCreateOrUpdate, TestProcessServiceDeletion, TestNeedsCleanup, TestNeedsUpdate, TestAddFinalizer,
// TestRemoveFinalizer, TestPatchStatus, Test_respectsPredicates and TestServiceQueueDelay; service-lb-nodes.test.ts has
// those about nodes. Without a row: the conflict of TestProcessServiceCreateOrUpdateK8sError. These do not apply:
// TestSyncService (keys are no text that may be malformed), TestServiceCache and TestListWithPredicate (parts that this
// controller does not have), and the rows of Test_respectsPredicates about readiness, which is no condition of load
// balancers since their set of nodes is stable.

import test from 'ava';
import {isEligible, needsCleanup, nodeNames, relevantChange, sameStatus} from '#controllers/service-lb/policy.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Service} from '#src/runtime/cloud.js';
import {aBalancedPlane} from './balancers.js';
import {aPlane} from './plane.js';

const naming = namingOf('plat');
const finalizer = 'service.plat.io/load-balancer-cleanup';
const excluded = 'node.plat.io/exclude-from-external-load-balancers';

const aService = (spec: Partial<NonNullable<Service['spec']>> = {}, metadata: Service['metadata'] = {}): Service => ({
  metadata: {namespace: 'default', name: 's', uid: 'u', ...metadata},
  spec: {type: 'LoadBalancer', ports: [{port: 80, protocol: 'TCP', targetPort: 80}], ipFamilies: ['IPv4'], ...spec},
});
const port = (more: object = {}) => ({ports: [{port: 80, protocol: 'TCP', targetPort: 80, ...more}]});

const changes: readonly (readonly [what: string, old: Service, now: Service, expected: object | undefined])[] = [
  ['nothing', aService(), aService(), undefined],
  ['a service that never had one', aService({type: 'ClusterIP'}), aService({type: 'ClusterIP', ...port({port: 81})}), undefined],
  ['the type', aService({type: 'ClusterIP'}), aService(), {reason: 'Type', message: 'ClusterIP -> LoadBalancer'}],
  ['the type, back', aService(), aService({type: 'NodePort'}), {reason: 'Type', message: 'LoadBalancer -> NodePort'}],
  ['a class that is set', aService({loadBalancerClass: 'a/b'}), aService({loadBalancerClass: 'a/b', ...port({port: 81})}), undefined],
  [
    'source ranges',
    aService({loadBalancerSourceRanges: ['1.2.3.4/32']}),
    aService({loadBalancerSourceRanges: ['5.6.7.8/32', '9.0.0.0/8']}),
    {reason: 'LoadBalancerSourceRanges', message: '[1.2.3.4/32] -> [5.6.7.8/32 9.0.0.0/8]'},
  ],
  ['the name of a port', aService(port({name: 'a'})), aService(port({name: 'b'})), {}],
  ['the protocol of a port', aService(port()), aService(port({protocol: 'UDP'})), {}],
  ['the number of a port', aService(port()), aService(port({port: 81})), {}],
  ['a node port', aService(port({nodePort: 30_000})), aService(port({nodePort: 30_001})), {}],
  ['a target port', aService(port()), aService(port({targetPort: 81})), {}],
  ['a target port to a name', aService(port({targetPort: 22})), aService(port({targetPort: 'dns'})), {}],
  [
    'the numbers of many ports',
    aService({ports: [{port: 8000}, {port: 9000}, {port: 10_000}]}),
    aService({ports: [{port: 8001}, {port: 9001}, {port: 10_001}]}),
    {},
  ],
  ['the protocol of the application to another', aService(port({appProtocol: 'http'})), aService(port({appProtocol: 'tcp'})), {}],
  ['the protocol of the application', aService(port()), aService(port({appProtocol: 'http'})), {}],
  ['the session affinity', aService({sessionAffinity: 'None'}), aService({sessionAffinity: 'ClientIP'}), {}],
  [
    'the timeout of the session affinity',
    aService({sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}}),
    aService({sessionAffinityConfig: {clientIP: {timeoutSeconds: 2}}}),
    {},
  ],
  ['the requested address', aService(), aService({loadBalancerIP: '1.2.3.4'}), {reason: 'LoadbalancerIP', message: ' -> 1.2.3.4'}],
  ['the number of external addresses', aService(), aService({externalIPs: ['1.2.3.4']}), {reason: 'ExternalIP', message: 'Count: 0 -> 1'}],
  [
    'an external address',
    aService({externalIPs: ['1.2.3.4']}),
    aService({externalIPs: ['1.2.3.5']}),
    {reason: 'ExternalIP', message: 'Added: 1.2.3.5'},
  ],
  [
    'both of two external addresses',
    aService({externalIPs: ['1.2.3.4', '1.2.3.5']}),
    aService({externalIPs: ['1.2.4.4', '1.2.4.5']}),
    {reason: 'ExternalIP', message: 'Added: 1.2.4.4'},
  ],
  [
    'one external address to two others',
    aService({externalIPs: ['1.2.3.4']}),
    aService({externalIPs: ['1.2.4.4', '1.2.4.5']}),
    {reason: 'ExternalIP', message: 'Count: 1 -> 2'},
  ],
  ['an annotation', aService(), aService({}, {annotations: {a: 'b'}}), {}],
  ['the uid', aService(), aService({}, {uid: 'v'}), {reason: 'UID', message: 'u -> v'}],
  [
    'the policy for external traffic',
    aService({externalTrafficPolicy: 'Cluster'}),
    aService({externalTrafficPolicy: 'Local'}),
    {reason: 'ExternalTrafficPolicy', message: 'Cluster -> Local'},
  ],
  ['the port of health checks', aService(), aService({healthCheckNodePort: 5}), {reason: 'HealthCheckNodePort', message: '0 -> 5'}],
  ['the number of IP families', aService(), aService({ipFamilies: ['IPv4', 'IPv6']}), {}],
  ['the number of IP families, back', aService({ipFamilies: ['IPv4', 'IPv6']}), aService(), {}],
  ['a label', aService(), aService({}, {labels: {a: 'b'}}), undefined],
];
for (const [what, old, now, expected] of changes) {
  test(`a change of ${what} ${expected ? 'changes' : 'does not change'} the load balancer`, t => {
    t.deepEqual(relevantChange(old, now), expected);
  });
}

const cleanups: readonly (readonly [what: string, service: Service, needed: boolean])[] = [
  ['without the finalizer', aService({}, {deletionTimestamp: 'now'}), false],
  ['that stays', aService({}, {finalizers: [finalizer]}), false],
  ['that is being deleted', aService({}, {finalizers: [finalizer], deletionTimestamp: 'now'}), true],
  ['of another type', aService({type: 'NodePort'}, {finalizers: [finalizer]}), true],
];
for (const [what, service, needed] of cleanups) {
  test(`the load balancer of a service ${what} is ${needed ? '' : 'not '}to be deleted`, t => {
    t.is(needsCleanup(service, naming), needed);
  });
}

const nodes: readonly (readonly [what: string, node: Node, isUsed: boolean])[] = [
  ['that is not ready', {status: {conditions: [{type: 'Ready', status: 'False'}]}}, true],
  ['that is being deleted', {metadata: {deletionTimestamp: 'now'}}, false],
  ['that is excluded', {metadata: {labels: {[excluded]: ''}}}, false],
  ['that is excluded by true', {metadata: {labels: {[excluded]: 'true'}}}, false],
  ['that is not excluded, by false', {metadata: {labels: {[excluded]: 'false'}}}, true],
  ['that is excluded by another word', {metadata: {labels: {[excluded]: 'perhaps'}}}, false],
  ['that the autoscaler is about to delete', {spec: {taints: [{key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule'}]}}, false],
  ['with another taint', {spec: {taints: [{key: 'other', effect: 'NoExecute'}]}}, true],
];
for (const [what, node, isUsed] of nodes) {
  test(`a node ${what} ${isUsed ? 'receives' : 'does not receive'} traffic`, t => {
    t.is(isEligible(node, naming), isUsed);
  });
}

test('a message names 20 nodes at most', t => {
  const nodesOf = (count: number) => Array.from({length: count}, (_, i) => ({metadata: {name: `n${i}`}}));

  t.is(nodeNames(nodesOf(20)).split(',').length, 20);
  t.regex(nodeNames(nodesOf(21)), /n19,\.\.\. \(total 21\)$/);
});

test('two statuses are the same whatever the order of their ports', t => {
  const status = (...ports: number[]) => ({ingress: [{ip: '1.2.3.4', ports: ports.map(each => ({port: each, protocol: 'TCP'}))}]});

  t.true(sameStatus(status(80, 443), status(443, 80)));
  t.false(sameStatus(status(80), status(81)));
  t.true(sameStatus(undefined, {}));
});

test('a service gets an address, keeps it, and loses it with its type or with itself', async t => {
  await using at = await aBalancedPlane({loadBalancers: {cidrs: ['203.0.113.0/29']}});
  const {cloud, clock, nodes, services, make, change, get, ips} = at;
  await make('s');
  const [ip] = await ips('s');
  t.regex(ip!, /^203\.0\.113\.[1-6]$/);
  t.deepEqual((await get('s')).metadata?.finalizers, [finalizer]);
  t.deepEqual(await at.reasons(), ['EnsuredLoadBalancer', 'EnsuringLoadBalancer', 'UnAvailableLoadBalancer']);

  await nodes.create({metadata: {name: 'n1'}});
  await nodes.create({metadata: {name: 'n2', labels: {[excluded]: ''}}});
  await clock.drain();
  const balancer = () => Object.values(cloud.state().loadBalancers)[0]!;
  t.deepEqual([balancer().service, balancer().nodes], ['default/s', ['n1']]);
  await nodes.patch('n2', 'merge', {metadata: {labels: {[excluded]: null}}});
  await clock.drain();
  t.deepEqual(balancer().nodes, ['n1', 'n2']);
  t.true((await at.reasons()).includes('UpdatedLoadBalancer'));

  await change('s', {spec: {type: 'NodePort'}});
  t.deepEqual([await ips('s'), cloud.state().loadBalancers, (await get('s')).metadata?.finalizers], [[], {}, undefined]);
  await change('s', {spec: {type: 'LoadBalancer'}});
  t.deepEqual(await ips('s'), [ip]);
  await services.delete('s', {namespace: 'default'});
  await clock.drain();
  t.deepEqual(cloud.state().loadBalancers, {});
  await t.throwsAsync(get('s'), {message: /not found/});
});

test('a service may request its address, a class is left to others, and no two services share an address', async t => {
  await using at = await aBalancedPlane({loadBalancers: {cidrs: ['203.0.113.0/29']}});
  const {make, ips} = at;
  await make('requested', {loadBalancerIP: '203.0.113.3'});
  t.deepEqual(await ips('requested'), ['203.0.113.3']);
  await make('other', {loadBalancerClass: 'example.com/other'});
  t.deepEqual(await ips('other'), []);
  for (const name of ['a', 'b', 'c', 'd', 'e']) await make(name);
  const all = (await Promise.all(['requested', 'a', 'b', 'c', 'd', 'e'].map(ips))).flat();
  t.is(new Set(all).size, 6);
  await make('late');
  t.deepEqual(await ips('late'), []);
  t.true((await at.reasons()).includes('SyncLoadBalancerFailed'));
});

test('a cloud that fails is called again later and later, and keeps the status', async t => {
  await using at = await aBalancedPlane({faults: [{call: 'loadBalancers.ensure', of: 'default/s', error: 'no money'}]});
  const {cloud, clock, make, change, ips} = at;
  await make('s');
  await make('other');
  t.deepEqual([await ips('s'), (await ips('other')).length], [[], 1]);
  t.true((await at.reasons()).includes('SyncLoadBalancerFailed'));
  cloud.configure({});
  await clock.advance(3_000);
  t.deepEqual(await ips('s'), []);
  await clock.advance(1_500);
  const before = await ips('s');
  t.is(before.length, 1);

  cloud.configure({faults: [{call: 'loadBalancers.ensure', error: 'no money'}]});
  await change('s', {metadata: {annotations: {a: 'b'}}});
  t.deepEqual(await ips('s'), before);
});

test('a cloud that asks to be called later is called then', async t => {
  await using at = await aBalancedPlane({faults: [{call: 'loadBalancers.ensure', retryAfter: '42s'}]});
  const {cloud, clock, make, ips} = at;
  await make('s');
  cloud.configure({});
  await clock.advance(41_999);
  t.deepEqual(await ips('s'), []);
  await clock.advance(1);
  t.is((await ips('s')).length, 1);
});

test('a load balancer that another program implements gets no status, and can be deleted', async t => {
  const elsewhere = {implementedElsewhere: true};
  await using at = await aBalancedPlane({
    faults: ['ensure', 'update', 'ensureDeleted'].map(call => ({call: `loadBalancers.${call}`, ...elsewhere})),
  });
  const {clock, services, nodes, make, ips, get} = at;
  await make('s');
  await nodes.create({metadata: {name: 'n1'}});
  await clock.drain();
  t.deepEqual(await ips('s'), []);
  t.false((await at.reasons()).some(reason => reason.endsWith('Failed')));
  await services.delete('s', {namespace: 'default'});
  await clock.drain();
  await t.throwsAsync(get('s'), {message: /not found/});
});

test('nodes that cannot be changed are changed with their service', async t => {
  await using at = await aBalancedPlane();
  const {cloud, clock, nodes, make} = at;
  await make('s');
  cloud.configure({faults: [{call: 'loadBalancers.update', error: 'busy'}]});
  await nodes.create({metadata: {name: 'n1'}});
  await clock.drain();

  t.deepEqual(Object.values(cloud.state().loadBalancers)[0]?.nodes, ['n1']);
  t.true((await at.reasons()).includes('UpdateLoadBalancerFailed'));
});

test('a service that is replaced under the same name gets a load balancer of its own', async t => {
  await using at = await aBalancedPlane();
  const {cloud, clock, services, make, get} = at;
  await make('s');
  const {uid} = (await get('s')).metadata!;
  cloud.configure({faults: [{call: 'loadBalancers.get', error: 'not now'}]});
  await services.delete('s', {namespace: 'default'});
  await services.patch('s', 'merge', {metadata: {finalizers: null}}, {namespace: 'default'});
  cloud.configure({});
  await make('s');
  await clock.advance(60_000);

  t.not((await get('s')).metadata?.uid, uid);
  t.is(Object.keys(cloud.state().loadBalancers).length, 1);
});

test('without a provider in this process it does not run', async t => {
  await using plane = await aPlane({controllers: ['service-lb-controller'], controllerManagerArgs: ['--cloud-provider=external']});
  const {clock} = plane;
  const services = plane.client().resource(kinds.services);
  await services.create({metadata: {namespace: 'default', name: 's'}, spec: {type: 'LoadBalancer', ports: [{port: 80}]}});
  await clock.drain();

  t.is((await services.get('s', {namespace: 'default'})).metadata?.finalizers, undefined);
});

const synced: readonly (readonly [what: string, metadata: object, spec: object, hasAddress: boolean, isFinalized: boolean])[] = [
  ['of another type', {}, {type: 'ClusterIP'}, false, false],
  ['of TCP', {}, {ports: [{port: 80, protocol: 'TCP'}]}, true, true],
  ['of UDP', {}, {ports: [{port: 80, protocol: 'UDP'}]}, true, true],
  ['of SCTP', {}, {ports: [{port: 80, protocol: 'SCTP'}]}, true, true],
  ['with a class', {}, {loadBalancerClass: 'example.com/other'}, false, false],
  ['with the finalizer', {finalizers: [finalizer]}, {}, true, true],
  ['of another type with the finalizer', {finalizers: [finalizer]}, {type: 'ClusterIP'}, false, false],
];
for (const [what, metadata, spec, hasAddress, isFinalized] of synced) {
  test(`a service ${what} ${hasAddress ? 'gets a' : 'has no'} load balancer`, async t => {
    await using at = await aBalancedPlane();
    await at.services.create({
      metadata: {name: 's', namespace: 'default', ...metadata},
      spec: {type: 'LoadBalancer', ports: [{port: 80}], ...spec},
    });
    await at.clock.drain();

    t.deepEqual((await at.get('s')).metadata?.finalizers, isFinalized ? [finalizer] : undefined);
    t.is((await at.ips('s')).length, hasAddress ? 1 : 0);
  });
}

test('a service whose load balancer the cloud fails to delete stays until it is deleted', async t => {
  await using at = await aBalancedPlane();
  const {cloud, clock, services, make, get} = at;
  await make('s');
  cloud.configure({faults: [{call: 'loadBalancers.ensureDeleted', error: 'not now'}]});
  await services.delete('s', {namespace: 'default'});
  await clock.drain();
  t.deepEqual((await get('s')).metadata?.finalizers, [finalizer]);
  t.true((await at.reasons()).includes('SyncLoadBalancerFailed'));

  cloud.configure({});
  await clock.advance(60_000);
  await t.throwsAsync(get('s'), {message: /not found/});
  t.deepEqual(cloud.state().loadBalancers, {});
});
