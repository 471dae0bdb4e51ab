import test from 'ava';
import {eventsOf} from '#test/simulation/environment.js';
import {anAgent, aPlaneWithNode, describePod, podNamed, podsOf, run, timeline, type AgentPlane} from './agent.js';
import {MemoryRuntime, type Program} from './memory-runtime.js';

/** A runtime with one program, in which the commands `live`, `ready` and `started` succeed as they are told. */
const probed = ({clock}: AgentPlane, program: Program = {}) => {
  const healthy = {live: true, ready: true, started: true};
  const command = (name: keyof typeof healthy) => () => [healthy[name] ? 0 : 1, `${name} said ${healthy[name] ? 'yes' : 'no'}`] as const;
  const commands = {live: command('live'), ready: command('ready'), started: command('started')};
  return {healthy, runtime: new MemoryRuntime(clock, () => ({...program, commands: {...program.commands, ...commands}}))};
};

const by = (command: string, more: object = {}) => ({exec: {command: [command]}, periodSeconds: 2, failureThreshold: 2, ...more});
const container = (fields: object) => ({containers: [{name: 'app', image: 'x', ...fields}]});

test('a container whose liveness probe fails is restarted', async t => {
  await using plane = await aPlaneWithNode();
  const {healthy, runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', container({livenessProbe: by('live', {terminationGracePeriodSeconds: 3})}));
  await plane.clock.advance(10_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  healthy.live = false;
  await plane.clock.advance(2_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  await plane.clock.advance(3_000);
  healthy.live = true;
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  const events = await eventsOf(plane, 'pod');
  t.true(events.includes('Unhealthy: Liveness probe failed: live said no'));
  t.true(events.includes('Killing: Container app failed liveness probe, will be restarted'));
  t.true(runtime.calls.includes('stop app 0 3'));
});

test('a container that is killed for its liveness probe again and again backs off', async t => {
  await using plane = await aPlaneWithNode();
  const {healthy, runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  healthy.live = false;
  await run(
    plane,
    'pod',
    container({livenessProbe: by('live', {failureThreshold: 1, periodSeconds: 1, terminationGracePeriodSeconds: 1})}),
  );
  // 0, 10, 20, 40, 80 and 160 seconds, each with a second or two until the probe fails.
  await plane.clock.advance(227_000);
  const restarts = (await podNamed(plane)).status?.containerStatuses?.[0]?.restartCount ?? 0;
  t.true(restarts >= 4 && restarts <= 7, `${restarts}`);
  t.true((await eventsOf(plane, 'pod')).some(text => text.startsWith('BackOff: Back-off restarting failed container app')));
});

test('a container is ready while its readiness probe succeeds', async t => {
  await using plane = await aPlaneWithNode();
  const {healthy, runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  healthy.ready = false;
  await run(plane, 'pod', container({readinessProbe: by('ready', {initialDelaySeconds: 1, successThreshold: 2})}));
  await plane.clock.advance(6_000);
  t.is(describePod(await podNamed(plane)), 'Running: app running');
  healthy.ready = true;
  t.deepEqual(await timeline(plane, 'pod', [1_500, 4_500]), {1_500: 'Running: app running', 4_500: 'Running: app ready'});
  healthy.ready = false;
  t.deepEqual(await timeline(plane, 'pod', [1_000, 5_000]), {1_000: 'Running: app ready', 5_000: 'Running: app running'});
  t.true((await eventsOf(plane, 'pod')).includes('Unhealthy: Readiness probe failed: ready said no'));
});

test('the startup probe holds the others back, and restarts what does not start', async t => {
  await using plane = await aPlaneWithNode();
  const {healthy, runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  Object.assign(healthy, {started: false, live: false});
  await run(
    plane,
    'pod',
    container({startupProbe: by('started', {failureThreshold: 5}), livenessProbe: by('live'), readinessProbe: by('ready')}),
  );
  await plane.clock.advance(7_000);
  t.is(describePod(await podNamed(plane)), 'Running: app running');
  t.false((await podNamed(plane)).status!.containerStatuses![0]!.started);
  t.false(runtime.calls.some(call => /exec app (?:live|ready)/.test(call)));
  await plane.clock.advance(3_000);
  t.is(describePod(await podNamed(plane)), 'Running: app running after 1');
  Object.assign(healthy, {started: true, live: true});
  await plane.clock.advance(3_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  t.true((await podNamed(plane)).status!.containerStatuses![0]!.started);
});

test('a sidecar with a startup probe is waited for', async t => {
  await using plane = await aPlaneWithNode();
  const {healthy, runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  healthy.started = false;
  await run(plane, 'pod', {
    initContainers: [{name: 'beside', image: 'x', restartPolicy: 'Always', startupProbe: by('started', {failureThreshold: 9})}],
  });
  await plane.clock.advance(5_000);
  t.is(describePod(await podNamed(plane)), 'Pending: beside running, app PodInitializing');
  healthy.started = true;
  await plane.clock.advance(3_000);
  t.is(describePod(await podNamed(plane)), 'Running: beside ready, app ready');
});

test('readiness gates are part of being ready', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {readinessGates: [{conditionType: 'example.com/lb'}]});
  await plane.clock.advance(1_000);
  const ready = async () => (await podNamed(plane)).status?.conditions?.find(({type}) => type === 'Ready');
  t.like(await ready(), {status: 'False', reason: 'ReadinessGatesNotReady'});
  const status = {conditions: [{type: 'example.com/lb', status: 'True'}]};
  await podsOf(plane).patch('pod', 'strategic', {status}, {namespace: 'default', subresource: 'status'});
  await plane.clock.advance(1_000);
  t.like(await ready(), {status: 'True'});
  t.is((await podNamed(plane)).status?.conditions?.find(({type}) => type === 'example.com/lb')?.status, 'True');
});

test('a probe that cannot be made says so, and changes nothing', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime} = probed(plane);
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', container({livenessProbe: {httpGet: {port: 'none'}, periodSeconds: 1}}));
  await plane.clock.advance(5_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  t.true(
    (await eventsOf(plane, 'pod')).includes(
      `Unhealthy: Liveness probe errored and resulted in unknown state: couldn't find port: "none" in container`,
    ),
  );
});

test('hooks run after the start and before the stop, within the grace period', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime} = probed(plane, {commands: {begin: [0, ''], finish: [0, '']}});
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {
    terminationGracePeriodSeconds: 10,
    ...container({lifecycle: {postStart: {exec: {command: ['begin']}}, preStop: {exec: {command: ['finish']}}}}),
  });
  await run(plane, 'sleeper', {
    terminationGracePeriodSeconds: 10,
    containers: [{name: 'sleeper', image: 'x', lifecycle: {preStop: {sleep: {seconds: 4}}}}],
  });
  await run(plane, 'slow', {
    terminationGracePeriodSeconds: 3,
    containers: [{name: 'slow', image: 'x', lifecycle: {preStop: {sleep: {seconds: 3}}}}],
  });
  await plane.clock.advance(1_000);
  for (const name of ['pod', 'sleeper', 'slow']) await podsOf(plane).delete(name, {namespace: 'default'});
  await plane.clock.advance(30_000);
  const {calls} = runtime;
  t.deepEqual(
    calls.filter(call => / app /.test(call)),
    ['create app 0', 'start app 0', 'exec app begin', 'exec app finish', 'stop app 0 10'],
  );
  t.true(calls.includes('stop sleeper 0 6'));
  t.true(calls.includes('stop slow 0 2'));
});

test('a container whose first hook fails is killed, and one whose last hook fails is stopped', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime} = probed(plane, {commands: {begin: [1, 'no']}});
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {restartPolicy: 'Never', ...container({lifecycle: {postStart: {exec: {command: ['begin']}}}})});
  await run(plane, 'other', {containers: [{name: 'other', image: 'x', lifecycle: {preStop: {exec: {command: ['begin']}}}}]});
  await plane.clock.advance(2_000);
  t.is(describePod(await podNamed(plane)), 'Failed: app Error(143)');
  t.true((await eventsOf(plane, 'pod')).includes('FailedPostStartHook: PostStartHook failed'));
  await podsOf(plane).delete('other', {namespace: 'default'});
  await plane.clock.advance(2_000);
  t.true((await eventsOf(plane, 'other')).includes('FailedPreStopHook: PreStopHook failed'));
  t.true(runtime.calls.includes('stop other 0 30'));
});

test('a sidecar is stopped after the others', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  const runtime = new MemoryRuntime(clock, name => (name === 'app' ? {stopsAfter: 3_000} : {}));
  await using _runtime = runtime;
  await using _ = await anAgent(plane, runtime);
  await run(plane, 'pod', {
    initContainers: [
      {name: 'first', image: 'x', restartPolicy: 'Always'},
      {name: 'second', image: 'x', restartPolicy: 'Always'},
    ],
  });
  await clock.advance(1_000);
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await clock.advance(2_000);
  t.deepEqual(
    runtime.calls.filter(call => call.startsWith('stop ')),
    ['stop app 0 30'],
  );
  await clock.advance(5_000);
  t.deepEqual(
    runtime.calls.filter(call => call.startsWith('stop ') && !call.includes('sandbox')),
    ['stop app 0 30', 'stop second 0 27', 'stop first 0 27'],
  );
});
