import test from 'ava';
import {withZoneHints} from '#controllers/endpointslice/zone-hints.js';
import {allocations, isOverloaded, zoneShares} from '#controllers/endpointslice/zones.js';
import type {Endpoint} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {aNode, startEnvironment, type Slice} from './backends.js';
import {endpoint, slice} from './slices.js';

for (const [what, nodes, expected] of [
  [
    'by the CPU of their nodes',
    [aNode('a', {zone: 'x', cpu: '3'}), aNode('b', {zone: 'y', cpu: '500m'}), aNode('c', {zone: 'y', cpu: '500m'})],
    {x: 0.75, y: 0.25},
  ],
  [
    'without nodes that are not ready',
    [aNode('a', {zone: 'x'}), aNode('b', {zone: 'y'}), aNode('c', {zone: 'z', ready: false})],
    {x: 0.5, y: 0.5},
  ],
  [
    'without nodes of the control plane',
    [
      aNode('a', {zone: 'x'}),
      aNode('b', {zone: 'y'}),
      aNode('c', {labels: {'node-role.plat.io/control-plane': ''}}),
      aNode('d', {labels: {'node-role.plat.io/master': ''}}),
    ],
    {x: 0.5, y: 0.5},
  ],
  ['none, if a node has no zone', [aNode('a', {zone: 'x'}), aNode('b', {zone: 'y'}), aNode('c')], undefined],
  ['none, if a node has no CPU', [aNode('a', {zone: 'x'}), aNode('b', {zone: 'y', cpu: '0'})], undefined],
  ['none, if there is one zone', [aNode('a', {zone: 'x'})], undefined],
] as const) {
  test(`zones have shares ${what}`, t => {
    const shares = zoneShares(nodes as unknown as readonly Frozen<Node>[], naming('plat'));

    t.deepEqual(shares && Object.fromEntries(shares), expected);
  });
}

const thirds = new Map([
  ['x', 1 / 3],
  ['y', 1 / 3],
  ['z', 1 / 3],
]);

const uneven = new Map([
  ['x', 0.75],
  ['y', 0.25],
]);

for (const [shares, count, expected] of [
  [undefined, 9, 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes'],
  [thirds, 2, 'Insufficient number of endpoints (2 endpoints, 3 zones)'],
  [thirds, 4, 'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)'],
  [
    thirds,
    6,
    [
      [2, 2, 2],
      [2, 2, 2],
      [2, 2, 2],
    ],
  ],
  [
    uneven,
    4,
    [
      [3, 3, 3],
      [1, 1, 1],
    ],
  ],
  [
    uneven,
    10,
    [
      [7, 7.5, 7],
      [3, 3, 3],
    ],
  ],
  [
    uneven,
    20,
    [
      [13, 15, 15],
      [5, 5, 7],
    ],
  ],
] as const) {
  test(`of ${count} endpoints the zones ${shares ? [...shares.values()].join(' ') : 'that are not known'} get ${typeof expected === 'string' ? `none: ${expected}` : JSON.stringify(expected)}`, t => {
    const found = allocations(shares, count);

    t.deepEqual(
      typeof found === 'string' ? found : [...found.values()].map(({minimum, desired, maximum}) => [minimum, desired, maximum]),
      expected as never,
    );
  });
}

for (const [hints, shares, expected] of [
  [{}, thirds, false],
  [{x: 2, y: 2, z: 2}, thirds, false],
  [{x: 3, y: 3}, thirds, true],
  [{x: 4, y: 1, z: 1}, thirds, true],
  [{x: 1}, undefined, true],
] as const) {
  test(`${JSON.stringify(hints)} is ${expected ? '' : 'not '}too much for ${shares ? 'three even zones' : 'zones that are not known'}`, t => {
    t.is(isOverloaded(new Map(Object.entries(hints)), shares), expected);
  });
}

const zoned = (zones: string, hinted = false): Endpoint[] =>
  [...zones].map((zone, i) => ({
    ...endpoint(`${zone}${i}`, zone !== '!'),
    ...(zone === '-' ? {} : {zone}),
    ...(hinted ? {hints: {forZones: [{name: zone}]}} : {}),
  }));

for (const [what, unchanged, written, expected] of [
  ['each endpoint stays in its zone where zones have their share', [], 'xxyyzz', 'xxyyzz'],
  ['a zone with more than it needs gives to one with less', [], 'xxxxyz', 'yzxxyz'],
  ['endpoints that are not ready get no hints', [], 'xxy!yzz', 'xxy yzz'],
  ['slices that fit in stay as they are', ['xxyyzz'], 'xyz', 'xyz'],
  ['slices whose hints are too many for a zone are done anew', ['xxxx'], 'yz', 'yzyzxx'],
  ['an endpoint without a zone takes the hints of all', ['xyz'], 'xyz-zz', undefined],
] as const) {
  test(`in three even zones ${what}`, t => {
    const kept = unchanged.map((zones, i) => slice(`s${i}`, ...zoned(zones, true))) as readonly Frozen<Slice>[];
    const {plan, hints, problem} = withZoneHints(
      {creates: [{existing: undefined, ports: [], endpoints: zoned(written)}], updates: [], unchanged: kept},
      thirds,
    );

    const all = [...plan.creates, ...plan.updates]
      .flatMap(({endpoints}) => endpoints)
      .map(each => each.hints?.forZones?.[0]?.name ?? ' ')
      .join('');
    t.is(all, expected ?? ' '.repeat(9));
    t.is(hints === undefined, expected === undefined);
    t.is(problem, expected === undefined ? 'One or more endpoints do not have a zone specified' : undefined);
  });
}

test('a service with topology-aware hints gets them, keeps them while zones have enough, and gets an event when it loses them', async t => {
  const at = await startEnvironment(['endpointslice-controller']);
  await using _ = at.plane;
  await at.remove(kinds.nodes, 'node-1');
  for (const zone of ['x', 'y']) await at.node(`node-${zone}`, {zone});
  for (const [i, zone] of [...'xxxy'].entries()) await at.run(`pod-${i}`, {node: `node-${zone}`, ips: [`10.0.0.${i}`]});
  await at.service('web', {annotations: {'service.plat.io/topology-mode': 'Auto'}});
  const hints = async () =>
    (await at.slices())[0]!.endpoints.map(each => each.hints?.forZones?.map(({name}) => name).join() ?? ' ').join('');
  const events = async () => (await at.eventsOn('web')).map(text => text.replaceAll('TopologyAwareHints', ''));
  t.is(await hints(), 'yxxy');
  t.deepEqual(await events(), ['Normal Enabled Topology Aware Hints has been enabled, addressType: IPv4']);

  await at.patch(kinds.services, 'web', {metadata: {labels: {a: 'a'}}});
  t.is(await hints(), 'yxxy');
  t.is((await events()).length, 1);

  await at.node('node-z', {zone: 'z', cpu: '64'});
  await at.clock.drain();
  t.is(await hints(), '    ');
  t.deepEqual((await events()).slice(1), [
    'Warning Disabled Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones), addressType: IPv4',
  ]);

  await at.remove(kinds.nodes, 'node-z');
  await at.patch(kinds.services, 'web', {metadata: {labels: {a: 'b'}}});
  t.not(await hints(), '    ');
  await at.patch(kinds.services, 'web', {metadata: {annotations: {'service.plat.io/topology-mode': 'Disabled'}}});
  t.is(await hints(), '    ');
  t.deepEqual((await events()).at(-1), 'Warning Disabled Topology Aware Hints has been disabled, addressType: IPv4');
});
