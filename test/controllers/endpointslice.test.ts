import test from 'ava';
import {sliceMetrics} from '#controllers/endpointslice/metrics.js';
import {packSlices} from '#controllers/endpointslice/packing.js';
import {planSlices} from '#controllers/endpointslice/plan.js';
import {sliceReconciler} from '#controllers/endpointslice/reconcile.js';
import {withZoneHints} from '#controllers/endpointslice/zone-hints.js';
import {allocations, isOverloaded, zoneShares} from '#controllers/endpointslice/zones.js';
import {endpointText, sliceNames, type Endpoint} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {KubeObject, Node} from '#src/api/types.js';
import {noMeter, type Labels} from '#src/base/meter.js';
import type {Reconcile} from '#src/runtime/controller.js';
import {aNode, podStatus, startEnvironment, type Behind, type Slice} from './backends.js';
import {attempt, contextOver} from './context.js';
import {namespace} from './workloads.js';

const start = (args: readonly string[] = []) => startEnvironment(['endpointslice-controller'], args);
const key = {namespace, name: 'web'};

/** A slice in short: `IPv4 10.0.0.1 !10.0.0.2 ~10.0.0.3: http=80`, where `!` marks endpoints that are not ready, `~` those that serve while terminating. */
const short = ({addressType, endpoints, ports}: Readonly<Slice>): string =>
  `${addressType} ${(endpoints ?? []).map(({addresses, conditions}) => `${conditions?.terminating && conditions.serving ? '~' : conditions?.ready ? '' : '!'}${addresses.join('+')}`).join(' ')}: ${(ports ?? []).map(({name, port}) => `${name ? `${name}=` : ''}${port}`).join(' ')}`;
const shown = (slices: readonly Slice[]): string[] => slices.map(short).sort();

const endpoint = (name: string, ready = true): Endpoint => ({
  addresses: [`10.0.0.${name}`],
  conditions: {ready, serving: ready, terminating: false},
  targetRef: {kind: 'Pod', namespace, name},
});
const slice = (name: string, ...of: readonly Endpoint[]): Slice => ({metadata: {name}, addressType: 'IPv4', endpoints: [...of], ports: []});
const range = (from: number, to: number): Endpoint[] => Array.from({length: to - from}, (_, i) => endpoint(String(from + i)));

// Three endpoints a slice.
for (const [what, slices, wanted, expected] of [
  ['no endpoints', [], [], {}],
  ['more than one slice holds', [], range(0, 7), {creates: [3, 3, 1]}],
  ['what is there already', [slice('a', ...range(0, 3)), slice('b', ...range(3, 4))], range(0, 4), {unchanged: ['a', 'b']}],
  [
    'one more in the slice that has room for it',
    [slice('a', ...range(0, 3)), slice('b', ...range(3, 4))],
    range(0, 5),
    {updates: {b: 2}, unchanged: ['a']},
  ],
  [
    'one more in the fullest slice that has room',
    [slice('a', ...range(0, 1)), slice('b', ...range(1, 3))],
    range(0, 4),
    {updates: {b: 3}, unchanged: ['a']},
  ],
  [
    'two more in a new slice, where none has room for both',
    [slice('a', ...range(0, 2)), slice('b', ...range(2, 4))],
    range(0, 6),
    {creates: [2], unchanged: ['a', 'b']},
  ],
  [
    'new ones first of all in slices that are written anyway, the fullest first',
    [slice('a', ...range(0, 3)), slice('b', ...range(3, 6)), slice('c', endpoint('9'))],
    [...range(2, 3), ...range(3, 5), ...range(6, 9), endpoint('9')],
    {updates: {a: 3, b: 3}, unchanged: ['c']},
  ],
  [
    'those that are left where they are, however few',
    [slice('a', ...range(0, 3)), slice('b', ...range(3, 6))],
    [endpoint('0'), endpoint('3')],
    {updates: {a: 1, b: 1}},
  ],
  ['no endpoints any more', [slice('a', ...range(0, 2)), slice('b', ...range(2, 3))], [], {deletes: ['a', 'b']}],
  [
    'one whose state is another',
    [slice('a', ...range(0, 2)), slice('b', ...range(2, 3))],
    [endpoint('0', false), endpoint('1'), endpoint('2')],
    {updates: {a: 2}, unchanged: ['b']},
  ],
  [
    'once who is there twice',
    [slice('a', endpoint('0')), slice('b', endpoint('0'), endpoint('1'))],
    range(0, 2),
    {updates: {b: 1}, unchanged: ['a']},
  ],
  [
    'the labels of the service',
    [slice('unlabelled', endpoint('0')), slice('b', endpoint('1'))],
    range(0, 2),
    {updates: {unlabelled: 1}, unchanged: ['b']},
  ],
  ['as many as fill one slice in a new one', [slice('a')], range(0, 3), {creates: [3], unchanged: ['a']}],
  ['the first one in the empty slice', [slice('a')], range(0, 1), {updates: {a: 1}}],
] as const satisfies readonly (readonly [
  string,
  readonly Slice[],
  readonly Endpoint[],
  {creates?: readonly number[]; updates?: Record<string, number>; deletes?: readonly string[]; unchanged?: readonly string[]},
])[]) {
  test(`packs ${what}`, t => {
    const group = {ports: [], wanted: new Map(wanted.map(each => [endpointText(each), each]))};
    const packing = packSlices(slices as readonly Frozen<Slice>[], group, {
      maxEndpoints: 3,
      isLabelled: ({metadata}) => metadata?.name !== 'unlabelled',
    });

    const names = (of: readonly Frozen<Slice>[]) => of.map(({metadata}) => metadata!.name!);
    t.deepEqual(
      {
        creates: packing.creates.map(({endpoints}) => endpoints.length),
        updates: Object.fromEntries(packing.updates.map(({existing, endpoints}) => [existing!.metadata!.name!, endpoints.length])),
        deletes: names(packing.deletes),
        unchanged: names(packing.unchanged),
      },
      {creates: [], updates: {}, deletes: [], unchanged: [], ...expected} as never,
    );
  });
}

