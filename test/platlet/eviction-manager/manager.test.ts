import test from 'ava';
import type {NodeStats} from '#src/api/node/stats.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Evictor} from '#src/platlet/eviction-manager/evictor.js';
import {EvictionManager, type EvictedNode, type EvictionSettings} from '#src/platlet/eviction-manager/manager.js';
import {layoutOfNode} from '#src/platlet/eviction-manager/feature.js';
import {MemoryNotifier} from '#src/platlet/eviction-manager/memory-notifier.js';
import {evictionReports} from '#src/platlet/eviction-manager/reports.js';
import {endingPods} from '#src/platlet/worker/ending-pods.js';
import {thresholdsOf, withAllocatable} from '#src/platlet/eviction/thresholds.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Recorder} from '#src/runtime/events/events.js';
import {seededRandom} from '#src/base/random.js';
import {anAgent, aPlaneWithNode, describePod, nodeName, podNamed, run, type AgentPlane, type TestAgent} from '#test/platlet/agent.js';
import {MemoryRuntime, type Program} from '#test/platlet/memory-runtime.js';
import {nodeStats, podStats, type Left, type Used} from '#test/platlet/eviction/samples.js';

const hard = (evictionHard: Readonly<Record<string, string>>, evictionMinimumReclaim: Readonly<Record<string, string>> = {}) =>
  thresholdsOf({evictionHard, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim});

interface Evicting extends AsyncDisposable {
  readonly agent: TestAgent;
  readonly runtime: MemoryRuntime;
  /** What is left on the node, and what its pods use. */
  left: Left;
  used: Readonly<Record<string, Used>>;
  readonly reclaimed: string[];
  /** Called when images are removed. */
  freed: Left | undefined;
  readonly manager: EvictionManager;
  readonly metrics: MetricsRegistry;
}

const defaults: EvictionSettings = {
  thresholds: [],
  transitionMs: 300_000,
  maxGraceSeconds: 0,
  limitsStorage: true,
  withPodLevel: true,
};

/** An agent that evicts pods by what a test says is left. */
const evicting = async (
  plane: AgentPlane,
  settings: Partial<EvictionSettings>,
  programs: (name: string) => Program = () => ({}),
): Promise<Evicting> => {
  const {clock, naming} = plane;
  const runtime = new MemoryRuntime(clock, programs);
  const agent = await anAgent(plane, runtime);
  const lifetime = new AbortController();
  const {signal} = lifetime;
  const {directory, workers} = agent.pods;
  const meter = new MetricsRegistry();
  const measure = async (): Promise<NodeStats> => {
    const pods = directory.working.active.flatMap(pod => {
      const used = node.used[pod.metadata?.name ?? ''];
      return used ? [podStats(pod as Pod, used)] : [];
    });
    return nodeStats(node.left, pods, clock.now());
  };
  const evictedNode: EvictedNode = {
    measure,
    layout: async () => 'one',
    async removeContainers() {
      node.reclaimed.push('containers');
    },
    async removeImages() {
      node.reclaimed.push('images');
      node.left = node.freed ?? node.left;
    },
  };
  const events = new Recorder({
    client: plane.client(),
    clock,
    random: seededRandom(3),
    log: noLog,
    component: naming.agent,
    host: nodeName,
    signal,
  });
  const manager = new EvictionManager({
    settings: {...defaults, ...settings},
    node: evictedNode,
    evictor: new Evictor({naming, pods: endingPods(directory, workers), events, clock, log: noLog, signal}),
    condition: agent.condition,
    reports: evictionReports({
      events,
      node: {kind: kinds.nodes.kind, metadata: {name: nodeName, uid: nodeName}},
      metrics: agentMetrics(meter, naming),
      clock,
    }),
    clock,
    log: noLog,
    signal,
  });
  const node: Evicting = {
    agent,
    runtime,
    left: {},
    used: {},
    reclaimed: [],
    freed: undefined,
    manager,
    metrics: meter,
    async [Symbol.asyncDispose]() {
      lifetime.abort();
      await agent[Symbol.asyncDispose]();
    },
  };
  manager.start();
  await clock.drain();
  return node;
};

const eventsOf = async (plane: AgentPlane, reason: string) =>
  (await plane.client().resource(kinds.coreEvents).list()).items.filter(event => event.reason === reason);

