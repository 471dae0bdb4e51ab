import {join} from 'node:path';
import test from 'ava';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Reserved} from '#src/platlet/pod/admission/managers.js';
import {aWholeAgent, memoryMachine, type MemoryMachine} from './flags/whole-agent.js';
import {RecordingRuntime} from './flags/recording-runtime.js';
import {FakeDevicePlugin} from './device-manager/fake-device-plugin.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import {eventsOf} from '#test/simulation/environment.js';
import {anAgent, aPlaneForNodes, aPlaneWithNode, describePod, podNamed, podsOf, run, type AgentPlane} from './agent.js';
import {MemoryRuntime, type Program} from './memory-runtime.js';
import {noCgroups, noOutput, noVolumes} from './ports.js';

const running = ({clock}: AgentPlane, programs: Record<string, Program> = {}) => new MemoryRuntime(clock, name => programs[name] ?? {});

test('an agent that is started again goes on with the containers that run', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const first = await anAgent(plane, runtime);
  await run(plane, 'pod', {containers: [{name: 'app', image: 'x', readinessProbe: {exec: {command: ['check']}, periodSeconds: 100}}]});
  await run(plane, 'plain');
  await plane.clock.advance(2_000);
  const before = await podNamed(plane, 'plain');
  await first[Symbol.asyncDispose]();
  const calls = [...runtime.calls];
  await plane.clock.advance(60_000);

  await using _ = await anAgent(plane, runtime);
  await plane.clock.advance(10_000);
  const after = await podNamed(plane, 'plain');
  t.deepEqual(after.status?.containerStatuses, before.status?.containerStatuses);
  t.deepEqual(
    runtime.calls.filter(call => !call.startsWith('exec')),
    calls.filter(call => !call.startsWith('exec')),
  );
});

test('a container that ended while there was no agent is started again with the next count', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const first = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(2_000);
  await first[Symbol.asyncDispose]();
  runtime.kill('app', 3);

  await using _ = await anAgent(plane, runtime);
  await plane.clock.advance(1_000);
  const pod = await podNamed(plane);
  t.is(describePod(pod), 'Running: app ready after 1');
  t.like(pod.status?.containerStatuses?.[0]?.lastState, {terminated: {exitCode: 3}});
});

test('what was deleted while there was no agent is ended when it comes back, with its own hook and grace period', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane, {app: {stopsAfter: Infinity, commands: {finish: [0, '']}}});
  const first = await anAgent(plane, runtime);
  await run(plane, 'pod', {
    terminationGracePeriodSeconds: 7,
    containers: [{name: 'app', image: 'app', lifecycle: {preStop: {exec: {command: ['finish']}}}}],
  });
  await plane.clock.advance(2_000);
  await first[Symbol.asyncDispose]();
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});

  await using _ = await anAgent(plane, runtime);
  await plane.clock.advance(20_000);
  t.true(runtime.calls.includes('stop app 0 7'));
  t.true(runtime.calls.includes('exec app finish'));
  const [pod] = await runtime.pods();
  t.true(pod!.containers.every(({state}) => state === 'exited'));
});

test('nothing is ended before every source has delivered', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const first = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(2_000);
  await first[Symbol.asyncDispose]();
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});

  let deliver = (): void => {};
  await using _ = await anAgent(plane, runtime, {sources: [{name: 'file', start: to => void (deliver = () => to([]))}]});
  await plane.clock.advance(30_000);
  t.false(runtime.calls.some(call => call.startsWith('stop')));
  deliver();
  await plane.clock.advance(5_000);
  t.true(runtime.calls.some(call => call.startsWith('stop app')));
});

test('a sandbox that dies is replaced, and its pod begins anew', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);
  const [{sandboxes: [sandbox] = []} = {}] = await runtime.pods();
  await runtime.stopSandbox(sandbox!.id);
  await plane.clock.advance(3_000);
  const pod = await podNamed(plane);
  t.is(describePod(pod), 'Running: app ready after 1');
  t.true((await eventsOf(plane, 'pod')).includes('SandboxChanged: Pod sandbox changed, it will be killed and re-created.'));
  t.true(runtime.calls.includes('sandbox pod 1'));
});

