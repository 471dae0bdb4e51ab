import {readFileSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Frozen} from '#src/api/key.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openDeviceManager, type DeviceStage} from '#src/platlet/device-manager/open.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {managerRejection} from '#src/platlet/pod/admission/managers.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {TopologyManager} from '#src/platlet/topology-manager/manager.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import {folderHost, type FolderHost} from '#test/platlet/host.js';
import {FakeDevicePlugin, type TestDevice} from './fake-device-plugin.js';

const gpu = 'vendor.example/gpu';
const plat = naming('plat');

interface World extends AsyncDisposable {
  readonly host: FolderHost;
  readonly folder: string;
  readonly clock: VirtualClock;
  readonly stage: DeviceStage;
  readonly topology: TopologyManager;
  readonly directory: {sources: {isReady: boolean}; working: {active: Pod[]}; listed: RuntimePod[]};
}

/** Opens a manager of devices on a machine with two NUMA nodes, and starts to take registrations. */
const opened = async (host: FolderHost, policy: 'none' | 'single-numa-node' = 'none'): Promise<World> => {
  const folder = join(host.root, 'device-plugins');
  const clock = new VirtualClock();
  const directory: World['directory'] = {sources: {isReady: true}, working: {active: []}, listed: []};
  const metrics = agentMetrics(noMeter, plat);
  const stage = await openDeviceManager(
    {folder, nodes: [0, 1], naming: plat, host, clock, log: noLog, metrics},
    directory as unknown as PodDirectory,
  );
  await stage.registration.start();
  const nodes = [0, 1].map(id => ({id, distances: undefined, cpus: new Set<number>(), memory: new Map()}));
  const topology = new TopologyManager({
    policy,
    scope: 'container',
    order: {nodes, options: {prefersClosest: false, maxNumaNodes: 8}} as never,
    providers: [stage.manager],
    metrics,
    clock,
  });
  return {
    host,
    folder,
    clock,
    stage,
    topology,
    directory,
    async [Symbol.asyncDispose]() {
      await stage.registration[Symbol.asyncDispose]();
      await stage.plugins[Symbol.asyncDispose]();
      await stage.file.saved();
      rmSync(join(folder, 'kubelet.sock'), {force: true});
    },
  };
};

/** Resolves once it is true. What plugins send arrives in real time. */
const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise(resolve => setImmediate(resolve));
};

/** Starts a plugin for the devices, and registers it. */
const aPlugin = async ({folder, clock, stage}: World, devices: readonly TestDevice[], name = 'gpu.sock'): Promise<FakeDevicePlugin> => {
  const plugin = await new FakeDevicePlugin(join(folder, name), devices).listen();
  await plugin.register(join(folder, 'kubelet.sock'), clock, gpu);
  await until(() => stage.plugins.devicesOf(gpu).size === devices.length);
  return plugin;
};

type Spec = Partial<Record<'init' | 'sidecars' | 'apps', readonly number[]>>;

/** A pod whose containers request so many devices each. */
const aPod = (uid: string, {init = [], sidecars = [], apps = []}: Spec): Pod => {
  const container = (name: string, count: number) => ({name, image: 'app', resources: {limits: {[gpu]: String(count)}}});
  return {
    metadata: {uid, name: uid, namespace: 'default'},
    spec: {
      initContainers: [
        ...init.map((count, at) => container(`init${at}`, count)),
        ...sidecars.map((count, at) => ({...container(`sidecar${at}`, count), restartPolicy: 'Always'})),
      ],
      containers: apps.map((count, at) => container(`app${at}`, count)),
    },
  };
};

const message = async ({topology}: World, pod: Pod): Promise<string | undefined> => {
  const refusal = await topology.admit(pod);
  return refusal && managerRejection(refusal).message;
};

const idsOf = ({stage}: World, pod: Pod): string =>
  [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]
    .map(({name}) =>
      stage.manager
        .healthOf(pod.metadata?.uid ?? '', name)
        .flatMap(({resources = []}) => resources.map(({resourceID}) => resourceID))
        .sort()
        .join(),
    )
    .join(' ');

