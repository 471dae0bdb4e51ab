import {gunzipSync} from 'node:zlib';
import {join} from 'node:path';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ContainerFiles} from '#src/platlet/logs/output.js';
import {LogRotation} from '#src/platlet/log-rotation/rotation.js';
import {folderHost, put, textOf} from '#test/platlet/host.js';
import {aPod, aRun, aRuntime, identity} from '#test/platlet/pod/objects.js';

test('the message of a container is in the file that is mounted at its path', async t => {
  using host = folderHost();
  const files = new ContainerFiles(host, host.folders);
  const path = join(host.root, 'message');
  await put(host, path, `${'x'.repeat(5000)}`);
  const run = aRun('app', 1, {
    annotations: {'io.kubernetes.container.terminationMessagePath': '/dev/log'},
    mounts: [{containerPath: '/dev/log', hostPath: path}],
  });
  t.is((await files.terminationMessage(run)).length, 4096);
  t.is(await files.terminationMessage({...run, annotations: {}}), '');
  t.is(await files.terminationMessage({...run, mounts: []}), '');
});

test('the end of a log is its text without fields', async t => {
  using host = folderHost();
  const files = new ContainerFiles(host, host.folders);
  const logPath = join(host.root, '0.log');
  await put(host, logPath, 'T stdout F one\nT stderr P tw\nT stderr F o\nnonsense\nT stdout F three\n');
  t.is(await files.logTail(aRun('app', 1, {logPath}), 80, 2048), 'one\ntwo\nthree\n');
  t.is(await files.logTail(aRun('app', 1, {logPath}), 1, 2048), 'three\n');
  t.is(await files.logTail(aRun('app', 1, {logPath}), 80, 6), 'three\n');
  t.is(await files.logTail(aRun('app', 1, {logPath: join(host.root, 'none')}), 80, 6), '');
});

test('the attempts of a container are counted by its logs', async t => {
  using host = folderHost();
  const files = new ContainerFiles(host, host.folders);
  t.is(await files.lastAttempt(aPod(), 'app'), undefined);
  for (const name of ['0.log', '2.log', '11.log.20260101-000000.gz']) await put(host, join(host.folders.logs(aPod()), 'app', name));
  t.is(await files.lastAttempt(aPod(), 'app'), 11);
});

test('the logs of a run, those rotated from it and its link go with the run', async t => {
  using host = folderHost();
  const files = new ContainerFiles(host, host.folders);
  const folder = join(host.folders.logs(aPod()), 'app');
  for (const name of ['1.log', '1.log.20260101-000000', '1.log.20260101-000000.gz', '11.log', '2.log']) await put(host, join(folder, name));
  await files.started(identity, 'app', 'app-1', join(folder, '1.log'));
  await files.removeLogs(aRun('app', 0, {attempt: 1}));
  t.deepEqual([...(await host.list(folder))].sort(), ['11.log', '2.log']);
  t.deepEqual(await host.list(host.folders.containerLogs!), []);
  await files.removeLogs(aRun('app', 0, {attempt: 1}));
});

test('a log has a link by the name of its container, until both go', async t => {
  using host = folderHost();
  const files = new ContainerFiles(host, host.folders);
  const log = join(host.folders.logs(aPod()), 'app', '0.log');
  await put(host, log, 'x');
  await files.started(identity, 'app', 'id', log);
  await files.started(identity, 'app', 'id', log);
  const link = join(host.folders.containerLogs!, 'pod_default_app-id.log');
  t.is(await host.linkTarget(link), log);
  await files.sweep(uid => uid === 'u');
  t.is(await textOf(host, link), 'x');
  await files.sweep(() => false);
  t.deepEqual([await host.list(host.folders.podLogs), await host.list(host.folders.containerLogs!)], [[], []]);
});

