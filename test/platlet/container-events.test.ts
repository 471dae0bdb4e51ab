import test, {type ExecutionContext} from 'ava';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import type {ContainerEvent} from '#src/platlet/runtime/state.js';
import {LifecycleEvents} from '#src/platlet/worker/lifecycle-events.js';
import {afterEvent} from '#src/platlet/worker/listed-pods.js';
import {recordingLog} from '#test/runtime/environment.js';
import {anAgent, aPlaneWithNode, describePod, podNamed, run, type AgentPlane} from './agent.js';
import {EventStreams} from './event-streams.js';
import {MemoryRuntime, type Program} from './memory-runtime.js';

/** A runtime that tells of changes in its streams of events only. */
class StreamingRuntime extends MemoryRuntime {
  override readonly changes = undefined as never;
}

const start = async (plane: AgentPlane, program: Program = {}, streamError?: Error) => {
  const runtime = new StreamingRuntime(plane.clock, () => program);
  runtime.events.error = streamError;
  const registry = new MetricsRegistry();
  const {log, lines} = recordingLog();
  const agent = await anAgent(plane, runtime, {gates: ['EventedPLEG'], metrics: agentMetrics(registry, plane.naming), log});
  const counted = (name: string) => registry.value(`${plane.naming.agent}_${name}`);
  const lists = () => counted('pleg_relist_duration_seconds');
  return {runtime, agent, lines, counted, lists, directory: agent.pods.directory};
};

test('an event of the runtime leads to a sync of its pod at once, and into what is known of the runtime', async t => {
  await using plane = await aPlaneWithNode();
  const {agent, directory, counted, lists} = await start(plane, {runsFor: 5_000, exitCodes: [3]});
  await using _ = agent;
  await run(plane, 'pod', {restartPolicy: 'Never'});
  await plane.clock.advance(4_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  t.deepEqual(
    directory.listed.map(({containers}) => containers.map(({name, state}) => `${name} ${state}`)),
    [['app running']],
  );
  await plane.clock.advance(2_000);
  t.is(describePod(await podNamed(plane)), 'Failed: app Error(3)');
  t.is(lists(), 1);
  t.is(counted('evented_pleg_connection_success_count'), 1);
  t.true(counted('evented_pleg_connection_latency_seconds')! >= 3);
  t.is(counted('evented_pleg_connection_error_count') ?? 0, 0);
});

test('while events are streamed the runtime is listed each five minutes, and healthy for ten', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime, agent, directory, counted, lists} = await start(plane);
  await using _ = agent;
  await plane.clock.advance(299_000);
  t.is(lists(), 1);
  await plane.clock.advance(2_000);
  t.is(lists(), 2);
  t.is(directory.runtime.silentMs, 0);
  runtime.pods = () => Promise.reject(new RuntimeError('unavailable', 'gone'));
  await plane.clock.advance(590_000);
  t.is(directory.runtime.error, undefined);
  t.is(counted('pleg_last_seen_seconds'), plane.clock.now() / 1000);
  await plane.clock.advance(10_000);
  t.is(directory.runtime.error, 'PLEG is not healthy: pleg was last seen active 601s ago; threshold is 10m0s');
});

test('a stream that ends is opened again after a list, and given up after five failures', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime, agent, lines, counted, lists} = await start(plane);
  await using _ = agent;
  for (let failures = 1; failures < 5; failures++) {
    runtime.events.fail(new RuntimeError('unavailable', 'EOF'));
    await plane.clock.drain();
    t.is(lists(), 1 + failures);
    t.is(counted('evented_pleg_connection_error_count'), failures);
    t.is(counted('evented_pleg_connection_success_count'), 1 + failures);
  }
  await plane.clock.advance(60_000);
  t.is(lists(), 5);
  runtime.events.fail(new RuntimeError('unavailable', 'EOF'));
  await plane.clock.drain();
  t.is(lists(), 7);
  t.is(lines.filter(line => line.startsWith('warn the runtime does not stream')).length, 1);
  await plane.clock.advance(60_000);
  t.is(lists(), 67);
});