test('packs ten thousand endpoints into their slices by a look at each', t => {
  const all = Array.from({length: 10_000}, (_, i): Endpoint => ({
    addresses: [`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`],
    conditions: {},
    targetRef: {kind: 'Pod', namespace, name: `p${i}`},
  }));
  const slices = Array.from({length: 100}, (_, i) => slice(`s${i}`, ...all.slice(i * 100, i * 100 + 100)));
  let looks = 0;
  const counted = all.map(
    each => new Proxy(each, {get: (target, field) => (field === 'addresses' && looks++, Reflect.get(target, field))}),
  );
  const packing = packSlices(
    slices as readonly Frozen<Slice>[],
    {ports: [], wanted: new Map(counted.map(each => [endpointText(each), each]))},
    {maxEndpoints: 100, isLabelled: () => true},
  );

  t.is(packing.unchanged.length, 100);
  t.true(looks <= 20_000);
});

test('a service without pods has one empty slice, which is filled when pods appear', async t => {
  const at = await start();
  await using _ = at.plane;
  const service = await at.service('web', {labels: {team: 'x', 'plat.io/service-name': 'other'}, clusterIP: 'None'});
  const [placeholder] = await at.slices();
  t.is(placeholder!.endpoints, null as never);
  t.is(placeholder!.ports, null as never);
  t.regex(placeholder!.metadata!.name!, /^web-[a-z0-9]{5}$/);
  t.deepEqual(placeholder!.metadata!.labels, {
    team: 'x',
    'plat.io/service-name': 'web',
    'endpointslice.plat.io/managed-by': 'endpointslice-controller.plat.io',
    'service.plat.io/headless': '',
  });
  t.deepEqual(placeholder!.metadata!.ownerReferences, [
    {apiVersion: 'v1', kind: 'Service', name: 'web', uid: service.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.deepEqual(placeholder!.metadata!.annotations, {'endpoints.plat.io/last-change-trigger-time': '2026-01-01T00:00:00Z'});

  const pod = await at.run('a', {spec: {hostname: 'first', subdomain: 'web'}});
  const [published, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.is(published!.metadata!.name, placeholder!.metadata!.name);
  t.deepEqual(published!.ports, [{name: '', port: 8080, protocol: 'TCP'}]);
  t.deepEqual(published!.endpoints, [
    {
      addresses: ['10.0.0.1'],
      conditions: {ready: true, serving: true, terminating: false},
      hostname: 'first',
      nodeName: 'node-1',
      targetRef: {kind: 'Pod', namespace, name: 'a', uid: pod.metadata!.uid!},
    },
  ]);

  await at.remove(kinds.pods, 'a', {gracePeriodSeconds: 0});
  const [again] = await at.slices();
  t.is(again!.metadata!.name, placeholder!.metadata!.name);
  t.is(again!.endpoints, null as never);
});

const named = (port: number) => ({containers: [{name: 'c', image: 'example.com/app:1', ports: [{name: 'http', containerPort: port}]}]});
const ports = [{name: 'web', port: 80, targetPort: 'http'}];

const published = [
  ['who is not ready', {}, [{ready: false}], ['IPv4 !10.0.0.1: 8080']],
  [
    'all as ready, if the service wants it so, those too whose node is not known',
    {publishNotReadyAddresses: true},
    [{ready: false, node: 'unknown'}],
    ['IPv4 10.0.0.1: 8080'],
  ],
  ['no pods without an address, and none that have ended', {}, [{ips: []}, {phase: 'Failed'}, {phase: 'Succeeded'}], ['IPv4 : ']],
  [
    'pods with other ports in slices of their own',
    {ports},
    [{spec: named(80)}, {spec: named(81), ips: ['10.0.0.2']}],
    ['IPv4 10.0.0.1: web=80', 'IPv4 10.0.0.2: web=81'],
  ],
  ['pods that do not know the port without one', {ports}, [{}], ['IPv4 10.0.0.1: ']],
  ['pods of a headless service without ports', {clusterIP: 'None', ports: []}, [{}], ['IPv4 10.0.0.1: ']],
  ['nothing of a service that stands for a name', {type: 'ExternalName', externalName: 'example.com'}, [{}], []],
  ['nothing of a service without a selector', {selector: {}}, [{}], []],
] as const satisfies readonly (readonly [string, object, readonly Behind[], readonly string[]])[];

test('slices have the ports and families of their service', async t => {
  const at = await start();
  await using _ = at.plane;
  for (const [i, [, service, pods]] of published.entries()) {
    const labels = {app: `case-${i}`};
    for (const [j, pod] of pods.entries()) await at.run(`pod-${i}-${j}`, {labels, ...(pod as Behind)});
    await at.service(`case-${i}`, {selector: labels, ...service} as object);
  }

  for (const [i, [what, , , expected]] of published.entries()) t.deepEqual(shown(await at.slices(`case-${i}`)), [...expected], what);
});

test('a service of two families has slices of each, and of one family only its own', async t => {
  const at = await startEnvironment(['endpointslice-controller'], [], ['--service-cluster-ip-range=10.96.0.0/16,fd00:1::/108']);
  await using _ = at.plane;
  await at.service('web', {ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6']});
  await at.service('four');
  await at.run('a', {ips: ['10.0.0.1', 'fd00::1']});
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080', 'IPv6 fd00::1: 8080']);
  t.deepEqual(shown(await at.slices('four')), ['IPv4 10.0.0.1: 8080']);

  await at.patch(kinds.services, 'web', {
    spec: {ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'], clusterIPs: [(await at.get(kinds.services, 'web')).spec!.clusterIP!]},
  });
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);
});

test('a pod that goes serves on until it is not ready any more', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  await at.remove(kinds.pods, 'a', {gracePeriodSeconds: 30});
  t.deepEqual((await at.slices())[0]!.endpoints[0]!.conditions, {ready: false, serving: true, terminating: true});
  await at.setStatus('a', {ready: false});
  t.deepEqual((await at.slices())[0]!.endpoints[0]!.conditions, {ready: false, serving: false, terminating: true});
});

test('a pod on an unknown node is left out until the node is known, and then published with its zone', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  await at.run('b', {ips: ['10.0.0.2'], node: 'node-2'});
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);
  t.deepEqual(await at.eventsOn('web'), [
    'Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: skipping Pod b for Service default/web: Node node-2 Not Found',
  ]);

  await at.node('node-2', {zone: 'x'});
  await at.later(5000);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1 10.0.0.2: 8080']);
  t.deepEqual(
    (await at.slices())[0]!.endpoints.map(({zone}) => zone),
    [undefined, 'x'],
  );
});

test('slices hold no more than they may, stay as they are when pods go, and take up those that come', async t => {
  const at = await start(['--max-endpoints-per-slice=2', '--endpointslice-updates-batch-period=1s']);
  await using _ = at.plane;
  await at.service('web');
  for (let i = 1; i <= 5; i++) await at.run(`p${i}`, {ips: [`10.0.0.${i}`]});
  await at.later(2000);
  const sizes = async () => (await at.slices()).map(({endpoints}) => (endpoints ?? []).length).sort();
  t.deepEqual(await sizes(), [1, 2, 2]);

  await at.remove(kinds.pods, 'p1', {gracePeriodSeconds: 0});
  t.deepEqual(await sizes(), [1, 2, 2]);
  await at.later(2000);
  t.deepEqual(await sizes(), [1, 1, 2]);
  await at.run('p6', {ips: ['10.0.0.6']});
  await at.later(2000);
  t.deepEqual(await sizes(), [1, 2, 2]);
});

test('labels and ports of the service come to its slices, without new ones', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  const [{metadata: before} = {}] = await at.slices();
  await at.patch(kinds.services, 'web', {metadata: {labels: {team: 'x'}}});
  t.is((await at.slices())[0]!.metadata!.labels!.team, 'x');
  await at.patch(kinds.services, 'web', {spec: {ports: [{port: 80, targetPort: 9090, protocol: 'TCP'}]}});
  const [{metadata: after} = {}, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.is(after!.name, before!.name);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 9090']);
  const {resourceVersion} = after!;
  await at.patch(kinds.services, 'web', {metadata: {annotations: {a: 'b'}}});
  t.is((await at.slices())[0]!.metadata!.resourceVersion, resourceVersion);
});

test('changes to a slice by others are reverted after a second; slices of others are left alone', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  const nameOf = async () =>
    (await at.slices()).find(({metadata}) => metadata?.labels?.['endpointslice.plat.io/managed-by'] === 'endpointslice-controller.plat.io')!
      .metadata!.name!;
  await at.later(2000);

  await at.patch(kinds.endpointSlices, await nameOf(), {endpoints: []});
  t.deepEqual(shown(await at.slices()), ['IPv4 : 8080']);
  await at.later(1000);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);

  await at.remove(kinds.endpointSlices, await nameOf());
  await at.later(1000);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080']);

  const kept = await nameOf();
  await at.patch(kinds.endpointSlices, kept, {metadata: {labels: {'endpointslice.plat.io/managed-by': 'me'}}, endpoints: []});
  await at.later(2000);
  t.not(await nameOf(), kept);
  t.deepEqual(shown(await at.slices()), ['IPv4 10.0.0.1: 8080', 'IPv4 : 8080'].sort());

  const mine = await nameOf();
  await at.patch(kinds.endpointSlices, mine, {metadata: {labels: {'plat.io/service-name': 'elsewhere'}}});
  await at.later(2000);
  t.not(await nameOf(), mine);
});

test('the slices of an earlier service of that name are not taken over', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web');
  await at.run('a');
  const [old] = await at.slices();
  await at.remove(kinds.services, 'web');
  const service = await at.service('web');

  const [now, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.not(now!.metadata!.uid, old!.metadata!.uid);
  t.is(now!.metadata!.ownerReferences![0]!.uid, service.metadata!.uid!);
});

test('a service with a traffic distribution gets hints for its ready pods, until the field is removed', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.node('node-2', {zone: 'x'});
  await at.service('web');
  await at.run('a', {node: 'node-2'});
  await at.run('b', {node: 'node-2', ips: ['10.0.0.2'], ready: false});
  const zone = {forZones: [{name: 'x'}]};

  for (const [trafficDistribution, hints] of [
    ['PreferClose', zone],
    ['PreferSameNode', {...zone, forNodes: [{name: 'node-2'}]}],
    ['PreferSameZone', zone],
    [null, undefined],
  ] as const) {
    await at.patch(kinds.services, 'web', {spec: {trafficDistribution}});
    t.deepEqual(
      (await at.slices())[0]!.endpoints.map(each => each.hints),
      [hints, undefined] as never,
      String(trafficDistribution),
    );
  }
});

