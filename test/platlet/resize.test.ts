import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {containerResources} from '#src/platlet/inputs/resources.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import {podCgroupLimits} from '#src/platlet/cgroups/numbers.js';
import type {PodCgroups, PodConfigs} from '#src/platlet/pod/ports.js';
import {ResourceState} from '#src/platlet/resize/resource-state.js';
import type {ActualResources} from '#src/platlet/runtime/limits.js';
import {eventsOf} from '#test/simulation/environment.js';
import {aPlane} from '#test/controllers/plane.js';
import {anAgent, aPlaneWithNode, createNode, nodeName, describePod, podNamed, podsOf, run, type AgentPlane} from './agent.js';
import {MemoryRuntime} from './memory-runtime.js';
import {configs, noCgroups} from './ports.js';

type Amounts = Record<string, string>;

const settings = {enforcesCpuLimits: true, cpuPeriod: 100_000, memoryCapacity: 2 ** 30, pageSizes: [], killsGroups: false};

/** Configurations with the resources of containers. */
const withResources: PodConfigs = {
  ...configs,
  resources: (pod, container) => containerResources(pod, container, settings),
  container: async request => ({
    ...(await configs.container(request)),
    resources: containerResources(request.pod, request.container, settings),
  }),
};

/** The groups of pods in memory, which note their changes among the calls of a runtime. */
const groups = (calls: string[], usage: () => number = () => 0): PodCgroups => {
  let current: ActualResources | undefined;
  const limitsFor = (pod: Parameters<PodCgroups['ensure']>[0]) => podCgroupLimits(pod, settings);
  const apply = ({cpuShares, cpuQuota, cpuPeriod, memoryBytes}: CgroupLimits): void => {
    current = {
      ...current,
      ...(cpuShares === undefined ? {} : {cpuShares}),
      ...(cpuPeriod === undefined ? {} : {cpuQuota: cpuQuota || -1, cpuPeriod}),
      ...(memoryBytes === undefined ? {} : {memoryLimitBytes: memoryBytes}),
    };
  };
  return {
    ...noCgroups(),
    hasLimits: true,
    limitsFor,
    limitsOf: (_, container) => Promise.resolve(container ? undefined : current),
    memoryOf: () => Promise.resolve(usage()),
    async ensure(pod, isRunning) {
      if (!isRunning) apply(limitsFor(pod));
      return '/pods';
    },
    async change(_, limits) {
      const {pids: _pids, hugePages: _pages, ...shown} = limits;
      calls.push(`group ${JSON.stringify(shown).replaceAll(/[{}"]/g, '')}`);
      apply(limits);
    },
  };
};

const asking = (requests: Amounts, limits: Amounts = {}, more: object = {}) => ({
  containers: [{name: 'app', image: 'app', resources: {requests, limits}, ...more}],
});

const resizeTo = (plane: AgentPlane, requests: Amounts, limits: Amounts = {}, name = 'pod'): Promise<Pod> =>
  podsOf(plane).patch(name, 'strategic', {spec: {containers: [{name: 'app', resources: {requests, limits}}]}}, {
    namespace: 'default',
    subresource: 'resize',
  } as never);

/** Requests: wanted, allocated, actual; and the conditions of the resize. */
const stateOf = async (plane: AgentPlane, name = 'pod', resource = 'cpu'): Promise<string> => {
  const {spec, status} = await podNamed(plane, name);
  const [own] = status?.containerStatuses ?? [];
  const conditions = (status?.conditions ?? []).filter(({type}) => type.startsWith('PodResize'));
  const texts = conditions.map(({type, reason = '', observedGeneration}) => ` ${type}${reason && ` ${reason}`} ${observedGeneration}`);
  const requested = spec?.containers[0]?.resources?.requests?.[resource];
  return `${requested} ${own?.allocatedResources?.[resource]} ${own?.resources?.requests?.[resource]}${texts.join('')}`;
};

const resizesOf = async (plane: AgentPlane, name = 'pod'): Promise<string[]> =>
  (await eventsOf(plane, name)).filter(event => event.startsWith('Resize')).map(event => event.replace(/: .*"generation":/, ' '));