test('the status of an ended pod is written before its volumes and cgroup go, and these before its object', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const calls: string[] = [];
  let isGone = false;
  const volumes = {...noVolumes(calls), release: () => Promise.resolve(isGone)};
  await using _ = await anAgent(plane, runtime, {volumes, cgroups: noCgroups(calls)});
  await run(plane);
  await plane.clock.advance(1_000);
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await plane.clock.advance(5_000);
  t.is(describePod(await podNamed(plane)), 'Failed: app Error(143)');
  t.false(calls.includes('remove cgroup'));
  isGone = true;
  await plane.clock.advance(1_000);
  t.true(calls.includes('remove cgroup'));
  await t.throwsAsync(podNamed(plane));
});

test('ended containers are removed but for the last run of each, and all of those whose pods are gone', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane, {app: {runsFor: 1_000, exitCodes: [1, 1, 1, 0]}});
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {restartPolicy: 'OnFailure'});
  await plane.clock.advance(130_000);
  const [pod] = await runtime.pods();
  t.deepEqual(
    pod!.containers.map(({attempt}) => attempt),
    [3],
  );
  t.is(describePod(await podNamed(plane)), 'Succeeded: app Completed(0) after 3');
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await plane.clock.advance(130_000);
  t.deepEqual(await runtime.pods(), []);
});

test('the runs of a container before its last one are removed with their logs while their pod goes on', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane, {app: {runsFor: 1_000, exitCodes: [1]}});
  const withoutLogs: string[] = [];
  const removeLogs = async ({name, attempt}: ContainerInstance): Promise<void> => void withoutLogs.push(`${name} ${attempt}`);
  await using _ = await anAgent(plane, runtime, {output: {...noOutput, removeLogs}});
  await run(plane, 'pod', {restartPolicy: 'Always'});
  await plane.clock.advance(50_000);
  const attempts = (await runtime.pods())[0]!.containers.map(({attempt}) => attempt);
  t.deepEqual(attempts, [3]);
  t.deepEqual(withoutLogs, ['app 0', 'app 1', 'app 2']);
});

test('a pod that is deleted while a container of it is stopped or started does not wait for that', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = new MemoryRuntime(plane.clock, name => (name === 'app' ? {stopsAfter: Infinity} : {}));
  const images = {
    ensure: (_: unknown, {image = ''}: {readonly image?: string}) =>
      image === 'slow' ? new Promise<never>(() => {}) : Promise.resolve({ref: image}),
  };
  await using _ = await anAgent(plane, runtime, {images});
  await run(plane);
  await run(plane, 'slow', {containers: [{name: 'slow', image: 'slow'}]});
  await plane.clock.advance(1_000);
  await podsOf(plane).patch('pod', 'strategic', {spec: {containers: [{name: 'app', image: 'new'}]}}, {namespace: 'default'});
  await plane.clock.advance(2_000);
  t.true(runtime.calls.includes('stop app 0 30'));
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 3});
  await podsOf(plane).delete('slow', {namespace: 'default'});
  await plane.clock.advance(1_000);
  await t.throwsAsync(podNamed(plane, 'slow'));
  await plane.clock.advance(4_000);
  await t.throwsAsync(podNamed(plane));
});

const gpu = 'vendor.example/gpu';

/** Resolves once it is true. What plugins send arrives in real time. */
const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise(resolve => setImmediate(resolve));
};