test('a cache that has not seen the last writes is waited for, and one pod more changes one slice among many', async t => {
  const at = await startEnvironment(['namespace-controller']);
  await using _ = at.plane;
  const service = await at.service('web');
  const pods = Array.from({length: 1000}, (___, i) => ({
    kind: 'Pod',
    metadata: {name: `pod-${i}`, namespace, uid: `${i}`, labels: {app: 'a'}},
    spec: {nodeName: 'node-1', containers: []},
    status: podStatus({ips: [`10.1.${i >> 8}.${i & 255}`]}, at.clock.now()),
  }));
  const keeper = (cached: readonly KubeObject[]) => {
    const context = contextOver(
      at.plane,
      [aNode('node-1'), service, ...cached].map((each, i) => (i === 0 ? {kind: 'Node', ...each} : each)) as readonly Frozen<KubeObject>[],
      {
        concurrentServiceEndpointSyncs: 1,
        endpointsliceUpdatesBatchPeriod: 0,
        maxEndpointsPerSlice: 100,
      },
    );
    return (sliceReconciler(context) as {services: Reconcile}).services;
  };
  const first = keeper(pods.slice(1));
  await first(key, attempt);
  const made = await at.slices();
  t.is(made.length, 10);
  await t.throwsAsync(async () => first(key, attempt), {message: 'EndpointSlice informer cache is out of date'});

  await keeper([...pods, ...made.map(each => ({kind: 'EndpointSlice', ...each}))])(key, attempt);
  const after = await at.slices();
  const version = ({metadata}: Slice) => metadata!.resourceVersion;
  t.is(after.filter(each => !made.some(old => version(old) === version(each))).length, 1);
  t.is(
    after.reduce((sum, {endpoints}) => sum + endpoints.length, 0),
    1000,
  );
});

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