test('a running pod is resized: its group first grows and at last shrinks, and its status shows what it runs with', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  await using _ = await anAgent(plane, runtime, {configs: withResources, cgroups: groups(runtime.calls)});
  await run(plane, 'pod', asking({cpu: '500m', memory: '64Mi'}, {cpu: '1', memory: '128Mi'}));
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '500m 500m 500m');
  runtime.calls.length = 0;
  await resizeTo(plane, {cpu: '1', memory: '100Mi'}, {cpu: '2', memory: '256Mi'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '1 1 1');
  t.deepEqual(runtime.calls.splice(0), [
    'group memoryBytes:268435456',
    'update app 0 shares=512 quota=100000 memory=268435456',
    'group cpuQuota:200000,cpuPeriod:100000',
    'group cpuShares:1024',
    'update app 0 shares=1024 quota=200000 memory=268435456',
  ]);
  await resizeTo(plane, {cpu: '250m', memory: '32Mi'}, {cpu: '500m', memory: '64Mi'});
  await plane.clock.advance(1_000);
  t.deepEqual(runtime.calls, [
    'update app 0 shares=1024 quota=200000 memory=67108864',
    'group memoryBytes:67108864',
    'update app 0 shares=256 quota=50000 memory=67108864',
    'group cpuShares:256',
    'group cpuQuota:50000,cpuPeriod:100000',
  ]);
  const {status} = await podNamed(plane);
  t.deepEqual(status?.containerStatuses?.[0]?.resources, {
    requests: {cpu: '250m', memory: '32Mi'},
    limits: {cpu: '500m', memory: '64Mi'},
  });
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  t.deepEqual(await resizesOf(plane), ['ResizeStarted 2}', 'ResizeCompleted 2}', 'ResizeStarted 3}', 'ResizeCompleted 3}']);
});

test('a container that cannot be resized while it runs is started again with its new resources', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  await using _ = await anAgent(plane, runtime, {configs: withResources, cgroups: groups(runtime.calls)});
  const resizePolicy = [{resourceName: 'memory', restartPolicy: 'RestartContainer'}];
  await run(plane, 'pod', asking({memory: '64Mi'}, {memory: '64Mi'}, {resizePolicy}));
  await plane.clock.advance(1_000);
  runtime.calls.length = 0;
  await resizeTo(plane, {memory: '128Mi'}, {memory: '128Mi'});
  await plane.clock.advance(2_000);
  t.deepEqual(runtime.calls, ['stop app 0 30', 'group memoryBytes:134217728', 'create app 1', 'start app 1']);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  t.is(await stateOf(plane, 'pod', 'memory'), '128Mi 128Mi 128Mi');
  t.true((await eventsOf(plane, 'pod')).includes('Killing: Container app resize requires restart'));
});

test('a resize waits for room, and is given up for good if there can be none', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  await using _ = await anAgent(plane, runtime, {configs: withResources});
  await run(plane, 'pod', asking({cpu: '500m'}));
  await run(plane, 'other', asking({cpu: '1'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '1500m'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '1500m 500m 500m PodResizePending Deferred 2');
  t.is(
    (await podNamed(plane)).status?.conditions?.find(({type}) => type === 'PodResizePending')?.message,
    "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
  );
  await resizeTo(plane, {cpu: '3'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '3 500m 500m PodResizePending Infeasible 3');
  await resizeTo(plane, {cpu: '1800m'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '1800m 500m 500m PodResizePending Deferred 4');
  // A pod that shrinks makes room at once.
  await resizeTo(plane, {cpu: '100m'}, {}, 'other');
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '1800m 1800m 1800m');
  await resizeTo(plane, {cpu: '2'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '2 1800m 1800m PodResizePending Deferred 5');
  await podsOf(plane).delete('other', {namespace: 'default', gracePeriodSeconds: 1});
  await plane.clock.advance(5_000);
  t.is(await stateOf(plane), '2 2 2');
  t.deepEqual(
    (await resizesOf(plane)).map(event => event.replace(/,.*|}/, '')),
    [
      'ResizeDeferred 2',
      'ResizeInfeasible 3',
      'ResizeDeferred 4',
      'ResizeStarted 4',
      'ResizeCompleted 4',
      'ResizeDeferred 5',
      'ResizeStarted 5',
      'ResizeCompleted 5',
    ],
  );
});

test('a resize that is taken back is not pending any more', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  await using _ = await anAgent(plane, runtime, {configs: withResources});
  await run(plane, 'pod', asking({cpu: '500m'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '3'});
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '500m'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane), '500m 500m 500m');
  t.false(runtime.calls.some(call => call.startsWith('update')));
});

