// The scenarios of upstream's cloud-provider/controllers/route/route_controller_test.go: TestIsResponsibleForRoute and
// TestReconcile.

import test from 'ava';
import {actionsFor, clusterRanges, isResponsibleFor, routesToDelete} from '#controllers/node-route/policy.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {Route} from '#src/runtime/cloud.js';
import {aCloud} from './clouds.js';
import {aPlane} from './plane.js';

const address = {type: 'InternalIP', address: '192.168.0.1'};
const aNode = (name: string, ...podCIDRs: string[]): Node => ({
  metadata: {name, uid: `u-${name}`},
  spec: {podCIDRs},
  status: {addresses: [address]},
});
const aRoute = (targetNode: string, destinationCIDR: string, more: Partial<Route> = {}): Route => ({
  name: `${targetNode}-${destinationCIDR}`,
  targetNode,
  destinationCIDR,
  ...more,
});
const cluster = clusterRanges(['10.120.0.0/16', 'fd00::/48']);

const lefts: readonly (readonly [cidr: string, isOurs: boolean, ranges?: string])[] = [
  ['10.244.0.0/24', true, '10.244.0.0/16'],
  ['10.244.10.0/24', true, '10.244.0.0/16'],
  ['10.244.255.0/24', true, '10.244.0.0/16'],
  ['10.244.0.0/24', true, '10.244.0.0/14'],
  ['10.247.255.0/24', true, '10.244.0.0/14'],
  ['a00:100::/24', true, 'a00:100::/10'],
  ['10.224.0.0/24', false, '10.244.0.0/16'],
  ['10.0.10.0/24', false, '10.244.0.0/16'],
  ['10.255.255.0/24', false, '10.244.0.0/16'],
  ['10.248.0.0/24', false, '10.244.0.0/14'],
  ['10.243.255.0/24', false, '10.244.0.0/14'],
  ['b00:100::/24', false, 'a00:100::/10'],
  ['10.120.0.0/24', true],
  ['10.120.255.0/24', true],
  ['10.0.0.0/8', false],
  ['10.120.128.0/15', true],
  ['10.119.0.0/16', false],
  ['10.121.0.0/24', false],
  ['fd00:0:0:1::/64', true],
  ['fd01::/64', false],
  ['nonsense', false],
];
for (const [cidr, isOurs, range] of lefts) {
  test(`a route to ${cidr} is ${isOurs ? '' : 'not '}one of the cluster${range ? ` with ${range}` : ''}`, t => {
    t.is(isResponsibleFor(aRoute('n', cidr), range ? clusterRanges([range]) : cluster), isOurs);
  });
}

const [a4, b4, a6, b6] = ['10.120.0.0/24', '10.120.1.0/24', 'fd00:0:0:1::/64', 'fd00:0:0:2::/64'] as const;
const two = [aNode('a', a4), aNode('b', b4)];
const both = [aRoute('a', a4), aRoute('b', b4)];
const twoOfBothFamilies = [aNode('a', a4, a6), aNode('b', b4, b6)];
const all = [aRoute('a', a4), aRoute('b', b4), aRoute('a', a6), aRoute('b', b6)];
const keepAll = {a: ['keep', 'keep'], b: ['keep', 'keep']};

