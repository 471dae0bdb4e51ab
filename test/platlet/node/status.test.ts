import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {NodeStatus} from '#src/platlet/node/conditions.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Image} from '#src/platlet/runtime/images.js';
import {driverOf} from '#src/platlet/cgroups/driver.js';
import {nodeAddresses, providedAddressesOf, type AddressParts} from '#src/platlet/node/addresses.js';
import {NodeImages} from '#src/platlet/node/node-images.js';
import {NodeAddresses} from '#src/platlet/node/node-addresses.js';
import {newNode, ownMetadataPatch, ownResourcesPatch, uninitializedTaint, type NodeIdentity} from '#src/platlet/node/node-object.js';
import {nodeStatusOf, type NodeFacts} from '#src/platlet/node/node-status.js';
import {ReadinessLog} from '#src/platlet/node/readiness-log.js';
import {nodeStatusPatch} from '#src/platlet/node/status-patch.js';
import {recordingLog} from '#test/runtime/environment.js';

const facts: NodeFacts = {
  machine: {
    machineId: 'm',
    systemId: 's',
    bootId: 'b',
    kernelVersion: '6.1',
    osImage: 'os',
    operatingSystem: 'linux',
    architecture: 'amd64',
    cores: 2,
    memoryBytes: 2 ** 30,
    swapBytes: 0,
    hugepages: {},
    storageBytes: 2 ** 30,
    isInUserNamespace: false,
  },
  settings: {maxPods: 110, podsPerCore: 0, localStorage: true, reservation: {agent: new Map(), system: new Map(), threshold: new Map()}},
  version: 'v1.35.0',
  port: 10_250,
  addresses: undefined,
  runtime: undefined,
  runtimeStatus: undefined,
  images: undefined,
  maxImages: 50,
  failures: {pressures: []},
  volumesInUse: undefined,
};
const statusOf = (change: Partial<NodeFacts>, volumesInUse?: string[]) =>
  nodeStatusOf(naming('plat'), {...facts, ...change}, volumesInUse && {volumesInUse}, 0);

test('the volumes in use stay until those of this agent are known, and are shown in order', t => {
  t.is(statusOf({}).volumesInUse, undefined);
  t.deepEqual(statusOf({}, ['csi^old']).volumesInUse, ['csi^old']);
  t.deepEqual(statusOf({volumesInUse: ['b', 'a']}, ['csi^old']).volumesInUse, ['a', 'b']);
  const next = statusOf({volumesInUse: []}, ['csi^old']);
  t.is(next.volumesInUse, undefined);
  t.is(nodeStatusPatch({volumesInUse: ['csi^old']}, next)['volumesInUse'], null);
});

test('devices of plugins are counted, and those of a plugin that is gone for good are none', t => {
  const [gpu, nic] = ['vendor.example/gpu', 'vendor.example/nic'];
  const devices = {capacity: new Map([[gpu, 3]]), allocatable: new Map([[gpu, 2]]), removed: [nic]};
  const {capacity, allocatable} = nodeStatusOf(naming('plat'), {...facts, devices}, {capacity: {[nic]: '2', 'other.example/x': '1'}}, 0);

  t.like(capacity, {[gpu]: '3', [nic]: '0', 'other.example/x': '1'});
  t.like(allocatable, {[gpu]: '2', [nic]: '0', 'other.example/x': '1'});
});

test('addresses that cannot be found leave those of the Node as they are', t => {
  const addresses = [{type: 'InternalIP' as const, address: '10.0.0.1'}];
  t.deepEqual(statusOf({addresses}).addresses, addresses);
  t.deepEqual(nodeStatusOf(naming('plat'), facts, {addresses}, 0).addresses, addresses);
});

const machine = (fields: Partial<AddressParts>): AddressParts => ({
  nodeName: 'node',
  hostname: 'node',
  nodeIps: [],
  hasExternalCloud: false,
  interfaces: () => ['10.0.0.1', 'fd00::1'],
  defaultAddress: async () => '10.0.0.1',
  resolve: async () => [],
  ...fields,
});

const hostname = {type: 'Hostname', address: 'node'} as const;
const internal = (address: string) => ({type: 'InternalIP', address}) as const;

for (const [what, fields, addresses] of [
  ['without addresses has its host name alone', {}, [hostname]],
  ['with an address has it until the provider sets others', {nodeIps: ['10.0.0.1']}, [internal('10.0.0.1'), hostname]],
  ['with 0.0.0.0 has that of the default route', {nodeIps: ['0.0.0.0']}, [internal('10.0.0.1'), hostname]],
] as const)
  test(`a node of an external cloud provider ${what}`, async t =>
    t.deepEqual(await nodeAddresses(machine({hasExternalCloud: true, ...fields})), addresses));

test('the addresses that an external cloud provider has set are kept', async t => {
  const registered = (addresses: NonNullable<Node['status']>['addresses']) => (): Node => ({status: {addresses: addresses!}});
  const found = (node: () => Node | undefined, keepsShown: boolean) =>
    new NodeAddresses({find: async () => [hostname], registered: node, keepsShown, log: noLog}).current();
  const set = registered([{type: 'ExternalIP', address: '192.0.2.1'}]);
  t.is(await found(set, true), undefined);
  t.deepEqual(await found(registered([]), true), [hostname]);
  t.deepEqual(await found(() => undefined, true), [hostname]);
  t.deepEqual(await found(set, false), [hostname]);
});

