import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {systemClock} from '#src/base/clock.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import type {ContainerConfig} from '#src/platlet/runtime/configs.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import {pauseImage} from './configuration.js';
import {startContainerd, type Containerd} from './containerd.js';
import {aContainer, aSandbox, removePods} from './pods.js';
import {Registry} from './registry.js';
import {containersMissing} from './requirements.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test;

let node: Containerd;
let runtime: CriRuntime;

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  runtime = new CriRuntime({endpoint: node.endpoint, requestTimeoutMs: 20_000, clock: systemClock});
});

test.after.always(async () => {
  if (containersMissing) return;
  try {
    await removePods(runtime);
    // The groups of pods are the agent's to remove.
    const left = node.leftovers().filter(line => !line.startsWith('cgroup '));
    if (left.length > 0) throw new Error(left.join('\n'));
  } finally {
    await runtime[Symbol.asyncDispose]();
    await node.stop();
  }
});

/** Starts a pod with one container. */
const started = async (name: string, script: string, changes: Partial<ContainerConfig> = {}) => {
  const config = aSandbox(node, name);
  const sandbox = await runtime.runSandbox(config, '');
  const container = await runtime.createContainer(sandbox, aContainer(config, script, {mounts: [], ...changes}), config);
  await runtime.startContainer(container);
  return {config, sandbox, container};
};