const cases: readonly (readonly [
  what: string,
  nodes: readonly Node[],
  routes: readonly Route[],
  actions: object,
  deleted: readonly string[],
])[] = [
  [
    'both routes are there',
    [aNode('a', '10.120.0.0/24'), aNode('b', '10.120.1.0/24')],
    [aRoute('a', '10.120.0.0/24'), aRoute('b', '10.120.1.0/24')],
    {a: ['keep'], b: ['keep']},
    [],
  ],
  [
    'one is missing',
    [aNode('a', '10.120.0.0/24'), aNode('b', '10.120.1.0/24')],
    [aRoute('a', '10.120.0.0/24')],
    {a: ['keep'], b: ['add']},
    [],
  ],
  [
    'a node is gone',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24'), aRoute('b', '10.120.1.0/24')],
    {a: ['keep']},
    ['b-10.120.1.0/24'],
  ],
  ['a range has moved', [aNode('a', '10.120.2.0/24')], [aRoute('a', '10.120.0.0/24')], {a: ['add']}, ['a-10.120.0.0/24']],
  [
    'a foreign route is there',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24'), aRoute('x', '10.1.0.0/24')],
    {a: ['keep']},
    [],
  ],
  [
    'a route leads nowhere',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('', '10.120.3.0/24', {blackhole: true})],
    {a: ['add']},
    ['-10.120.3.0/24'],
  ],
  ['there are none', two, [], {a: ['add'], b: ['add']}, []],
  [
    'there are more than nodes',
    two,
    [...both, aRoute('c', '10.120.2.0/24'), aRoute('d', '10.120.3.0/24')],
    {a: ['keep'], b: ['keep']},
    ['c-10.120.2.0/24', 'd-10.120.3.0/24'],
  ],
  ['one is wrong', two, [aRoute('a', a4), aRoute('c', '10.120.2.0/24')], {a: ['keep'], b: ['add']}, ['c-10.120.2.0/24']],
  [
    'one of the cluster leads nowhere as well',
    two,
    [...both, aRoute('', '10.120.2.0/24', {blackhole: true})],
    {a: ['keep'], b: ['keep']},
    ['-10.120.2.0/24'],
  ],
  ['a foreign one leads nowhere as well', two, [...both, aRoute('', '10.1.2.0/24', {blackhole: true})], {a: ['keep'], b: ['keep']}, []],
  ['nodes of both families have none', twoOfBothFamilies, [], {a: ['add', 'add'], b: ['add', 'add']}, []],
  ['nodes of both families have theirs', twoOfBothFamilies, all, keepAll, []],
  ['nodes of both families have some', twoOfBothFamilies, [all[0]!, all[3]!], {a: ['keep', 'add'], b: ['add', 'keep']}, []],
  [
    'nodes of both families have those of each other',
    twoOfBothFamilies,
    [aRoute('a', b4), aRoute('b', a4), aRoute('a', b6), aRoute('b', a6)],
    {a: ['add', 'add'], b: ['add', 'add']},
    [`a-${b4}`, `b-${a4}`, `a-${b6}`, `b-${a6}`],
  ],
  [
    'nodes of both families have theirs, and there are more',
    twoOfBothFamilies,
    [...all, aRoute('x', '10.120.2.0/24'), aRoute('y', 'fd00:0:0:3::/64')],
    keepAll,
    ['x-10.120.2.0/24', 'y-fd00:0:0:3::/64'],
  ],
  [
    'nodes of both families have other addresses',
    twoOfBothFamilies,
    all.map(route => ({...route, enableNodeAddresses: true, targetNodeAddresses: [{...address, address: '192.168.0.9'}]})),
    {a: ['update', 'update'], b: ['update', 'update']},
    all.map(({name}) => name),
  ],
  ['a node has no range', [aNode('a'), aNode('b', '10.120.1.0/24')], [], {b: ['add']}, []],
  ['a node has two ranges', [aNode('a', '10.120.0.0/24', 'fd00:0:0:1::/64')], [aRoute('a', '10.120.0.0/24')], {a: ['keep', 'add']}, []],
  [
    'its gateway is the node',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24', {gatewayAddress: address.address})],
    {a: ['keep']},
    [],
  ],
  [
    'its gateway is another',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24', {gatewayAddress: '192.168.0.2'})],
    {a: ['update']},
    ['a-10.120.0.0/24'],
  ],
  [
    'its addresses are those of the node',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24', {enableNodeAddresses: true, targetNodeAddresses: [address]})],
    {a: ['keep']},
    [],
  ],
  [
    'its addresses are outdated',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24', {enableNodeAddresses: true, targetNodeAddresses: []})],
    {a: ['update']},
    ['a-10.120.0.0/24'],
  ],
  [
    'its addresses are not tracked',
    [aNode('a', '10.120.0.0/24')],
    [aRoute('a', '10.120.0.0/24', {targetNodeAddresses: []})],
    {a: ['keep']},
    [],
  ],
];
for (const [what, nodes, routes, actions, deleted] of cases) {
  test(`routes where ${what}`, t => {
    const found = actionsFor(nodes, routes);

    t.deepEqual(Object.fromEntries([...found].map(([name, of]) => [name, [...of.values()]])), actions);
    t.deepEqual(
      routesToDelete(routes, found, cluster).map(({name}) => name),
      deleted,
    );
  });
}

const flags = ['--allocate-node-cidrs', '--cluster-cidr=10.244.0.0/16', '--service-cluster-ip-range=10.96.0.0/16'];