test('admission counts what is allocated to other pods', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  await using _ = await anAgent(plane, runtime, {configs: withResources});
  await run(plane, 'pod', asking({cpu: '500m'}));
  await run(plane, 'second', asking({cpu: '500m'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '1600m'});
  await run(plane, 'third', asking({cpu: '1'}));
  await plane.clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'third')), 'Running: app ready');
  t.is(await stateOf(plane), '1600m 500m 500m PodResizePending Deferred 2');
});

test('pods that were deleted by force do not count, though they still run', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock, () => ({stopsAfter: Infinity}));
  await using _ = await anAgent(plane, runtime, {configs: withResources});
  await run(plane, 'pod', asking({cpu: '500m'}));
  await run(plane, 'other', asking({cpu: '1500m'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '1'});
  await plane.clock.advance(500);
  await podsOf(plane).delete('other', {namespace: 'default', gracePeriodSeconds: 0});
  await plane.clock.advance(500);
  t.is(await stateOf(plane), '1 1 1');
  await run(plane, 'third', asking({cpu: '1'}));
  await plane.clock.advance(500);
  t.is(describePod(await podNamed(plane, 'third')), 'Running: app ready');
});

test('what is allocated outlives the agent, and a resize goes on after it', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  const states = {allocated: new ResourceState(), actuated: new ResourceState()};
  const first = await anAgent(plane, runtime, {configs: withResources, states});
  await run(plane, 'pod', asking({cpu: '500m'}));
  await run(plane, 'other', asking({cpu: '1'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '1500m'});
  await plane.clock.advance(1_000);
  await first[Symbol.asyncDispose]();
  const before = (await podNamed(plane)).status?.conditions;
  runtime.calls.length = 0;

  await using _ = await anAgent(plane, runtime, {configs: withResources, states});
  await plane.clock.advance(1_000);
  t.deepEqual((await podNamed(plane)).status?.conditions, before);
  t.deepEqual(runtime.calls, []);
  await podsOf(plane).delete('other', {namespace: 'default', gracePeriodSeconds: 0});
  await plane.clock.advance(5_000);
  t.is(await stateOf(plane), '1500m 1500m 1500m');
  t.true(runtime.calls.includes('update app 0 shares=1536 quota=0 memory=max'));
});

test('a resize that fails is reported and tried again', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  let usage = 200 * 2 ** 20;
  const cgroups = groups(runtime.calls, () => usage);
  await using _ = await anAgent(plane, runtime, {configs: withResources, cgroups});
  await run(plane, 'pod', asking({memory: '256Mi'}, {memory: '256Mi'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {memory: '128Mi'}, {memory: '128Mi'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane, 'pod', 'memory'), '128Mi 128Mi 256Mi PodResizeInProgress Error 2');
  t.false(runtime.calls.some(call => call.startsWith('update')));
  t.is(
    (await podNamed(plane)).status?.conditions?.find(({type}) => type === 'PodResizeInProgress')?.message,
    'cannot decrease memory limits: [attempting to set pod memory limit (134217728) below current usage (209715200), attempting to set container "app" memory limit (134217728) below current usage (209715200)]',
  );
  usage = 100 * 2 ** 20;
  await plane.clock.advance(20_000);
  t.is(await stateOf(plane, 'pod', 'memory'), '128Mi 128Mi 128Mi');
  // The pod is looked at twice at once: for its new spec, and for what was allocated.
  runtime.updateErrors = [new Error('no such group'), new Error('no such group')];
  await resizeTo(plane, {memory: '256Mi'}, {memory: '256Mi'});
  await plane.clock.advance(1_000);
  t.is(await stateOf(plane, 'pod', 'memory'), '256Mi 256Mi 128Mi PodResizeInProgress Error 3');
  await plane.clock.advance(20_000);
  t.is(await stateOf(plane, 'pod', 'memory'), '256Mi 256Mi 256Mi');
  t.deepEqual(
    (await resizesOf(plane)).map(event => event.replace(/,.*|}/, '')),
    ['ResizeStarted 2', 'ResizeError 2', 'ResizeCompleted 2', 'ResizeStarted 3', 'ResizeError 3', 'ResizeCompleted 3'],
  );
});