const app = (pod: Pod): Frozen<AnyContainer> => pod.spec!.containers[0] as Frozen<AnyContainer>;

const counted = ({stage}: World): string => {
  const {capacity, allocatable, removed} = stage.manager.count();
  return `${capacity.get(gpu)} ${allocatable.get(gpu)} ${removed.join()}`;
};

test('a plugin that registers has its devices counted and allocated, with what containers need of them', async t => {
  using host = folderHost();
  await using world = await opened(host);
  await using plugin = await aPlugin(world, [['a'], ['b', 'Unhealthy'], ['c']]);
  plugin.options = {};
  t.is(counted(world), '3 2 ');

  const pod = aPod('one', {apps: [1, 1]});
  t.is(await message(world, pod), undefined);
  t.is(idsOf(world, pod), 'a c');
  t.deepEqual(plugin.calls, ['allocate a', 'allocate c']);
  const {environment} = await world.stage.manager.optionsOf(pod, app(pod));
  t.deepEqual(Object.fromEntries(environment), {DEVICES: 'a'});

  t.is(
    await message(world, aPod('two', {apps: [1]})),
    `Allocate failed due to requested number of devices unavailable for ${gpu}. Requested: 1, Available: 0, which is unexpected`,
  );
  world.stage.manager.retain([]);
  t.is(await message(world, aPod('two', {apps: [2]})), undefined);
});

test('registrations with another version or a native resource are refused in words', async t => {
  using host = folderHost();
  await using world = await opened(host);
  await using plugin = await new FakeDevicePlugin(join(world.folder, 'a.sock'), []).listen();
  const socket = join(world.folder, 'kubelet.sock');

  await t.throwsAsync(plugin.register(socket, world.clock, gpu, 'v1alpha'), {
    message: /requested API version "v1alpha" is not supported by platlet. Supported version is \["v1beta1"\]$/,
  });
  await t.throwsAsync(plugin.register(socket, world.clock, 'cpu'), {message: /the ResourceName "cpu" is invalid$/});
  const {registration} = world.stage;
  t.throws(() => registration.validate({name: gpu, endpoint: '', versions: ['v2', 'v3']}), {
    message: 'manager version, v1beta1, is not among plugin supported versions [v2 v3]',
  });
  t.throws(() => registration.validate({name: 'cpu', endpoint: '', versions: ['v1beta1']}), {
    message: 'invalid name of device plugin socket: the ResourceName "cpu" is invalid',
  });
});

test('the devices of a lost plugin are not allocatable at once, counted for five minutes, and back when it registers again', async t => {
  using host = folderHost();
  await using world = await opened(host);
  const plugin = await aPlugin(world, [['a'], ['b']]);
  const pod = aPod('one', {apps: [1]});
  t.is(await message(world, pod), undefined);
  await plugin[Symbol.asyncDispose]();
  await until(() => world.stage.plugins.healthyOf(gpu)?.size === 0);

  t.is(counted(world), '2 0 ');
  t.deepEqual([...world.stage.manager.heldBeside(pod)], [[gpu, 1]]);
  t.deepEqual([...world.stage.manager.heldBeside(aPod('two', {}))], []);
  t.is(
    await message(world, aPod('two', {apps: [1]})),
    `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${gpu}, which is unexpected`,
  );
  await world.clock.advance(300_001);
  t.is(counted(world), `undefined undefined ${gpu}`);

  await using again = await aPlugin(world, [['a'], ['b'], ['c']], 'again.sock');
  t.is(counted(world), '3 3 ');
  t.is(again.calls.length, 0);
});

test('the devices of init containers are used again by later ones, but not those of sidecars', async t => {
  using host = folderHost();
  await using world = await opened(host);
  await using _ = await aPlugin(world, [['a'], ['b'], ['c'], ['d']]);
  const pod = aPod('one', {init: [2], sidecars: [1], apps: [1, 1]});

  t.is(await message(world, pod), undefined);
  t.is(idsOf(world, pod), 'a,b a b c');
});