test('a node shows an external cloud provider the addresses that it was given, and until it is initialized a taint', t => {
  const names = naming('kubernetes');
  t.deepEqual(uninitializedTaint(names), {key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule'});
  t.is(providedAddressesOf(['10.0.0.1', 'fd00::1']), '10.0.0.1,fd00::1');
  t.is(providedAddressesOf(['0.0.0.0']), undefined);
  const identity: NodeIdentity = {
    name: 'node',
    hostname: 'node',
    architecture: 'amd64',
    operatingSystem: 'linux',
    labels: {},
    taints: [],
    controllerAttaches: true,
    providerId: '',
  };
  const provided = newNode(names, {...identity, providedAddresses: '10.0.0.1'});
  t.is(provided.metadata?.annotations?.['alpha.kubernetes.io/provided-node-ip'], '10.0.0.1');
  t.is(ownMetadataPatch(names, provided, provided), undefined);
  // Without a provider the annotation goes.
  t.deepEqual(ownMetadataPatch(names, provided, newNode(names, identity)), {
    labels: {},
    annotations: {'alpha.kubernetes.io/provided-node-ip': null},
  });
});

const [gpu, pages, small] = ['vendor.example/gpu', 'hugepages-2Mi', 'hugepages-1Gi'];
const both = (amounts: Readonly<Record<string, string>>) => ({capacity: amounts, allocatable: amounts});
type Resources = Partial<ReturnType<typeof both>>;

// The cases of upstream's TestReconcileExtendedResource and TestReconcileHugePageResource.
const reconciled: readonly (readonly [
  what: string,
  found: Resources | undefined,
  initial: ReturnType<typeof both>,
  resets: boolean,
  patch: object | undefined,
])[] = [
  ['is as it would be', both({cpu: '2'}), both({cpu: '2'}), false, undefined],
  ['has other resources of its own', both({cpu: '3', 'ephemeral-storage': '1Gi'}), both({cpu: '2'}), true, undefined],
  ['has no resources', {}, both({cpu: '2'}), false, both({cpu: '2'})],
  ['has no status', undefined, both({cpu: '2'}), true, both({cpu: '2'})],
  ['has extended resources on the same machine', both({cpu: '2', [gpu]: '4'}), both({cpu: '2'}), false, undefined],
  ['has extended resources of another machine', both({cpu: '2', [gpu]: '4'}), both({cpu: '2'}), true, both({[gpu]: '0'})],
  [
    'has an extended resource that nothing may use',
    {capacity: {cpu: '2', [gpu]: '4'}, allocatable: {cpu: '2', [gpu]: '0'}},
    both({cpu: '2'}),
    true,
    {capacity: {[gpu]: '0'}},
  ],
  ['lacks huge pages', both({cpu: '2'}), both({cpu: '2', [pages]: '100Mi'}), false, both({[pages]: '100Mi'})],
  ['has the same huge pages', both({[pages]: '102400Ki'}), both({[pages]: '100Mi'}), false, undefined],
  ['had more huge pages', both({[pages]: '2Gi'}), both({[pages]: '100Mi'}), false, both({[pages]: '100Mi'})],
  ['had huge pages of another size', both({[small]: '2Gi'}), both({[pages]: '1Gi'}), false, both({[small]: null as never, [pages]: '1Gi'})],
];

for (const [what, found, initial, resets, patch] of reconciled)
  test(`a Node that was registered before is brought up to date: it ${what}`, t =>
    t.deepEqual(ownResourcesPatch(naming('plat'), found as NodeStatus | undefined, initial, resets) as object | undefined, patch));

test('a report changes only those resources that differ, so that it does not undo what others have just changed', t => {
  const before = {capacity: {cpu: '2', memory: '1Gi', [gpu]: '4', [pages]: '1Gi'}};
  const after = {capacity: {cpu: '2', memory: '2Gi', [gpu]: '4'}};
  t.deepEqual(nodeStatusPatch(before, after)['capacity'], {memory: '2Gi', [pages]: null});
});

test('the runtime decides on the cgroup driver before the configuration', t => {
  t.is(driverOf(undefined, 'cgroupfs'), 'cgroupfs');
  t.is(driverOf('cgroupfs', 'systemd'), 'cgroupfs');
  t.is(driverOf('systemd', 'cgroupfs'), 'systemd');
  t.is(driverOf(undefined, 'systemd'), 'systemd');
});

test('why a node is not ready is logged once for each reason that lasts, and that it is ready again', async t => {
  const clock = new VirtualClock(0);
  const {log, lines, fields} = recordingLog();
  const readiness = new ReadinessLog(clock, log, 'real');
  const report = async (notReady?: string): Promise<void> => {
    readiness.observe(statusOf({failures: {pressures: [], ...(notReady === undefined ? {} : {notReady})}}));
    await clock.advance(1_000);
  };
  const network = 'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized';
  for (const reason of ['PLEG is not healthy', undefined, network, network, network, network, undefined, undefined]) await report(reason);

  t.deepEqual(lines, ['warn the node is not ready', 'info the node is ready']);
  t.like(fields[0], {node: 'real', message: network});
  t.regex(String(fields[0]?.['remedy']), /docs\/nodes\.md/);
});

test('a runtime that lists its images no more holds up no status, which keeps the last list', async t => {
  const clock = new VirtualClock(0);
  const images = [{id: 'one', tags: ['one:latest'], digests: [], bytes: 1}] as unknown as readonly Image[];
  let answer = Promise.resolve(images);
  const node = new NodeImages({runtime: {images: () => answer}, clock, log: noLog});
  t.is(await node.current(), images);
  answer = new Promise(() => {});
  await clock.advance(60_000);

  t.is(await node.current(), images);
  t.is(await node.current(), images);
});
