import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {wellKnown} from '#src/api/user.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {openClaimManager, type ClaimStage} from '#src/platlet/dra/open.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {anAgent, aPlaneWithNode, describePod, nodeName, podNamed, podsOf, run, type AgentPlane} from '#test/platlet/agent.js';
import {folderHost, type FolderHost} from '#test/platlet/host.js';
import {MemoryRuntime} from '#test/platlet/memory-runtime.js';
import {eventsOf} from '#test/simulation/environment.js';
import {FakeClaimPlugin} from './fake-claim-plugin.js';

const driver = 'gpu.vendor.example';
const never = new AbortController().signal;
const versions = ['v1.DRAPlugin'];

interface World extends AsyncDisposable {
  readonly stage: ClaimStage;
  metrics(): Promise<string>;
  register(plugin: FakeClaimPlugin): Promise<void>;
}

/** Opens the claims of a node, as an agent process does. */
const opened = async (plane: AgentPlane, host: FolderHost): Promise<World> => {
  const {clock, naming} = plane;
  const lifetime = new AbortController();
  const main = plane.client({name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
  const meter = new MetricsRegistry();
  await host.makeFolder(host.folders.root, 0o755);
  const stage = await openClaimManager(
    {
      identity: {nodeName},
      flags: {rootDir: host.folders.root},
      clients: {isStandalone: false, main},
      host,
      naming,
      clock,
      random: seededRandom(1),
      log: noLog,
      meter,
      gate: () => true,
    },
    () => ({}),
    lifetime.signal,
  );
  return {
    stage,
    metrics: async () => (await meter.exposition()).body,
    async register({driver: name, socket: endpoint}) {
      stage.plugins.register({name, endpoint, versions});
      await clock.drain();
    },
    async [Symbol.asyncDispose]() {
      lifetime.abort();
      await stage.plugins[Symbol.asyncDispose]();
      await clock.drain();
    },
  };
};

const aPlugin = (host: FolderHost, name?: string): Promise<FakeClaimPlugin> =>
  new FakeClaimPlugin(join(host.root, 'plugins'), driver, name).start();

/** Creates a claim that is allocated, and reserved for pods. */
const aClaim = async (plane: AgentPlane, name: string, pods: readonly Pod[], of: string | undefined = driver): Promise<void> => {
  const claims = plane.client().resource(kinds.resourceClaims);
  const request = {name: 'gpu', exactly: {deviceClassName: 'gpu'}};
  await claims.create({metadata: {name, namespace: 'default'}, spec: {devices: {requests: [request]}}});
  if (of === undefined) return;
  const results = [{request: 'gpu', driver: of, pool: 'pool', device: `dev-${name}`}];
  const reservedFor = pods.map(({metadata}) => ({resource: 'pods', name: metadata!.name!, uid: metadata!.uid!}));
  await claims.patch(
    name,
    'merge',
    {status: {allocation: {devices: {results}}, reservedFor}},
    {namespace: 'default', subresource: 'status'},
  );
};

/** Creates a pod of the node with claims. */
const aPod = (plane: AgentPlane, name: string, claims: readonly string[]): Promise<Pod> =>
  run(plane, name, {
    resourceClaims: claims.map(claim => ({name: claim, resourceClaimName: claim})),
    containers: [{name: 'app', image: 'app', resources: {claims: claims.map(claim => ({name: claim}))}}],
  });

const saved = (host: FolderHost): string => readFileSync(join(host.folders.root, 'dra_manager_state'), 'utf8');

test('claims are prepared once for all pods that use them, and no longer when the last has ended', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  await using plugin = await aPlugin(host);
  await world.register(plugin);
  const {manager} = world.stage;
  const [one, two] = [await aPod(plane, 'one', ['a', 'b']), await aPod(plane, 'two', ['b'])];
  await aClaim(plane, 'a', [one]);
  await aClaim(plane, 'b', [one, two]);

  await manager.prepare(one, never);
  await manager.prepare(two, never);
  t.deepEqual(plugin.calls.splice(0), ['prepare a,b']);
  t.deepEqual(manager.cdiIdsOf(one, one.spec!.containers[0]!), ['vendor.example/gpu=a', 'vendor.example/gpu=b']);
  t.deepEqual(
    manager.claimsOf(two, two.spec!.containers[0]!).map(({name, pods}) => `${name} ${pods.size}`),
    ['b 2'],
  );
  t.true(saved(host).includes(two.metadata!.uid!));
  t.regex(await world.metrics(), /dra_resource_claims_in_use\{driver_name="<any>"\} 2/);

  await manager.unprepare(one);
  t.deepEqual(plugin.calls.splice(0), ['unprepare a']);
  plugin.unprepareError = 'busy';
  await t.throwsAsync(manager.unprepare(two), {
    message: 'unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim b: busy',
  });
  plugin.unprepareError = '';
  await manager.unprepare(two);
  await manager.unprepare(two);
  t.deepEqual(plugin.calls, ['unprepare b', 'unprepare b']);
  t.regex(saved(host), /\\"ClaimInfoStateList\\":\[\]/);
  const text = await world.metrics();
  t.regex(text, /dra_operations_duration_seconds_count\{operation_name="PrepareResources",is_error="true"\} 2/);
  t.regex(
    text,
    /dra_grpc_operations_duration_seconds_count\{driver_name="gpu.vendor.example",method_name="\/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin\/NodePrepareResources",grpc_status_code="OK"\} 1/,
  );
});

test('a pod that ends without having been prepared leaves the claims of others prepared', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  await using plugin = await aPlugin(host);
  await world.register(plugin);
  const [one, two] = [await aPod(plane, 'one', ['a']), await aPod(plane, 'two', ['a'])];
  await aClaim(plane, 'a', [one]);
  await world.stage.manager.prepare(one, never);
  await world.stage.manager.unprepare(two);
  t.deepEqual(plugin.calls, ['prepare a']);
});