test('the metrics sum over services, families and sets of ports, and drop forgotten services', t => {
  const values: Record<string, number> = {};
  const gauge = ({name}: {readonly name: string}) => ({
    set() {},
    remove() {},
    add: (labels: Labels = {}, amount = 1) => {
      const series = [name.replace('endpoint_slice_controller_', ''), ...Object.values(labels)].join(' ');
      values[series] = (values[series] ?? 0) + amount;
    },
  });
  const metrics = sliceMetrics({...noMeter, gauge}, 10);
  metrics.packed('a', 'IPv4', [
    {endpoints: 25, slices: 4},
    {endpoints: 1, slices: 1},
  ]);
  metrics.packed('a', 'IPv6', [{endpoints: 0, slices: 1}]);
  metrics.packed('b', 'IPv4', [{endpoints: 5, slices: 1}]);
  metrics.packed('b', 'IPv4', [{endpoints: 6, slices: 1}]);
  metrics.distribute('a', 'PreferClose');
  metrics.distribute('a', 'PreferSameNode');
  const distributions = {'services_count_by_traffic_distribution PreferClose': 0};
  t.deepEqual(values, {
    endpoints_desired: 32,
    num_endpoint_slices: 7,
    desired_endpoint_slices: 6,
    ...distributions,
    'services_count_by_traffic_distribution PreferSameNode': 1,
  });

  metrics.forget('a');
  t.deepEqual(values, {
    endpoints_desired: 6,
    num_endpoint_slices: 1,
    desired_endpoint_slices: 1,
    ...distributions,
    'services_count_by_traffic_distribution PreferSameNode': 0,
  });
});

