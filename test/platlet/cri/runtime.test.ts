import test, {type ExecutionContext} from 'ava';
import {systemClock} from '#src/base/clock.js';
import {containerOf} from '#src/platlet/cri/states.js';
import {procedures} from '#src/platlet/cri/procedures.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {exitCodeOf} from '#src/platlet/cri/streams.js';
import {identityLabels} from '#src/platlet/runtime/labels.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import {FakeCri} from './fake-cri.js';

const start = async (t: ExecutionContext, requestTimeoutMs = 120_000) => {
  const server = await new FakeCri().listen();
  const endpoint = `unix://${server.socket}`;
  const runtime = new CriRuntime({endpoint, requestTimeoutMs, clock: systemClock});
  t.teardown(async () => {
    await runtime[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  server.answers.version = procedures.version.response.encode({
    version: '0.1.0',
    runtimeName: 'fake',
    runtimeVersion: '1.2',
    runtimeApiVersion: 'v1',
  });
  return {server, runtime, endpoint};
};

const failure = async (t: ExecutionContext, act: Promise<unknown>) => {
  const error = await t.throwsAsync(act, {instanceOf: RuntimeError});
  return [error?.kind, error?.message];
};

test('a runtime without the interface, or with another version, is refused', async t => {
  const {server, runtime, endpoint} = await start(t);
  t.deepEqual(await runtime.check(), {name: 'fake', version: '1.2', apiVersion: 'v1'});
  server.failures.version = [12, 'unknown service runtime.v1.RuntimeService'];
  t.deepEqual(await failure(t, runtime.check()), [
    'unimplemented',
    `validate CRI v1 runtime API for endpoint "${endpoint}": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService`,
  ]);
  delete server.failures.version;
  server.answers.version = procedures.version.response.encode({
    version: '0.2.0',
    runtimeName: 'a',
    runtimeVersion: 'b',
    runtimeApiVersion: 'c',
  });
  t.deepEqual(await failure(t, runtime.check()), ['unimplemented', 'runtime api version is not supported']);
});

const codes: readonly [number, string, string][] = [
  [1, 'unavailable', 'Canceled'],
  [2, 'failed', 'Unknown'],
  [4, 'timeout', 'DeadlineExceeded'],
  [5, 'not-found', 'NotFound'],
  [12, 'unimplemented', 'Unimplemented'],
  [14, 'unavailable', 'Unavailable'],
];
test('errors have their kind and the text of the original', async t => {
  const {server, runtime} = await start(t);
  for (const [code, kind, name] of codes) {
    server.failures.status = [code, 'it is 100% broken: ä'];
    t.deepEqual(await failure(t, runtime.status()), [kind, `rpc error: code = ${name} desc = it is 100% broken: ä`]);
  }
});

test('answers without what must be there are errors', async t => {
  const {server, runtime} = await start(t);
  const absent = {tty: false};
  const never = new AbortController().signal;
  t.deepEqual(await failure(t, runtime.status()), ['failed', 'RuntimeReady or NetworkReady condition are not set']);
  t.deepEqual(await failure(t, runtime.exec('c', ['a'], absent, never)), ['failed', 'URL is not set']);
  t.deepEqual(await failure(t, runtime.sandboxStatus('s')), ['failed', 'pod sandbox status is not set']);
  t.deepEqual(await failure(t, runtime.containerStatus('c')), ['failed', 'container status is not set']);
  server.answers.podSandboxStatus = procedures.podSandboxStatus.response.encode({status: {id: 's'}});
  t.deepEqual(await failure(t, runtime.sandboxStatus('s')), ['failed', 'status.Metadata is not set']);
  server.answers.containerStatus = Buffer.from('0a05', 'hex');
  t.deepEqual((await failure(t, runtime.containerStatus('c')))[0], 'failed');
});

test('what is missing is no error of stopping and removing', async t => {
  const {server, runtime} = await start(t);
  for (const name of ['stopContainer', 'removeContainer', 'stopPodSandbox', 'removePodSandbox'] as const) server.failures[name] = [5, 'no'];
  await Promise.all([runtime.stopContainer('a', 1), runtime.removeContainer('a'), runtime.stopSandbox('a'), runtime.removeSandbox('a')]);
  t.deepEqual(server.received.map(({name}) => name).sort(), ['removeContainer', 'removePodSandbox', 'stopContainer', 'stopPodSandbox']);
});

/** The header holds the milliseconds that are left, some of which have passed on a busy machine. */
const seconds = (timeout: string) => Math.round(Number.parseInt(timeout, 10) / 1000);

test('each call has its deadline', async t => {
  const {server, runtime} = await start(t);
  // The time of connecting counts for the first call.
  await runtime.stopContainer('b', 0);
  await runtime.startContainer('c');
  await runtime.stopContainer('c', 30);
  await runtime.execSync('c', ['a'], 5);
  await runtime.execSync('c', ['a'], 0);
  await runtime.checkpoint('c', '/a', 7);
  await runtime.checkpoint('c', '/a', 300);
  t.deepEqual(
    server.received.slice(1).map(({name, timeout}) => [name, timeout && seconds(timeout)]),
    [
      ['startContainer', 120],
      ['stopContainer', 150],
      ['execSync', 125],
      ['execSync', undefined],
      ['checkpointContainer', 120],
      ['checkpointContainer', 300],
    ],
  );
  await t.throwsAsync(runtime.checkpoint('c', '/a', -1), {message: 'CheckpointContainer requires the timeout value to be > 0'});
});

test('a call that is not answered in time ends with the text of the original', async t => {
  const {server, runtime} = await start(t, 100);
  server.silent.add('removeContainer');
  server.failures.execSync = [4, 'timeout 5s exceeded'];
  t.deepEqual(await failure(t, runtime.removeContainer('c')), [
    'timeout',
    'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  ]);
  t.deepEqual(await failure(t, runtime.execSync('c', ['sleep', '9'], 5)), ['timeout', 'command "sleep 9" timed out']);
});

test('sandboxes and containers are grouped by pod, newest first, and others left out', async t => {
  const {server, runtime} = await start(t);
  const pod = {uid: 'u', namespace: 'n', name: 'p'};
  const sandbox = (id: string, attempt: number) => ({id, metadata: {...pod, attempt}, createdAt: 1000 + attempt});
  server.answers.listPodSandbox = procedures.listPodSandbox.response.encode({items: [sandbox('s0', 0), sandbox('s1', 1), {id: 'foreign'}]});
  const container = (id: string, attempt: number) => ({
    id,
    podSandboxId: 's1',
    metadata: {name: 'c', attempt},
    labels: identityLabels(pod, 'c'),
    createdAt: 2000 + attempt,
    state: 'exited' as const,
  });
  server.answers.listContainers = procedures.listContainers.response.encode({
    containers: [container('c0', 0), container('c1', 1), {id: 'x'}],
  });

  const [found, ...others] = await runtime.pods();

  t.deepEqual(others, []);
  t.deepEqual([found?.pod, found?.sandboxes.map(({id}) => id), found?.containers.map(({id}) => id)], [pod, ['s1', 's0'], ['c1', 'c0']]);
  t.is(server.received.length, 2);
});

test('sandboxes whose list of usages fails are asked for theirs one after the other', async t => {
  const {server, runtime} = await start(t);
  const metadata = {name: 'p', uid: 'u', namespace: 'n', attempt: 0};
  server.answers.listPodSandbox = procedures.listPodSandbox.response.encode({
    items: ['one', 'two'].map(id => ({id, metadata, state: 'ready' as const})),
  });
  server.failures.listPodSandboxStats = [5, 'a sandbox is gone'];
  server.silent.add('podSandboxStats');
  const asked = () => server.received.filter(({name}) => name === 'podSandboxStats').length;

  const usage = runtime.sandboxUsage();
  usage.catch(() => {});
  while (asked() === 0) await runtime.check();
  await runtime.check();
  t.is(asked(), 1);
});

test('a container has the resources that the runtime reports', t => {
  const status = {id: 'c', metadata: {name: 'c', attempt: 0}, createdAt: 1, image: {image: 'i'}, imageRef: 'r'};
  const reported = (linux?: object) =>
    containerOf(
      procedures.containerStatus.response.decode(
        procedures.containerStatus.response.encode({status: {...status, ...(linux ? {resources: {linux}} : {})}}),
      ).status,
    ).resources;
  t.is(reported(), undefined);
  t.is(reported({}), undefined);
  t.deepEqual(reported({cpuShares: 102, cpuPeriod: 100_000, cpuQuota: 10_000, memoryLimitInBytes: 1024}), {
    cpuShares: 102,
    cpuQuota: 10_000,
    cpuPeriod: 100_000,
    memoryLimitBytes: 1024,
  });
});

test('the exit code is in the text of the error stream', t => {
  const failed = (code: string) =>
    JSON.stringify({status: 'Failure', reason: 'NonZeroExitCode', details: {causes: [{reason: 'ExitCode', message: code}]}});
  t.deepEqual(['', '{"metadata":{},"status":"Success"}', failed('4'), failed('255')].map(exitCodeOf), [0, 0, 4, 255]);
  t.throws(() => exitCodeOf('{"status":"Failure","message":"no such thing"}'), {instanceOf: RuntimeError, message: 'no such thing'});
  t.throws(() => exitCodeOf('odd'), {instanceOf: RuntimeError, message: 'error stream protocol error: odd'});
  t.throws(() => exitCodeOf(failed('x')), {instanceOf: RuntimeError});
});

test('events are received until their stream ends or is not wanted any more', async t => {
  const {server, runtime} = await start(t);
  const received: unknown[] = [];
  const follower = {connected: () => void received.push('connected'), received: (event: unknown) => void received.push(event)};
  const {signal} = new AbortController();
  const metadata = {uid: 'u', namespace: 'default', name: 'pod', attempt: 1};
  server.answers.containerEvents = procedures.containerEvents.response.encode({
    containerId: 'c',
    containerEventType: 'stopped',
    createdAt: 5_000,
    podSandboxStatus: {id: 's', metadata, state: 'ready', createdAt: 1_000},
    containersStatuses: [
      {
        id: 'c',
        metadata: {name: 'app', attempt: 0},
        state: 'exited',
        labels: identityLabels({uid: 'u', namespace: 'default', name: 'pod'}, 'app'),
      },
    ],
  });
  t.deepEqual(await failure(t, runtime.followEvents(follower, signal)), ['unavailable', 'EOF']);
  t.like(received, [
    'connected',
    {id: 'c', type: 'stopped', createdAt: 5_000, sandbox: {id: 's', attempt: 1}, containers: [{id: 'c', sandbox: 's', state: 'exited'}]},
  ]);
  delete server.answers.containerEvents;
  await failure(t, runtime.followEvents(follower, signal));
  t.deepEqual(received.slice(2), ['connected', undefined]);
  server.failures.containerEvents = [12, 'unknown method GetContainerEvents'];
  t.deepEqual(await failure(t, runtime.followEvents(follower, signal)), [
    'unimplemented',
    'rpc error: code = Unimplemented desc = unknown method GetContainerEvents',
  ]);
  delete server.failures.containerEvents;
  server.silent.add('containerEvents');
  const lifetime = new AbortController();
  const followed = runtime.followEvents({...follower, connected: () => lifetime.abort()}, lifetime.signal);
  await t.notThrowsAsync(followed);
});