test('claims that cannot be used are refused in words, and nothing is noted of them', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  await using plugin = await aPlugin(host);
  const pod = await aPod(plane, 'one', ['a']);
  const {uid} = pod.metadata!;
  const refused = (of: Pod, message: string | RegExp) => t.throwsAsync(world.stage.manager.prepare(of, never), {message});
  const generated: Pod = {...pod, spec: {...pod.spec!, resourceClaims: [{name: 'a', resourceClaimTemplateName: 'a'}]}};

  await refused(generated, 'prepare dynamic resources: pod "default/one": ResourceClaim not created yet');
  await world.stage.manager.unprepare(generated);
  await refused(pod, /^prepare dynamic resources: fetch ResourceClaim a: .*"a" not found/);
  await aClaim(plane, 'a', []);
  await refused(pod, new RegExp(`^prepare dynamic resources: pod one \\(${uid}\\) is not allowed to use ResourceClaim a \\(.*\\)$`));
  await refused(
    {...generated, status: {...pod.status, resourceClaimStatuses: [{name: 'a', resourceClaimName: 'a'}]}},
    'prepare dynamic resources: ResourceClaim default/a was not created for pod default/one (pod is not owner)',
  );
  await plane.client().resource(kinds.resourceClaims).delete('a', {namespace: 'default'});
  await aClaim(plane, 'a', [pod]);
  await refused(pod, `prepare dynamic resources: DRA driver ${driver} is not registered`);
  t.false(saved(host).includes(uid!));

  await world.register(plugin);
  plugin.prepared = () => ({error: 'no power'});
  await refused(pod, 'prepare dynamic resources: NodePrepareResources failed for ResourceClaim a: no power');
  plugin.prepared = () => 'skipped';
  await refused(pod, 'prepare dynamic resources: NodePrepareResources skipped 1 ResourceClaims');
  plugin.prepared = () => Promise.reject(new Error('out of order'));
  await refused(pod, 'prepare dynamic resources: NodePrepareResources: rpc error: code = Unknown desc = out of order');
  t.true(saved(host).includes(uid!));
});

test('a pod waits for its claims, and is reported as ended only when they are given back', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  await using plugin = await aPlugin(host);
  await using runtime = new MemoryRuntime(plane.clock, () => ({}));
  await using _ = await anAgent(plane, runtime, {resourceClaims: world.stage.manager});
  await aClaim(plane, 'a', [await aPod(plane, 'pod', ['a'])]);
  await plane.clock.advance(5_000);
  t.deepEqual(runtime.calls, []);
  t.true(
    (await eventsOf(plane, 'pod')).some(text =>
      text.startsWith('FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare'),
    ),
  );

  await world.register(plugin);
  await plane.clock.advance(90_000);
  t.regex(describePod(await podNamed(plane)), /^Running/);
  plugin.unprepareError = 'busy';
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await plane.clock.advance(60_000);
  t.is((await podNamed(plane)).status?.phase, 'Running');
  plugin.unprepareError = '';
  await plane.clock.advance(60_000);
  t.is((await podsOf(plane).list({namespace: 'default'})).items.length, 0);
});

