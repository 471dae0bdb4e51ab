import test from 'ava';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ManagerRefusal, Reserved} from '#src/platlet/pod/admission/managers.js';
import {MountTimeout, type Images} from '#src/platlet/pod/ports.js';
import {eventsOf} from '#test/simulation/environment.js';
import {anAgent, aPlaneWithNode, describePod, podNamed, podsOf, run, timeline, type AgentPlane} from './agent.js';
import {MemoryRuntime, type Program} from './memory-runtime.js';
import {noVolumes, presentImages} from './ports.js';

/** A runtime whose containers have programs by their names. */
const running = ({clock}: AgentPlane, programs: Record<string, Program> = {}) => new MemoryRuntime(clock, name => programs[name] ?? {});

test('a pod is run in a sandbox, and its status and events say so', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);

  const {status} = await podNamed(plane);
  t.like(status, {
    phase: 'Running',
    hostIP: '192.168.0.1',
    podIP: '10.1.0.1',
    qosClass: 'BestEffort',
    observedGeneration: 1,
    containerStatuses: [{name: 'app', ready: true, started: true, image: 'app', imageID: 'app@sha256:0', lastState: {}}],
  });
  t.regex(status!.containerStatuses![0]!.containerID!, /^memory:\/\/app-0-/);
  t.deepEqual(
    status?.conditions?.map(({type, status: text}) => `${type} ${text}`),
    ['PodReadyToStartContainers True', 'Initialized True', 'Ready True', 'ContainersReady True', 'PodScheduled True'],
  );
  t.deepEqual(await eventsOf(plane, 'pod'), ['Created: Container created', 'Started: Container started']);
  t.deepEqual(runtime.calls, ['sandbox pod 0', 'create app 0', 'start app 0']);
});

test('volumes that cannot be used are an event of their pod, and not that they take too long', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const errors = [new MountTimeout('too late'), new Error('unmounted volumes=[v]: PVC is not bound')];
  const volumes = {
    ...noVolumes(),
    async mount() {
      const error = errors.shift();
      if (error) throw error;
    },
  };
  await using _ = await anAgent(plane, runtime, {volumes});
  await run(plane);
  await plane.clock.advance(9_000);
  t.deepEqual(await eventsOf(plane, 'pod'), []);
  await plane.clock.advance(10_000);
  const failure = 'FailedMount: Unable to attach or mount volumes: unmounted volumes=[v]: PVC is not bound';
  t.deepEqual(await eventsOf(plane, 'pod'), [failure]);
  await plane.clock.advance(16_000);
  t.is((await podNamed(plane)).status?.phase, 'Running');
});

test('init containers run one after the other, sidecars beside what follows, and a pod that is done is over', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane, {
    first: {runsFor: 1_000},
    second: {runsFor: 1_000},
    app: {runsFor: 1_000},
    beside: {stopsAfter: 500},
  });
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {
    restartPolicy: 'Never',
    initContainers: [
      {name: 'first', image: 'x'},
      {name: 'beside', image: 'x', restartPolicy: 'Always'},
      {name: 'second', image: 'x'},
    ],
  });
  t.deepEqual(await timeline(plane, 'pod', [500, 1_500, 2_500, 3_200, 4_000]), {
    500: 'Pending: first running, beside PodInitializing, second PodInitializing, app PodInitializing',
    1_500: 'Pending: first Completed(0), beside ready, second running, app PodInitializing',
    2_500: 'Running: first Completed(0), beside ready, second Completed(0), app ready',
    3_200: 'Running: first Completed(0), beside ready, second Completed(0), app Completed(0)',
    4_000: 'Succeeded: first Completed(0), beside Error(143), second Completed(0), app Completed(0)',
  });
});

test('a container that fails is started again at once, and then later and later', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane, {app: {runsFor: 1_000, exitCodes: [1]}});
  await using _ = await anAgent(plane, runtime);
  const {metadata: {uid} = {}} = await run(plane);
  t.deepEqual(await timeline(plane, 'pod', [500, 1_500, 2_500, 11_900, 12_500, 13_500, 32_500, 33_500]), {
    500: 'Running: app ready',
    1_500: 'Running: app ready after 1',
    2_500: 'Running: app CrashLoopBackOff after 1',
    11_900: 'Running: app CrashLoopBackOff after 1',
    12_500: 'Running: app ready after 2',
    13_500: 'Running: app CrashLoopBackOff after 2',
    32_500: 'Running: app CrashLoopBackOff after 2',
    33_500: 'Running: app ready after 3',
  });
  t.true((await eventsOf(plane, 'pod')).includes(`BackOff: Back-off restarting failed container app in pod pod_default(${uid})`));
  const {state, lastState} = (await podNamed(plane)).status!.containerStatuses![0]!;
  t.truthy(state?.running);
  t.like(lastState, {terminated: {exitCode: 1}});
});