const reached = async (id: string, state: ContainerInstance['state']): Promise<ContainerInstance> => {
  for (;;) {
    const instance = await runtime.containerStatus(id);
    if (instance.state === state) return instance;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
};

const failure = async (t: ExecutionContext, act: Promise<unknown>, message: RegExp): Promise<string | undefined> =>
  (await t.throwsAsync(act, {instanceOf: RuntimeError, message}))?.kind;

contained('the runtime tells its version and its conditions', async t => {
  t.is((await runtime.check()).name, 'containerd');
  const {conditions} = await runtime.status();
  t.deepEqual(
    conditions.map(({type, status}) => [type, status]),
    [
      ['RuntimeReady', true],
      ['NetworkReady', true],
    ],
  );
  await runtime.updatePodCidr(node.network.pods);
  t.is(await runtime.cgroupDriver(), undefined);
});

contained('a pod lives from its sandbox to its end, and leaves nothing', async t => {
  const {config, sandbox, container} = await started('life', 'echo hello; echo trouble >&2; sleep 0.2; exit 7', {
    environment: [{name: 'COLOUR', value: 'grün'}],
  });
  const {addresses, isReady, usesHostNetwork, pod} = await runtime.sandboxStatus(sandbox);
  t.true(addresses[0]?.startsWith(node.network.pods.slice(0, -4)));
  t.deepEqual([isReady, usesHostNetwork, pod], [true, false, config.pod]);

  const {startedAt = 0, finishedAt = 0, ...instance} = await reached(container, 'exited');
  t.deepEqual([instance.exitCode, instance.reason, instance.sandbox, instance.name], [7, 'Error', sandbox, 'main']);
  t.true(instance.createdAt <= startedAt && startedAt <= finishedAt && Math.abs(Date.now() - finishedAt) < 60_000);
  const log = readFileSync(join(config.logDirectory, 'main/0.log'), 'utf8');
  t.regex(log, /^\S+Z stdout F hello$/m);
  t.regex(log, /^\S+Z stderr F trouble$/m);

  await runtime.stopSandbox(sandbox);
  const status = await runtime.podStatus('life');
  t.deepEqual([status.pod, status.sandboxes[0]?.isReady, status.containers[0]?.exitCode], [config.pod, false, 7]);
  await runtime.removeContainer(container);
  await runtime.removeSandbox(sandbox);
  await runtime.removeSandbox(sandbox);
  await runtime.stopSandbox(sandbox);
  await runtime.stopContainer(container, 1);
  await runtime.removeContainer(container);
  t.deepEqual((await runtime.podStatus('life')).sandboxes, []);
  t.is(await failure(t, runtime.containerStatus(container), /^rpc error: code = NotFound desc = .*not found/), 'not-found');
  t.false(node.leftovers().some(line => line.includes(sandbox) || line.includes(container)));
});

contained('containers are listed by pod, and stopped with a grace period', async t => {
  const {container, sandbox} = await started('grace', "trap 'exit 3' TERM; while :; do sleep 0.05; done");
  const other = await started('stubborn', "trap '' TERM; while :; do sleep 0.05; done");
  const pods = await runtime.pods();
  const listed = pods.find(({pod}) => pod.uid === 'grace');
  t.deepEqual(
    [listed?.sandboxes.map(({id}) => id), listed?.containers.map(({id, state}) => [id, state])],
    [[sandbox], [[container, 'running']]],
  );

  await Promise.all([runtime.stopContainer(container, 5), runtime.stopContainer(other.container, 1)]);

  t.is((await runtime.containerStatus(container)).exitCode, 3);
  t.is((await runtime.containerStatus(other.container)).exitCode, 137);
});

contained('resources are set, changed and reported', async t => {
  const {container, sandbox} = await started('resources', 'while :; do :; done', {
    resources: {cpuShares: 102, cpuPeriod: 100_000, cpuQuota: 20_000, memoryLimitBytes: 64 << 20, oomScoreAdj: 900},
  });
  const limit = async (): Promise<string> =>
    (await runtime.execSync(container, ['cat', '/sys/fs/cgroup/memory/memory.limit_in_bytes'], 10)).stdout.toString().trim();
  const before = await limit();
  await runtime.updateResources(container, {memoryLimitBytes: 96 << 20});
  t.deepEqual([before, await limit()], [String(64 << 20), String(96 << 20)]);
  await reached(container, 'running');
  await new Promise(resolve => setTimeout(resolve, 100));

  const usage = (await runtime.containerUsage()).find(({id}) => id === container);
  t.true((usage?.cpu?.usageCoreNanoseconds ?? 0n) > 1_000_000n);
  t.true((usage?.memory?.workingSetBytes ?? 0) > 1000);
  const pod = (await runtime.sandboxUsage()).find(({id}) => id === sandbox);
  t.is(pod?.network?.interfaces[0]?.name, 'eth0');
  t.true((pod?.processes ?? 0) >= 1);
});

contained('the usage of pods is reported while another pod of the runtime has stopped', async t => {
  const [stopped, running] = [await started('stopped', 'sleep 100'), await started('running', 'sleep 100')];
  await runtime.stopSandbox(stopped.sandbox);

  const usage = await runtime.sandboxUsage();

  t.is(usage.find(({id}) => id === running.sandbox)?.network?.interfaces[0]?.name, 'eth0');
  t.false(usage.some(({id}) => id === stopped.sandbox));
});

contained('a command runs to its end, and not beyond its time', async t => {
  const {container} = await started('sync', 'sleep 100');
  const {stdout, stderr, exitCode} = await runtime.execSync(container, ['sh', '-c', 'echo out; echo err >&2; exit 9'], 10);
  t.deepEqual([String(stdout), String(stderr), exitCode], ['out\n', 'err\n', 9]);
  t.is((await runtime.execSync(container, ['true'], 0)).exitCode, 0);
  t.is(await failure(t, runtime.execSync(container, ['sleep', '30'], 1), /^command "sleep 30" timed out$/), 'timeout');
  t.is(await failure(t, runtime.execSync(container, ['absent'], 10), /^rpc error: code = Unknown desc = .*absent/), 'failed');
});

contained('images are pulled, found and removed', async t => {
  await using open = await Registry.start({address: node.network.host});
  await using closed = await Registry.start({address: node.network.host, credentials: {username: 'user', password: 'secret'}});
  node.addRegistry('open.test', open.url);
  node.addRegistry('closed.test', closed.url);
  const config = aSandbox(node, 'pull');
  const digest = open.add('team/busybox', '1', 'busybox');
  closed.add('team/busybox', '1', 'busybox');
  const image = {image: 'open.test/team/busybox:1'};
  t.is(await runtime.imageStatus(image), undefined);

  const ref = await runtime.pullImage(image, undefined, config);
  const found = await runtime.imageStatus(image);
  t.is(found?.id, ref);
  t.true(found?.digests.includes(`open.test/team/busybox@${digest}`));
  t.is((await runtime.images()).find(({id}) => id === ref)?.id, ref);
  t.true((await runtime.imageFilesystems()).images[0]?.mountpoint.startsWith(node.folder));
  t.is(await runtime.sandboxImage(), pauseImage);

  const secret = {image: 'closed.test/team/busybox:1'};
  await failure(t, runtime.pullImage(secret, undefined, config), /^rpc error: code = Unknown desc = .*401 Unauthorized/);
  t.is(await runtime.pullImage(secret, {username: 'user', password: 'secret'}, config), ref);
  t.is(
    await failure(t, runtime.pullImage({image: 'open.test/team/busybox:2'}, undefined, config), /code = NotFound .*: not found$/),
    'not-found',
  );
  await failure(t, runtime.pullImage({image: 'NO'}, undefined, config), /failed to parse image reference/);
  const missing = aContainer(config, 'true', {image: {image: 'open.test/absent:1'}});
  const sandbox = await runtime.runSandbox(config, '');
  t.is(await failure(t, runtime.createContainer(sandbox, missing, config), /^rpc error: code = NotFound desc = .*not found/), 'not-found');
  await runtime.removeImage({image: 'open.test/absent:1'});
});

contained('a sandbox that is there already, or has no handler, is refused', async t => {
  const config = aSandbox(node, 'twice');
  const id = await runtime.runSandbox(config, '');
  const error = await t.throwsAsync(runtime.runSandbox(config, ''), {message: /failed to reserve sandbox name .* is reserved for/});
  t.true(error?.message.includes(id));
  await failure(t, runtime.runSandbox(aSandbox(node, 'kata'), 'kata'), /no runtime for "kata" is configured/);
});