test('an agent that starts again has the claims of before, and gives back those of pods that are gone', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using plugin = await aPlugin(host);
  const pod = await aPod(plane, 'one', ['a']);
  await aClaim(plane, 'a', [pod]);
  {
    await using before = await opened(plane, host);
    await before.register(plugin);
    await before.stage.manager.prepare(pod, never);
  }
  await using world = await opened(plane, host);
  const {manager} = world.stage;
  t.deepEqual(manager.cdiIdsOf(pod, pod.spec!.containers[0]!), ['vendor.example/gpu=a']);
  await manager.reconcile([]);
  await world.register(plugin);
  await manager.reconcile([pod]);
  t.deepEqual(plugin.calls, ['prepare a']);
  await manager.reconcile([]);
  t.deepEqual(plugin.calls, ['prepare a', 'unprepare a']);

  writeFileSync(join(host.folders.root, 'dra_manager_state'), '{"Data":"{}","Checksum":1}');
  await t.throwsAsync(opened(plane, host), {
    message:
      'create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: checkpoint is corrupted',
  });
});

test('of two plugins of a driver the newest that can be reached is asked', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  await using old = await aPlugin(host);
  await using next = await aPlugin(host, 'next.sock');
  await world.register(old);
  await world.register(next);
  await t.throwsAsync(world.register(next), {
    message: `endpoint ${next.socket} already registered for DRA driver plugin ${driver}`,
  });
  const [one, two] = [await aPod(plane, 'one', ['a']), await aPod(plane, 'two', ['b'])];
  await aClaim(plane, 'a', [one]);
  await aClaim(plane, 'b', [two]);
  await world.stage.manager.prepare(one, never);
  await world.stage.plugins.deregister({name: driver, endpoint: next.socket, versions});
  await world.stage.manager.prepare(two, never);
  t.deepEqual([next.calls, old.calls], [['prepare a'], ['prepare b']]);
});

test('the slices of drivers are wiped when the agent starts, and 30 seconds after a driver has gone', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  const slices = plane.client().resource(kinds.resourceSlices);
  const publish = async (...names: readonly string[]): Promise<void> => {
    for (const name of names)
      await slices.create({
        metadata: {name},
        spec: {driver: name, nodeName, pool: {name: nodeName, generation: 1, resourceSliceCount: 1}, devices: [{name: 'dev'}]},
      });
  };
  const left = async (): Promise<string> => (await slices.list()).items.map(({metadata}) => metadata?.name).join();
  await publish(driver, 'other.example');
  await world.stage.wiping?.start();
  t.is(await left(), '');

  await publish(driver, 'other.example');
  const plugin = await aPlugin(host);
  await world.register(plugin);
  await plane.clock.advance(60_000);
  await plugin.stop();
  await plane.clock.advance(20_000);
  await plugin.start();
  await plane.clock.advance(20_000);
  t.is(await left(), `${driver},other.example`);
  await plugin.stop();
  await plane.clock.advance(29_000);
  t.is(await left(), `${driver},other.example`);
  await plane.clock.advance(2_000);
  t.is(await left(), 'other.example');
});

test('the health of devices that a plugin tells is shown, as long as it counts', async t => {
  await using plane = await aPlaneWithNode();
  using host = folderHost();
  await using world = await opened(plane, host);
  await using plugin = await aPlugin(host);
  await world.register(plugin);
  const created = await aPod(plane, 'one', ['a']);
  await aClaim(plane, 'a', [created]);
  await world.stage.manager.prepare(created, never);
  const pod: Pod = {...created, status: {resourceClaimStatuses: [{name: 'a', resourceClaimName: 'a'}]}};
  const told: string[] = [];
  world.stage.health.follow(uids => told.push(...uids));
  const shown = () => world.stage.health.of(pod, 'app');
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await new Promise(resolve => setImmediate(resolve));
  };
  const of = (health: string) => [{name: 'claim:a', resources: [{resourceID: 'vendor.example/gpu=a', health}]}];
  t.deepEqual(shown(), of('Unknown'));

  await until(() => plugin.isWatched);
  plugin.report({'dev-a': 'Unhealthy', 'dev-b': 'Healthy'}, 10);
  await until(() => told.length > 0);
  t.deepEqual(told, [created.metadata!.uid]);
  t.deepEqual(shown(), of('Unhealthy'));
  t.deepEqual(world.stage.health.of(created, 'app'), []);
  await plane.clock.advance(10_001);
  t.deepEqual(shown(), of('Unknown'));

  plugin.report({'dev-a': 'Healthy'});
  await until(() => told.length > 1);
  t.deepEqual(shown(), of('Healthy'));
  await plugin.stop();
  await until(() => JSON.stringify(shown()).includes('Unknown'));
  t.deepEqual(shown(), of('Unknown'));
});