test('a deleted pod is stopped within its grace period, shows its end, and goes', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane, {stubborn: {stopsAfter: Infinity}, app: {stopsAfter: 1_000}});
  await using _ = await anAgent(plane, runtime);
  const finalizers = ['example.com/look'];
  await run(plane, 'pod', {}, {finalizers});
  await run(plane, 'stubborn', {containers: [{name: 'stubborn', image: 'x'}], terminationGracePeriodSeconds: 20}, {finalizers});
  await plane.clock.advance(1_000);
  for (const name of ['pod', 'stubborn']) await podsOf(plane).delete(name, {namespace: 'default'});
  await plane.clock.advance(500);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  await plane.clock.advance(1_000);
  const ended = await podNamed(plane);
  t.is(describePod(ended), 'Failed: app Error(143)');
  t.is(ended.metadata?.deletionGracePeriodSeconds, 0);
  t.true((await eventsOf(plane, 'pod')).includes('Killing: Stopping container app'));
  t.is(describePod(await podNamed(plane, 'stubborn')), 'Running: stubborn ready');

  await plane.clock.advance(3_000);
  await podsOf(plane).delete('stubborn', {namespace: 'default', gracePeriodSeconds: 5});
  await plane.clock.advance(4_500);
  t.is(describePod(await podNamed(plane, 'stubborn')), 'Running: stubborn ready');
  await plane.clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'stubborn')), 'Failed: stubborn Error(137)');
  t.deepEqual(
    runtime.calls.filter(call => call.startsWith('stop stubborn')),
    ['stop stubborn 0 20', 'stop stubborn 0 5'],
  );
});

test('a pod that is removed by force is ended all the same', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  await plane.clock.advance(3_000);
  const [pod] = await runtime.pods();
  t.true(pod!.containers.every(({state}) => state === 'exited'));
  t.true(pod!.sandboxes.every(({isReady}) => !isReady));
  t.true(runtime.calls.includes('stop app 0 2'));
});

test('a pod is active for so long only', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {activeDeadlineSeconds: 5});
  await plane.clock.advance(4_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  await plane.clock.advance(3_000);
  const pod = await podNamed(plane);
  t.is(describePod(pod), 'Failed DeadlineExceeded: app Error(143)');
  t.is(pod.status?.message, 'Pod was active on the node longer than the specified deadline');
});

test('a node refuses a pod that does not fit, once', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {containers: [{name: 'app', image: 'x', resources: {requests: {cpu: '3'}}}]});
  await plane.clock.advance(30_000);
  const {status} = await podNamed(plane);
  t.like(status, {
    phase: 'Failed',
    reason: 'OutOfcpu',
    message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000",
  });
  t.deepEqual(await eventsOf(plane, 'pod'), ["OutOfcpu: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"]);
  t.deepEqual(runtime.calls, []);
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await plane.clock.advance(3_000);
  await t.throwsAsync(podNamed(plane));
});

test('a node that lacks memory refuses pods that ask for none, until there is enough again', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using agent = await anAgent(plane, runtime);
  agent.condition.setPressure('MemoryPressure', true);
  await run(plane, 'first');
  await plane.clock.advance(1_000);
  t.like((await podNamed(plane, 'first')).status, {phase: 'Failed', reason: 'Evicted'});
  agent.condition.setPressure('MemoryPressure', false);
  await run(plane, 'second');
  await plane.clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'second')), 'Running: app ready');
});

test('a pod waits for its devices, the pods after it wait for it, and one that gets none is refused', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const answers = new Map<string, (refusal: ManagerRefusal | undefined) => void>();
  const managers = {
    reserve: ({metadata}: Frozen<Pod>): Reserved =>
      metadata?.name === 'plain' ? undefined : new Promise(resolve => answers.set(metadata?.name ?? '', resolve)),
    heldBeside: () => new Map(),
  };
  await using _ = await anAgent(plane, runtime, {managers});
  for (const name of ['first', 'gone', 'second', 'plain']) await run(plane, name);
  await plane.clock.advance(1_000);
  t.deepEqual([...answers.keys()], ['first']);
  await podsOf(plane).delete('gone', {namespace: 'default', gracePeriodSeconds: 0});
  await plane.clock.advance(1_000);
  t.deepEqual(runtime.calls, []);

  answers.get('first')!(undefined);
  await plane.clock.advance(1_000);
  t.deepEqual([...answers.keys()], ['first', 'second']);
  t.is(describePod(await podNamed(plane, 'first')), 'Running: app ready');

  answers.get('second')!({is: 'failed', error: 'rpc error: code = Unknown desc = out of order'});
  await plane.clock.advance(1_000);
  t.like((await podNamed(plane, 'second')).status, {
    phase: 'Failed',
    reason: 'UnexpectedAdmissionError',
    message: 'Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = out of order, which is unexpected',
  });
  t.is(describePod(await podNamed(plane, 'plain')), 'Running: app ready');
});