test('a node that is short of memory evicts one pod at a time, and says why', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  await using node = await evicting(plane, {thresholds: hard({'memory.available': '1Gi'}), transitionMs: 60_000});
  for (const name of ['greedy', 'modest']) await run(plane, name);
  await clock.advance(2_000);
  node.used = {greedy: {memory: '400Mi'}, modest: {memory: '100Mi'}};
  node.left = {memory: '500Mi'};
  await clock.advance(8_000);

  t.deepEqual(node.agent.condition.pressures, ['MemoryPressure']);
  node.left = {};
  await clock.advance(10_000);
  t.is(describePod(await podNamed(plane, 'modest')).startsWith('Running'), true);
  const {status} = await podNamed(plane, 'greedy');
  const message =
    'The node was low on resource: memory. Threshold quantity: 1Gi, available: 500Mi. Container app was using 400Mi, request is 0, has larger consumption of memory. ';
  t.like(status, {phase: 'Failed', reason: 'Evicted', message});
  t.like(
    status?.conditions?.find(({type}) => type === 'DisruptionTarget'),
    {status: 'True', reason: 'TerminationByPlatlet', message},
  );
  t.true(node.runtime.calls.includes('stop app 0 2'));
  const [event] = await eventsOf(plane, 'Evicted');
  t.like(event, {
    type: 'Warning',
    message,
    metadata: {annotations: {offending_containers: 'app', offending_containers_usage: '400Mi', starved_resource: 'memory'}},
  });
  t.deepEqual(
    (await eventsOf(plane, 'EvictionThresholdMet')).map(each => [each.involvedObject.name, each.message]),
    [[nodeName, 'Attempting to reclaim memory']],
  );
  t.regex((await node.metrics.exposition()).body, /platlet_evictions\{eviction_signal="memory.available"\} 1/);
  t.regex((await node.metrics.exposition()).body, /platlet_eviction_stats_age_seconds_count\{eviction_signal="memory.available"\} 1/);
  await clock.advance(55_000);
  t.deepEqual(node.agent.condition.pressures, []);
});

test('critical pods are spared, and pods with a soft threshold have their grace period', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  const soft = thresholdsOf({
    evictionHard: {},
    evictionSoft: {'memory.available': '1Gi'},
    evictionSoftGracePeriod: {'memory.available': '30s'},
    evictionMinimumReclaim: {},
  });
  await using node = await evicting(plane, {thresholds: soft, maxGraceSeconds: 20});
  await run(plane, 'critical', {priorityClassName: 'system-node-critical'});
  await run(plane, 'usual', {terminationGracePeriodSeconds: 60});
  await clock.advance(2_000);
  node.used = {critical: {memory: '900Mi'}, usual: {memory: '1Mi'}};
  node.left = {memory: '1Mi'};
  await clock.advance(29_000);
  t.deepEqual(node.agent.condition.pressures, ['MemoryPressure']);
  t.is((await podNamed(plane, 'usual')).status?.phase, 'Running');
  await clock.advance(10_000);
  t.is((await podNamed(plane, 'usual')).status?.reason, 'Evicted');
  t.true(node.runtime.calls.includes('stop app 0 20'));
  t.is((await podNamed(plane, 'critical')).status?.phase, 'Running');
});

test('what nothing needs goes before pods do', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  await using node = await evicting(plane, {thresholds: hard({'nodefs.available': '10Gi'}, {'nodefs.available': '5Gi'})});
  await run(plane);
  await clock.advance(2_000);
  node.used = {pod: {layer: '3Gi', logs: '1Gi'}};
  node.left = {nodefs: '1Gi'};
  node.freed = {nodefs: '16Gi'};
  await clock.advance(10_000);
  t.deepEqual(node.reclaimed, ['containers', 'images']);
  t.deepEqual(node.agent.condition.pressures, ['DiskPressure']);
  t.is((await podNamed(plane)).status?.phase, 'Running');
  node.left = {nodefs: '1Gi'};
  node.freed = {nodefs: '12Gi'};
  await clock.advance(12_000);
  t.is(
    (await podNamed(plane)).status?.message,
    'The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 1Gi. Container app was using 4Gi, request is 0, has larger consumption of ephemeral-storage. ',
  );
});