test('a plugin is asked for its preference, and told before a container starts, if it wants that', async t => {
  using host = folderHost();
  await using world = await opened(host);
  const plugin = new FakeDevicePlugin(join(world.folder, 'gpu.sock'), [['a'], ['b'], ['c']]);
  plugin.options = {preStartRequired: true, getPreferredAllocationAvailable: true};
  plugin.preferred = () => ['c'];
  await plugin.listen();
  await using _ = plugin;
  await plugin.register(join(world.folder, 'kubelet.sock'), world.clock, gpu);
  await until(() => world.stage.plugins.devicesOf(gpu).size === 3);
  const pod = aPod('one', {apps: [2]});

  t.is(await message(world, pod), undefined);
  await world.stage.manager.optionsOf(pod, app(pod));
  t.deepEqual(plugin.calls, ['prefer 2 of a,b,c with ', 'allocate c,a', 'start c,a']);

  plugin.allocation = () => Promise.reject(new Error('out of order'));
  t.is(
    await message(world, aPod('two', {apps: [1]})),
    'Allocate failed due to rpc error: code = Unknown desc = out of order, which is unexpected',
  );
});

test('devices are allocated on the NUMA node that the topology manager has chosen', async t => {
  using host = folderHost();
  await using world = await opened(host, 'single-numa-node');
  await using _ = await aPlugin(world, [
    ['a', 'Healthy', [0]],
    ['b', 'Healthy', [1]],
    ['c', 'Healthy', [1]],
  ]);
  const pod = aPod('one', {apps: [2]});

  t.is(await message(world, pod), undefined);
  t.is(idsOf(world, pod), 'b,c');
  t.is(await message(world, aPod('two', {apps: [2]})), 'Resources cannot be allocated with Topology locality');
});

test('an agent that starts again keeps assignments, and running containers need no plugin until all pods are known', async t => {
  using host = folderHost();
  const pod = aPod('one', {apps: [1]});
  {
    await using before = await opened(host);
    await using _ = await aPlugin(before, [['a'], ['b']]);
    t.is(await message(before, pod), undefined);
  }
  await using world = await opened(host);
  t.is(idsOf(world, pod), 'a');
  t.is(counted(world), '0 0 ');
  world.directory.sources.isReady = false;
  t.is(
    await message(world, pod),
    `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${gpu}, which is unexpected`,
  );
  world.directory.listed = [{pod: {uid: 'one'}, containers: [{name: 'app0', state: 'running'}]} as unknown as RuntimePod];
  t.is(await message(world, pod), undefined);

  await using plugin = await aPlugin(world, [['a'], ['b']]);
  world.directory.sources.isReady = true;
  t.is(await message(world, pod), undefined);
  t.deepEqual(plugin.calls, []);
  await world.stage.file.saved();
  t.regex(readFileSync(join(world.folder, 'kubelet_internal_checkpoint'), 'utf8'), /"PodUID":"one"/);
});

test('a change of the health of an assigned device is told, and devices are healthy as long as nothing else is known', async t => {
  using host = folderHost();
  await using world = await opened(host);
  await using plugin = await aPlugin(world, [['a'], ['b']]);
  const pod = aPod('one', {apps: [1]});
  await message(world, pod);
  const told: string[] = [];
  world.stage.manager.followHealth(uids => told.push(...uids));

  plugin.report(['a'], ['b', 'Unhealthy']);
  plugin.report(['a', 'Unhealthy'], ['b']);
  await until(() => told.length > 0);

  t.deepEqual(told, ['one']);
  t.deepEqual(world.stage.manager.healthOf('one', 'app0'), [{name: gpu, resources: [{resourceID: 'a', health: 'Unhealthy'}]}]);
  t.is(
    await message(world, pod),
    `Allocate failed due to previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${gpu}, which is unexpected`,
  );
  plugin.report(['b']);
  await until(() => world.stage.plugins.devicesOf(gpu).size === 1);
  t.deepEqual(world.stage.manager.healthOf('one', 'app0'), [{name: gpu, resources: [{resourceID: 'a', health: 'Healthy'}]}]);
});