/** A node with one running container, whose log is at a path. */
const rotating = (host: ReturnType<typeof folderHost>, maxFiles: number) => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  const lifetime = new AbortController();
  const logPath = join(host.root, 'app', '0.log');
  const run = aRun('app', 'running', {logPath});
  const calls: string[] = [];
  const node = {clock, logPath, calls, error: undefined as Error | undefined, stop: () => lifetime.abort()};
  const rotation = new LogRotation({
    host,
    clock,
    log: noLog,
    signal: lifetime.signal,
    settings: {maxBytes: 10, maxFiles, periodMs: 10_000, workers: 1},
    runtime: {
      pods: async () => [aRuntime([run, aRun('done', 0)])],
      containerStatus: async () => run,
      async reopenLog(id) {
        if (node.error) throw node.error;
        calls.push(id);
        await put(host, logPath, 'new');
      },
    },
  });
  return {node, rotation, names: () => host.list(join(host.root, 'app'))};
};

test('a log that has grown is rotated, and the one before is compressed', async t => {
  using host = folderHost();
  const {node, rotation, names} = rotating(host, 3);
  await put(host, node.logPath, 'short');
  await rotation.rotate();
  t.deepEqual(await names(), ['0.log']);
  for (const text of ['the first long text', 'the second long text', 'the third long text', 'the fourth long text']) {
    await put(host, node.logPath, text);
    await rotation.rotate();
    await node.clock.advance(1_000);
  }
  t.deepEqual(await names(), ['0.log', '0.log.20260102-030407.gz', '0.log.20260102-030408']);
  t.is(await textOf(host, `${node.logPath}.20260102-030408`), 'the fourth long text');
  t.is(gunzipSync((await host.read(`${node.logPath}.20260102-030407.gz`))!).toString(), 'the third long text');
  t.is(node.calls.length, 4);
});

test('with two files there is one before the current, and unfinished ones go', async t => {
  using host = folderHost();
  const {node, rotation, names} = rotating(host, 2);
  await put(host, `${node.logPath}.20250101-000000.tmp`, 'x');
  for (const text of ['the first long text', 'the second long text']) {
    await put(host, node.logPath, text);
    await rotation.rotate();
    await node.clock.advance(1_000);
  }
  t.deepEqual(await names(), ['0.log', '0.log.20260102-030406']);
});

test('a log that cannot be reopened stays what it was', async t => {
  using host = folderHost();
  const {node, rotation, names} = rotating(host, 3);
  await put(host, node.logPath, 'a long enough text');
  node.error = new Error('no');
  await rotation.rotate();
  t.deepEqual(await names(), ['0.log']);
  t.is(await textOf(host, node.logPath), 'a long enough text');
});

test('logs are looked at regularly', async t => {
  using host = folderHost();
  const {node, rotation} = rotating(host, 3);
  await put(host, node.logPath, 'a long enough text');
  rotation.start();
  await node.clock.advance(10_000);
  while (node.calls.length === 0) await new Promise(resolve => setImmediate(resolve));
  t.is(node.calls.length, 1);
  node.stop();
});

test('only so many logs are rotated at a time', async t => {
  using host = folderHost();
  const runs = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map(async name => {
      const logPath = join(host.root, name, '0.log');
      await put(host, logPath, 'a long text');
      return aRun(name, 'running', {id: name, logPath});
    }),
  );
  let now = 0;
  let most = 0;
  const rotated: string[] = [];
  const rotation = new LogRotation({
    host,
    clock: new VirtualClock(),
    log: noLog,
    signal: new AbortController().signal,
    settings: {maxBytes: 1, maxFiles: 2, periodMs: 10_000, workers: 2},
    runtime: {
      pods: async () => [aRuntime(runs)],
      containerStatus: async id => runs.find(run => run.id === id)!,
      async reopenLog(id) {
        most = Math.max(most, ++now);
        // The others have time to come, and one does.
        const isAlone = () => most < 2;
        for (let turn = 0; turn < 50 || isAlone(); turn++) await new Promise(resolve => setImmediate(resolve));
        rotated.push(id);
        now--;
      },
    },
  });
  await rotation.rotate();
  t.deepEqual(rotated.sort(), ['a', 'b', 'c', 'd', 'e']);
  t.is(most, 2);
});