test('without a stream the runtime is listed each second, and unhealthy after three minutes', async t => {
  await using plane = await aPlaneWithNode();
  const {runtime, agent, directory, counted} = await start(plane, {runsFor: 5_000}, new RuntimeError('unimplemented', 'unknown method'));
  await using _ = agent;
  t.is(counted('evented_pleg_connection_error_count'), 5);
  await run(plane, 'pod', {restartPolicy: 'Never'});
  await plane.clock.advance(7_500);
  t.is(describePod(await podNamed(plane)), 'Succeeded: app Completed(0)');
  runtime.pods = () => Promise.reject(new RuntimeError('unavailable', 'gone'));
  await plane.clock.advance(182_000);
  t.regex(directory.runtime.error!, /^PLEG is not healthy: pleg was last seen active 18\ds ago; threshold is 3m0s$/);
});

const pod = {uid: 'u', namespace: 'default', name: 'pod'};
const sandbox = {
  id: 's',
  pod,
  attempt: 0,
  isReady: true,
  createdAt: 1,
  addresses: [],
  usesHostNetwork: false,
  handler: '',
  annotations: {},
};
const container = (id: string, state: 'running' | 'exited', of = 's') => ({
  id,
  sandbox: of,
  pod,
  name: id,
  attempt: 0,
  state,
  createdAt: 2,
  image: {image: 'x'},
  imageRef: 'x',
  annotations: {},
});

const described = (t: ExecutionContext, event: Partial<ContainerEvent>, expected: readonly string[]) => {
  const old = {...sandbox, id: 'old', isReady: false, createdAt: 0};
  const before = [{pod, sandboxes: [sandbox, old], containers: [container('a', 'running'), container('z', 'exited', 'old')]}];
  const after = afterEvent(before, {id: 'a', type: 'stopped', createdAt: 3, sandbox, containers: [], ...event});
  t.deepEqual(
    after.flatMap(({sandboxes, containers}) => [
      ...sandboxes.map(({id, isReady}) => `${id} ${isReady}`),
      ...containers.map(({id, state}) => `${id} ${state}`),
    ]),
    expected,
  );
};

test('an event replaces what is known of its sandbox, and nothing else of the pod', t => {
  described(t, {containers: [container('a', 'exited')]}, ['s true', 'old false', 'a exited', 'z exited']);
  described(t, {type: 'deleted', containers: [container('a', 'exited')]}, ['s true', 'old false', 'z exited']);
  described(t, {id: 's', type: 'deleted', sandbox: {...sandbox, isReady: false}}, ['old false', 'z exited']);
  const gone = {id: 's', type: 'deleted', createdAt: 3, sandbox, containers: []} as const;
  t.deepEqual(afterEvent([], gone), []);
});

test('an event during a list is not lost by it', async t => {
  const clock = new VirtualClock(0);
  const stream = new EventStreams();
  const lifetime = new AbortController();
  const before = {pod, sandboxes: [sandbox], containers: [container('a', 'running')]};
  let isEnding = false;
  const changed: string[] = [];
  const pods = async () => {
    if (isEnding) stream.send({id: 'a', type: 'stopped', createdAt: 3, sandbox, containers: [container('a', 'exited')]});
    return [before];
  };
  const events = new LifecycleEvents({
    clock,
    log: noLog,
    runtime: {pods, followEvents: stream.follow},
    isEvented: true,
    signal: lifetime.signal,
    metrics: agentMetrics(noMeter, naming('plat')),
  });
  await events.start(uid => changed.push(uid));
  isEnding = true;
  await clock.advance(300_000);
  t.deepEqual(
    events.pods.flatMap(({containers}) => containers.map(({state}) => state)),
    ['exited'],
  );
  t.deepEqual(changed, ['u', 'u']);
  lifetime.abort();
});
