import test from 'ava';
import {changesFor} from '#controllers/endpointslice-mirroring/changes.js';
import {desiredOf} from '#controllers/endpointslice-mirroring/desired.js';
import {sliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';
import {runSteps} from '#src/base/steps.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import {startEnvironment, type Endpoints, type Slice} from './backends.js';

const start = (args: readonly string[] = []) => startEnvironment(['endpointslice-mirroring-controller'], args);

const short = ({addressType, endpoints, ports}: Readonly<Slice>): string =>
  `${addressType} ${(endpoints ?? []).map(({addresses, conditions}) => `${conditions?.ready ? '' : '!'}${addresses.join('+')}`).join(' ')}: ${(ports ?? []).map(({name, port}) => `${name ? `${name}=` : ''}${port}`).join(' ')}`;
const shown = (slices: readonly Slice[]): string[] => slices.map(short).sort();
const ips = (...of: readonly string[]) => of.map(ip => ({ip}));
const endpoints = (subsets: NonNullable<Endpoints['subsets']>, metadata: Endpoints['metadata'] = {}): Endpoints => ({
  metadata: {name: 'web', ...metadata},
  subsets,
});
const byHand = {selector: {}, ports: [{port: 80}]};
const four = [{addresses: ips('1.2.3.4'), ports: [{port: 80}]}];

test('an Endpoints object is mirrored to a slice with its labels and annotations, which is deleted with it', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web', byHand);
  t.deepEqual(await at.slices(), []);
  const targetRef = {kind: 'Pod', namespace: 'default', name: 'a', uid: 'u'};
  const object = await at.create(
    kinds.endpoints,
    endpoints(
      [
        {
          addresses: [{ip: '1.2.3.4', hostname: 'first', nodeName: 'node-1', targetRef}],
          notReadyAddresses: ips('1.2.3.5'),
          ports: [{name: 'http', port: 80, appProtocol: 'http'}],
        },
      ],
      {
        labels: {team: 'x'},
        annotations: {
          note: 'y',
          'endpoints.plat.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
    ),
  );

  const [{metadata, addressType, endpoints: reported, ports} = {} as Slice, ...rest] = await at.slices();
  t.deepEqual(rest, []);
  t.regex(metadata!.name!, /^web-[a-z0-9]{5}$/);
  t.deepEqual(metadata!.labels, {
    team: 'x',
    'plat.io/service-name': 'web',
    'endpointslice.plat.io/managed-by': 'endpointslicemirroring-controller.plat.io',
  });
  t.deepEqual(metadata!.annotations, {note: 'y'});
  t.deepEqual(metadata!.ownerReferences, [
    {apiVersion: 'v1', kind: 'Endpoints', name: 'web', uid: object.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.is(addressType, 'IPv4');
  t.deepEqual(ports, [{name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http'}]);
  t.deepEqual(reported, [
    {addresses: ['1.2.3.4'], conditions: {ready: true}, hostname: 'first', nodeName: 'node-1', targetRef},
    {addresses: ['1.2.3.5'], conditions: {ready: false}},
  ]);

  await at.remove(kinds.endpoints, 'web');
  t.deepEqual(await at.slices(), []);
});

for (const [what, subsets, expected, invalid, skipped] of [
  ['families apart', [{addresses: ips('1.1.1.1', 'fd00::1'), ports: [{port: 80}]}], ['IPv4 1.1.1.1: 80', 'IPv6 fd00::1: 80'], 0, 0],
  [
    'subsets with the same ports as one',
    [
      {addresses: ips('1.1.1.1'), ports: [{port: 80}]},
      {addresses: ips('1.1.1.2'), ports: [{port: 80}]},
    ],
    ['IPv4 1.1.1.1 1.1.1.2: 80'],
    0,
    0,
  ],
  [
    'subsets with other ports apart',
    [
      {addresses: ips('1.1.1.1'), ports: [{port: 80}]},
      {addresses: ips('1.1.1.1'), ports: [{port: 81}]},
    ],
    ['IPv4 1.1.1.1: 80', 'IPv4 1.1.1.1: 81'],
    0,
    0,
  ],
  [
    'addresses in their one form',
    [{addresses: ips('01.1.1.001', 'FD00:0::1'), ports: [{port: 80}]}],
    ['IPv4 1.1.1.1: 80', 'IPv6 fd00::1: 80'],
    0,
    0,
  ],
  ['nothing of addresses that are none', [{addresses: ips('1.1.1.1', 'nowhere'), ports: [{port: 80}]}], ['IPv4 1.1.1.1: 80'], 1, 1],
  [
    'the ready ones before others, as many as there may be',
    [{addresses: ips('1.1.1.1', '1.1.1.2'), notReadyAddresses: ips('1.1.1.3', '1.1.1.4'), ports: [{port: 80}]}],
    ['IPv4 1.1.1.1 1.1.1.2 !1.1.1.3: 80'],
    0,
    1,
  ],
] as const) {
  test(`mirrors ${what}`, t => {
    const desired = runSteps(desiredOf(endpoints(subsets as never) as Frozen<Endpoints>, 3));

    t.deepEqual(
      shown(
        [...desired.groups.values()].map(({family, ports, wanted}) => ({
          addressType: family,
          ports: [...ports],
          endpoints: [...wanted.values()],
        })),
      ),
      [...expected],
    );
    t.deepEqual([desired.invalid, desired.skipped], [invalid, skipped]);
  });
}

test('a slice follows its object, and is not written where nothing changes for it', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.service('web', byHand);
  await at.create(kinds.endpoints, endpoints(four));
  const [before] = await at.slices();

  await at.patch(kinds.endpoints, 'web', {metadata: {annotations: {'endpoints.plat.io/last-change-trigger-time': '2026-01-01T00:00:00Z'}}});
  t.is((await at.slices())[0]!.metadata!.resourceVersion, before!.metadata!.resourceVersion);
  for (const [body, expected] of [
    [{metadata: {labels: {team: 'x'}}}, 'IPv4 1.2.3.4: 80'],
    [{metadata: {annotations: {note: 'y'}}}, 'IPv4 1.2.3.4: 80'],
    [{subsets: [{notReadyAddresses: ips('1.2.3.4'), ports: [{port: 80}]}]}, 'IPv4 !1.2.3.4: 80'],
    [{subsets: [{addresses: ips('1.2.3.4'), ports: [{port: 81}]}]}, 'IPv4 1.2.3.4: 81'],
  ] as const) {
    const [{metadata: old} = {}] = await at.slices();
    await at.patch(kinds.endpoints, 'web', body);
    const [now, ...rest] = await at.slices();
    t.deepEqual(rest, []);
    t.is(now!.metadata!.name, before!.metadata!.name);
    t.not(now!.metadata!.resourceVersion, old!.resourceVersion);
    t.is(short(now!), expected);
  }
  const [{metadata: last} = {}] = await at.slices();
  t.is(last!.labels!.team, 'x');
  t.is(last!.annotations!.note, 'y');
});

for (const [what, off, on] of [
  [
    'its label excludes it',
    [kinds.endpoints, {metadata: {labels: {'endpointslice.plat.io/skip-mirror': 'true'}}}],
    {metadata: {labels: {'endpointslice.plat.io/skip-mirror': null}}},
  ],
  [
    'it is the record of a leader',
    [kinds.endpoints, {metadata: {annotations: {'control-plane.alpha.plat.io/leader': '{}'}}}],
    {metadata: {annotations: {'control-plane.alpha.plat.io/leader': null}}},
  ],
  ['its service has a selector', [kinds.services, {spec: {selector: {app: 'a'}}}], {spec: {selector: null}}],
] as const) {
  test(`an object is not mirrored while ${what}`, async t => {
    const at = await start();
    await using _ = at.plane;
    await at.service('web', byHand);
    await at.create(kinds.endpoints, endpoints(four));
    t.is((await at.slices()).length, 1);

    await at.patch(off[0] as typeof kinds.services, 'web', off[1]);
    t.deepEqual(await at.slices(), []);
    await at.patch(off[0] as typeof kinds.services, 'web', on);
    t.deepEqual(shown(await at.slices()), ['IPv4 1.2.3.4: 80']);
  });
}

test('an object is mirrored once it has a service, and not when that is gone', async t => {
  const at = await start();
  await using _ = at.plane;
  await at.create(kinds.endpoints, endpoints(four));
  t.deepEqual(await at.slices(), []);
  await at.service('web', byHand);
  t.is((await at.slices()).length, 1);
  await at.remove(kinds.services, 'web');
  t.deepEqual(await at.slices(), []);
});

test('addresses beyond the mirrored maximum are reported in an event', async t => {
  const at = await start(['--mirroring-max-endpoints-per-subset=2']);
  await using _ = at.plane;
  await at.service('web', byHand);
  await at.create(kinds.endpoints, endpoints([{addresses: ips('1.1.1.1', '1.1.1.2', '1.1.1.3'), ports: [{port: 80}]}]));

  t.deepEqual(shown(await at.slices()), ['IPv4 1.1.1.1 1.1.1.2: 80']);
  t.deepEqual(await at.eventsOn('web'), [
    'Warning TooManyAddressesToMirror A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped',
  ]);
});

test('changes to a mirrored slice by others are reverted, after the batch period if there is one', async t => {
  const at = await start(['--mirroring-endpointslice-updates-batch-period=5s']);
  await using _ = at.plane;
  await at.service('web', byHand);
  await at.create(kinds.endpoints, endpoints(four));
  await at.patch(kinds.endpointSlices, (await at.slices())[0]!.metadata!.name!, {endpoints: []});
  t.deepEqual(shown(await at.slices()), ['IPv4 : 80']);
  await at.later(5000);
  t.deepEqual(shown(await at.slices()), ['IPv4 1.2.3.4: 80']);

  await at.remove(kinds.endpointSlices, (await at.slices())[0]!.metadata!.name!);
  await at.later(5000);
  t.deepEqual(shown(await at.slices()), ['IPv4 1.2.3.4: 80']);
});

test('of equal slices the first is kept, and a new group reuses one of its family that would be deleted', t => {
  const naming = namingOf('plat');
  const rules = {naming, names: sliceNames(naming), maxEndpoints: 10};
  const object = endpoints(four, {namespace: 'default', uid: 'u'});
  const groupsOf = (of: Endpoints) => runSteps(desiredOf(of as Frozen<Endpoints>, 10)).groups;
  const [made] = runSteps(changesFor(object as Frozen<Endpoints>, [], groupsOf(object), rules)).writes;
  const stored = (name: string) => ({...made!, metadata: {...made!.metadata, name}}) as Frozen<Slice>;

  const same = runSteps(changesFor(object as Frozen<Endpoints>, [stored('a'), stored('b')], groupsOf(object), rules));
  t.deepEqual(
    [same.writes.length, same.deletes.map(({metadata}) => metadata?.name), same.counts],
    [0, ['b'], {added: 0, updated: 0, removed: 0}],
  );

  const moved = endpoints([{addresses: ips('1.2.3.4'), ports: [{port: 81}]}], {namespace: 'default', uid: 'u'});
  const other = runSteps(changesFor(moved as Frozen<Endpoints>, [stored('a'), stored('b')], groupsOf(moved), rules));
  t.deepEqual(
    [other.writes.map(({metadata, ports}) => [metadata?.name, ports?.[0]?.port]), other.deletes.map(({metadata}) => metadata?.name)],
    [[['a', 81]], ['b']],
  );
  t.deepEqual(other.counts, {added: 1, updated: 0, removed: 0});
});