/** Runs two pods with a device each by an agent with a plugin, and stops both. */
const devicesInUse = async (plane: AgentPlane, host: MemoryMachine, runtime: RecordingRuntime): Promise<void> => {
  await using _ = await aWholeAgent([], {plane, host, runtime});
  const folder = join(host.folders.root, 'device-plugins');
  await using plugin = await new FakeDevicePlugin(join(folder, 'gpu.sock'), [['zero'], ['one']]).listen();
  await plugin.register(join(folder, 'kubelet.sock'), plane.clock, gpu);
  const nodes = plane.client().resource(kinds.nodes);
  await until(async () => {
    await plane.clock.advance(10_000);
    return (await nodes.get('node')).status?.allocatable?.[gpu] === '2';
  });
  const containers = [{name: 'app', image: 'app', resources: {limits: {[gpu]: '1'}}}];
  for (const name of ['one', 'two']) await run(plane, name, {automountServiceAccountToken: false, containers});
  await until(async () => {
    await plane.clock.advance(1_000);
    return (await Promise.all(['one', 'two'].map(name => podNamed(plane, name)))).every(({status}) => status?.phase === 'Running');
  });
};

test('pods with devices go on when an agent starts again before the plugin does', async t => {
  await using plane = await aPlaneForNodes();
  using host = memoryMachine();
  const runtime = new RecordingRuntime(plane.clock);
  await devicesInUse(plane, host, runtime);
  const calls = [...runtime.calls];

  await using _ = await aWholeAgent([], {plane, host, runtime});
  await plane.clock.advance(20_000);
  for (const name of ['one', 'two']) t.is(describePod(await podNamed(plane, name)), 'Running: app ready', name);
  t.deepEqual(runtime.calls, calls);
});

test('pods with devices are refused after a reboot on which the plugin does not come back', async t => {
  await using plane = await aPlaneForNodes();
  using host = memoryMachine();
  await devicesInUse(plane, host, new RecordingRuntime(plane.clock));

  await using _ = await aWholeAgent([], {plane, host, runtime: new RecordingRuntime(plane.clock)});
  await plane.clock.advance(20_000);
  for (const name of ['one', 'two'])
    t.like((await podNamed(plane, name)).status, {
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message: `Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${gpu}, which is unexpected`,
    });
});

test('a pod that runs, and whose resources the node has no longer, is ended as refused', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const first = await anAgent(plane, runtime);
  for (const name of ['kept', 'lost']) await run(plane, name, {terminationGracePeriodSeconds: 0});
  await plane.clock.advance(2_000);
  await first[Symbol.asyncDispose]();

  const reserve = ({metadata}: Frozen<Pod>): Reserved => (metadata?.name === 'lost' ? {is: 'failed', error: 'not enough cpus'} : undefined);
  await using _ = await anAgent(plane, runtime, {managers: {reserve, heldBeside: () => new Map()}});
  await plane.clock.advance(10_000);
  t.is(describePod(await podNamed(plane, 'kept')), 'Running: app ready');
  t.like((await podNamed(plane, 'lost')).status, {
    phase: 'Failed',
    reason: 'UnexpectedAdmissionError',
    message: 'Pod was rejected: Allocate failed due to not enough cpus, which is unexpected',
  });
  const states = (await runtime.pods()).map(({pod, containers}) => `${pod.name} ${containers.map(({state}) => state).join()}`);
  t.deepEqual(states.sort(), ['kept running', 'lost exited']);
});

test('the pods of a node are known once those that it had are admitted, also if that takes time', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const first = await anAgent(plane, runtime);
  for (const name of ['one', 'two']) await run(plane, name);
  await plane.clock.advance(2_000);
  await first[Symbol.asyncDispose]();

  const seen: string[] = [];
  const known = {sources: {isReady: false}};
  let decide: (reserved: undefined) => void = () => {};
  const reserve = ({metadata}: Frozen<Pod>): Reserved => {
    seen.push(`${metadata?.name} ${directory.sources.isReady}`);
    return seen.length > 1 ? undefined : new Promise(resolve => (decide = resolve));
  };
  let directory: {readonly sources: {readonly isReady: boolean}} = known;
  await using agent = await anAgent(plane, runtime, {managers: {reserve, heldBeside: () => new Map()}});
  ({directory} = agent.pods);
  t.false(directory.sources.isReady);
  decide(undefined);
  await plane.clock.advance(1_000);
  t.deepEqual(seen, ['one false', 'two false']);
  t.true(directory.sources.isReady);
});