test('pods that exceed limits of local storage go together, whatever is left', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  const allocatable = {cpu: '2', memory: '1Gi', pods: '10', 'ephemeral-storage': '1Gi'};
  await plane.client().resource(kinds.nodes).patch(nodeName, 'merge', {status: {allocatable}}, {subresource: 'status'});
  await using node = await evicting(plane, {});
  const volumes = [{name: 'v', emptyDir: {sizeLimit: '1Mi'}}];
  const containers = [{name: 'app', image: 'app', resources: {limits: {'ephemeral-storage': '1Mi'}}}];
  await run(plane, 'folder', {volumes});
  await run(plane, 'writer', {containers});
  await run(plane, 'usual');
  await clock.advance(2_000);
  node.used = {folder: {volumes: {v: '2Mi'}}, writer: {layer: '2Mi'}, usual: {layer: '9Mi'}};
  await clock.advance(12_000);
  const described = async (name: string): Promise<string | undefined> => (await podNamed(plane, name)).status?.message;
  t.is(await described('folder'), 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ');
  t.is(await described('writer'), 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ');
  t.is(await described('usual'), undefined);
  t.is(
    (await podNamed(plane, 'folder')).status?.conditions?.some(({type}) => type === 'DisruptionTarget'),
    false,
  );
  t.regex((await node.metrics.exposition()).body, /platlet_evictions\{eviction_signal="emptydirfs.limit"\} 1/);
});

test('an evicted pod stays so under an agent that is started again, and its containers go', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  const runtime = await (async () => {
    await using node = await evicting(plane, {thresholds: hard({'memory.available': '1Gi'})});
    await run(plane);
    await clock.advance(2_000);
    node.left = {memory: '1Mi'};
    await clock.advance(10_000);
    node.left = {};
    await clock.advance(70_000);
    return node.runtime;
  })();
  t.deepEqual(
    (await runtime.pods()).flatMap(({containers}) => containers.map(({name}) => name)),
    [],
  );
  await using _ = await anAgent(plane, runtime);
  await clock.advance(120_000);
  t.like((await podNamed(plane)).status, {phase: 'Failed', reason: 'Evicted'});
  t.is(runtime.calls.filter(call => call === 'start app 0').length, 1);
});

test('the kernel is asked to notify about the usage at which the working set leaves too little', async t => {
  const clock = new VirtualClock();
  const lifetime = new AbortController();
  const asked: string[] = [];
  const calls: string[] = [];
  let cross = (): void => {};
  const notifier = new MemoryNotifier({
    host: {
      read: async path => Buffer.from(path === '/machine/memory.usage_in_bytes' ? '3221225472\n' : '2147483648\n'),
      async openMemoryWatch(crossed) {
        cross = crossed;
        return {
          set: thresholds => void asked.push(thresholds.map(({folder, bytes}) => `${folder} ${bytes / 2 ** 20}Mi`).join()),
          [Symbol.dispose]: () => void calls.push('stopped'),
        };
      },
    },
    folders: {machine: '/machine', pods: '/pods'},
    thresholds: withAllocatable(hard({'memory.available': '1Gi', 'nodefs.available': '1Gi'})),
    clock,
    log: noLog,
    signal: lifetime.signal,
  });
  await notifier.start(() => void calls.push('crossed'));
  // 10Gi, of which 2Gi are the working set and, of the usage, 1Gi are inactive files of the machine and none of pods.
  await notifier.refresh(nodeStats({memory: '8Gi', pods: '8Gi'}));
  await notifier.refresh(nodeStats({memory: '1Gi'}));
  t.deepEqual(asked, ['/machine 10240Mi,/pods 9216Mi']);
  await clock.advance(10_001);
  await notifier.refresh(nodeStats({memory: '8Gi', pods: '8Gi'}));
  t.is(asked.length, 2);
  cross();
  lifetime.abort();
  t.deepEqual(calls, ['crossed', 'stopped']);
});

test('disks that are split need their gate', async t => {
  const layout = (isOn: boolean, devices: Readonly<Record<string, number>>) =>
    layoutOfNode({
      host: {device: async (path: string) => devices[path]} as never,
      runtime: {
        imageFilesystems: async () => ({images: [{at: 0, mountpoint: '/images'}], containers: [{at: 0, mountpoint: '/containers'}]}),
      } as never,
      flags: {rootDir: '/agent', allocatesThresholds: false},
      gate: () => isOn,
      naming: namingOf('kubernetes'),
    });
  t.is(await layout(false, {'/agent': 1, '/images': 1, '/containers': 1}), 'one');
  t.is(await layout(true, {'/agent': 1, '/images': 2, '/containers': 1}), 'split');
  await t.throwsAsync(layout(false, {'/agent': 1, '/images': 2, '/containers': 1}), {
    message: 'KubeletSeparateDiskGC is turned off but we still have a split filesystem',
  });
});

test('limits of local storage do not count where they are not isolated', async t => {
  await using plane = await aPlaneWithNode();
  await using node = await evicting(plane, {limitsStorage: false, thresholds: hard({'pid.available': '1'})});
  await run(plane, 'pod', {volumes: [{name: 'v', emptyDir: {sizeLimit: '1Mi'}}]});
  await plane.clock.advance(2_000);
  node.used = {pod: {volumes: {v: '2Mi'}}};
  await plane.clock.advance(20_000);
  t.is((await podNamed(plane)).status?.phase, 'Running');
});

test('a node is looked at before it is time when it is asked to', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  await using node = await evicting(plane, {thresholds: hard({'pid.available': '100'})});
  node.left = {processes: 5};
  await clock.advance(1_000);
  t.deepEqual(node.agent.condition.pressures, []);
  node.manager.wake();
  await clock.drain();
  t.deepEqual(node.agent.condition.pressures, ['PIDPressure']);
});