test('slices of other ports are deleted, and a service without endpoints gets a placeholder once', t => {
  const names = sliceNames(naming('plat'));
  const service = {metadata: {name: 'web', namespace, uid: 'u'}, spec: {clusterIP: '10.96.0.1'}};
  const rules = {names, maxEndpoints: 100};
  const empty = planSlices(service, [], new Map(), rules);
  t.deepEqual(
    [empty.creates, empty.deletes, empty.parts],
    [[{existing: undefined, ports: [], endpoints: []}], [], [{endpoints: 0, slices: 1}]],
  );

  const owned = {ownerReferences: [{apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'u'}]};
  const labels = {[names.service]: 'web', [names.managedBy]: names.controllerName};
  const placeholder = {metadata: {name: 'p', labels, ...owned}, addressType: 'IPv4', endpoints: []} as unknown as Frozen<Slice>;
  const again = planSlices(service, [placeholder], new Map(), rules);
  t.deepEqual([again.creates, again.deletes], [[], []]);

  const other = {...placeholder, metadata: {...placeholder.metadata, name: 'o'}, ports: [{port: 81}]} as Frozen<Slice>;
  const endpoint: Endpoint = {addresses: ['10.0.0.1'], conditions: {ready: true}};
  const plan = planSlices(
    service,
    [other],
    new Map([[':80', {ports: [{port: 80}], wanted: new Map([[endpointText(endpoint), endpoint]])}]]),
    rules,
  );
  t.deepEqual([plan.creates.map(({endpoints}) => endpoints), plan.deletes, plan.counts], [[[endpoint]], [other], {added: 1, removed: 0}]);
});