const aRoutedPlane = async (configuration: object = {}, ...args: string[]) => {
  const cloud = aCloud(configuration);
  const plane = await aPlane({
    controllers: ['node-route-controller'],
    controllerManagerArgs: [...cloud.args, ...flags, '--route-reconciliation-period=10s', '--cluster-name=mine', ...args],
  });
  const {clock} = plane;
  const client = plane.client();
  const nodes = client.resource(kinds.nodes);
  return {
    cloud,
    clock,
    client,
    nodes,
    condition: async (name: string) => {
      const found = (await nodes.get(name)).status?.conditions?.find(({type}) => type === 'NetworkUnavailable');
      return found && [found.status, found.reason];
    },
    make: (name: string, podCIDR?: string) => nodes.create({metadata: {name}, spec: podCIDR ? {podCIDR, podCIDRs: [podCIDR]} : {}}),
    [Symbol.asyncDispose]: () => plane.stop(),
  };
};

test('each node gets a route under a name of the cluster, and a condition, both once', async t => {
  await using at = await aRoutedPlane();
  const {cloud, clock, nodes, make, condition} = at;
  const {metadata} = await make('n1', '10.244.1.0/24');
  await make('n2');
  await clock.advance(10_000);
  t.deepEqual(Object.keys(cloud.state().routes), [`mine-${metadata!.uid}-10.244.1.0/24`]);
  t.deepEqual([await condition('n1'), await condition('n2')], [['False', 'RouteCreated'], undefined]);
  const {resourceVersion} = (await nodes.get('n1')).metadata!;
  await clock.advance(60_000);
  t.is((await nodes.get('n1')).metadata?.resourceVersion, resourceVersion);

  await nodes.delete('n1');
  await clock.advance(10_000);
  t.deepEqual(cloud.state().routes, {});
});

test('a route that cannot be created is reported on the node, and tried again', async t => {
  await using at = await aRoutedPlane({faults: [{call: 'routes.create', error: 'no more routes'}]});
  const {cloud, clock, client, make, condition} = at;
  await make('n1', '10.244.1.0/24');
  await clock.advance(10_000);
  t.deepEqual(await condition('n1'), ['True', 'NoRouteCreated']);
  const {items} = await client.resource(kinds.events).list({namespace: 'default'});
  t.deepEqual(
    items.filter(({reason}) => reason === 'FailedToCreateRoute').map(({type, regarding}) => [type, regarding?.name]),
    [['Warning', 'n1']],
  );
  cloud.configure({});
  await clock.advance(10_000);
  t.deepEqual(await condition('n1'), ['False', 'RouteCreated']);
});

test('a route to a machine that is gone is made again', async t => {
  await using at = await aRoutedPlane();
  const {cloud, clock, make} = at;
  await make('n1', '10.244.1.0/24');
  await clock.advance(10_000);
  cloud.set({...cloud.state(), instances: {n1: {state: 'gone'}}});
  await clock.advance(10_000);
  cloud.set({...cloud.state(), instances: {}});
  await clock.advance(10_000);

  t.is(Object.keys(cloud.state().routes).length, 1);
});

for (const flag of ['--configure-cloud-routes=false', '--allocate-node-cidrs=false']) {
  test(`with ${flag} there are no routes`, async t => {
    await using at = await aRoutedPlane({}, flag);
    const {clock, make, condition} = at;
    await make('n1', '10.244.1.0/24');
    await clock.advance(30_000);

    t.is(await condition('n1'), undefined);
  });
}

test('with the feature gate a change of a node starts the reconciliation, and nothing else for half a day', async t => {
  const gate = '--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true';
  await using at = await aRoutedPlane({}, gate, '--route-reconciliation-period=1h');
  const {cloud, clock, nodes, make, condition} = at;
  await make('n1', '10.244.1.0/24');
  await clock.drain();
  t.deepEqual(await condition('n1'), ['False', 'RouteCreated']);

  cloud.set({routes: {}});
  await nodes.patch('n1', 'merge', {metadata: {labels: {a: 'b'}}});
  await clock.advance(11 * 3_600_000);
  t.deepEqual(cloud.state().routes, {});
  await clock.advance(13 * 3_600_000);
  t.is(Object.keys(cloud.state().routes).length, 1);

  cloud.configure({faults: [{call: 'routes.list', error: 'not now'}]});
  await nodes.delete('n1');
  await clock.drain();
  cloud.configure({});
  await clock.advance(60_000);
  t.deepEqual(cloud.state().routes, {});
});