test('secrets for the images of a pod are looked for before its containers start', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  const seen: string[] = [];
  const images: Images = {
    prepare: async ({metadata}) => void seen.push(`prepare ${metadata?.name}`),
    async ensure(pod, container, signal) {
      seen.push(`ensure ${pod.metadata?.name}`);
      return presentImages.ensure(pod, container, signal);
    },
  };
  await using _ = await anAgent(plane, runtime, {images});
  await run(plane);
  await plane.clock.advance(1_000);
  t.deepEqual(seen.slice(0, 2), ['prepare pod', 'ensure pod']);
});

test('a critical pod takes the place of another one', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  const cpu = (requests: string) => [{name: 'app', image: 'x', resources: {requests: {cpu: requests}}}];
  await run(plane, 'usual', {containers: cpu('1500m')});
  await plane.clock.advance(1_000);
  await run(plane, 'critical', {containers: cpu('1500m'), priorityClassName: 'system-node-critical'}, {namespace: 'default'});
  await plane.clock.advance(5_000);
  const usual = await podNamed(plane, 'usual');
  t.is(describePod(usual), 'Failed Preempting: app Error(143)');
  t.is(usual.status?.conditions?.find(({type}) => type === 'DisruptionTarget')?.reason, 'TerminationByPlatlet');
  t.is(describePod(await podNamed(plane, 'critical')), 'Running: app ready');
});

test('what keeps a container from starting is its reason to wait, and it is tried again', async t => {
  await using plane = await aPlaneWithNode();
  const programs: Record<string, Program> = {app: {createError: 'no space'}};
  await using runtime = running(plane, programs);
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);
  const waiting = (await podNamed(plane)).status!.containerStatuses![0]!.state!.waiting;
  t.like(waiting, {reason: 'CreateContainerError', message: 'no space'});
  t.deepEqual(await eventsOf(plane, 'pod'), ['Failed: Error: no space']);
  programs['app'] = {startError: 'no such file'};
  await plane.clock.advance(20_000);
  t.like((await podNamed(plane)).status!.containerStatuses![0]!.state!.waiting, {reason: 'RunContainerError', message: 'no such file'});
  programs['app'] = {};
  await plane.clock.advance(20_000);
  t.regex(describePod(await podNamed(plane)), /^Running: app ready/);
});

test('a sandbox that cannot be made is tried again', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  runtime.sandboxErrors = [new Error('no network')];
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);
  t.deepEqual(await eventsOf(plane, 'pod'), ['FailedCreatePodSandBox: Failed to create pod sandbox: no network']);
  await plane.clock.advance(15_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
});

test('a pod waits for the network of its node, unless it uses that of the host', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  let error: string | undefined = 'cni plugin not initialized';
  await using _ = await anAgent(plane, runtime, {networkError: () => error});
  await run(plane);
  await run(plane, 'host', {hostNetwork: true});
  await plane.clock.advance(1_500);
  t.is(describePod(await podNamed(plane)), 'Pending: app ContainerCreating');
  t.true((await eventsOf(plane, 'pod'))[0]!.includes('NetworkNotReady: network is not ready: cni plugin not initialized'));
  t.like((await podNamed(plane, 'host')).status, {phase: 'Running', podIP: '192.168.0.1'});
  error = undefined;
  await plane.clock.advance(2_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
});

test('an ephemeral container is started in a pod that runs', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);
  await podsOf(plane).patch(
    'pod',
    'strategic',
    {spec: {ephemeralContainers: [{name: 'look', image: 'x', targetContainerName: 'app'}]}},
    {namespace: 'default', subresource: 'ephemeralcontainers'},
  );
  await plane.clock.advance(1_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready, look running');
});

test('a changed image restarts a container', async t => {
  await using plane = await aPlaneWithNode();
  await using runtime = running(plane);
  await using _ = await anAgent(plane, runtime);
  await run(plane);
  await plane.clock.advance(1_000);
  await podsOf(plane).patch('pod', 'strategic', {spec: {containers: [{name: 'app', image: 'new'}]}}, {namespace: 'default'});
  await plane.clock.advance(1_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  t.true((await eventsOf(plane, 'pod')).includes('Killing: Container app definition changed, will be restarted'));
});