test('the resources of a pod itself are resized where the node can do that', async t => {
  const gates = 'NodeDeclaredFeatures=true,InPlacePodLevelResourcesVerticalScaling=true';
  await using plane = await aPlane({
    controllers: ['serviceaccount-controller'],
    apiserverArgs: ['--authorization-mode=Node,RBAC', `--feature-gates=${gates}`],
  });
  await createNode(plane);
  const declared = {status: {declaredFeatures: ['InPlacePodLevelResourcesVerticalScaling']}};
  await plane.client().resource(kinds.nodes).patch(nodeName, 'merge', declared, {subresource: 'status'});
  await using runtime = new MemoryRuntime(plane.clock);
  const cgroups = groups(runtime.calls);
  await using _ = await anAgent(plane, runtime, {configs: withResources, cgroups, resizeNode: {podLevel: true}});
  await run(plane, 'pod', {...asking({cpu: '100m'}), resources: {requests: {cpu: '500m'}, limits: {cpu: '1'}}});
  await plane.clock.advance(1_000);
  runtime.calls.length = 0;
  const resources = {requests: {cpu: '600m'}, limits: {cpu: '1500m'}};
  await podsOf(plane).patch('pod', 'merge', {spec: {resources}}, {namespace: 'default', subresource: 'resize'});
  await plane.clock.advance(2_000);
  t.deepEqual(runtime.calls, [
    'group cpuQuota:150000,cpuPeriod:100000',
    'group cpuShares:614',
    'update app 0 shares=102 quota=150000 memory=max',
  ]);
  const {status} = await podNamed(plane);
  t.deepEqual((status as {readonly resources?: unknown}).resources, {requests: {cpu: '600m'}, limits: {cpu: '1500m'}});
  t.deepEqual(await resizesOf(plane), ['ResizeStarted 2}', 'ResizeCompleted 2}']);
});

test('resizes are counted by what is asked for, refused, accepted and done', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock);
  const registry = new MetricsRegistry();
  await using _ = await anAgent(plane, runtime, {configs: withResources, metrics: agentMetrics(registry, plane.naming)});
  const shown = async (): Promise<string[]> =>
    (await registry.exposition()).body
      .split('\n')
      .filter((line: string) => /resizes|resize_duration_milliseconds_count/.test(line) && !line.startsWith('#'));
  await run(plane, 'pod', asking({cpu: '500m'}));
  await run(plane, 'other', asking({cpu: '1'}));
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '3'});
  await plane.clock.advance(1_000);
  await resizeTo(plane, {cpu: '1500m'});
  await plane.clock.advance(1_000);
  t.true((await shown()).includes('platlet_pod_pending_resizes{reason="deferred"} 1'));
  await podsOf(plane).delete('other', {namespace: 'default', gracePeriodSeconds: 1});
  await plane.clock.advance(5_000);
  t.deepEqual((await shown()).sort(), [
    'platlet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="decrease"} 1',
    'platlet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="increase"} 1',
    'platlet_pod_deferred_accepted_resizes_total{retry_trigger="pods_removed"} 1',
    'platlet_pod_in_progress_resizes 0',
    'platlet_pod_infeasible_resizes_total{reason_detail="insufficient_node_allocatable"} 1',
    'platlet_pod_resize_duration_milliseconds_count{success="true"} 1',
  ]);
});
