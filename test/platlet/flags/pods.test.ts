import {mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {aPlaneForNodes, describePod, podNamed, podsOf, run as create, type AgentPlane} from '#test/platlet/agent.js';
import {put} from '#test/platlet/host.js';
import type {Program} from '#test/platlet/memory-runtime.js';
import {sysfsOf} from '#test/platlet/topology/sysfs.js';
import {anImage, RecordingRuntime} from './recording-runtime.js';
import {aWholeAgent, memoryMachine, type WholeAgent, type WholeAgentOptions} from './whole-agent.js';

const Gi = 2 ** 30;
const minute = 60_000;

interface Started extends AsyncDisposable {
  readonly plane: AgentPlane;
  readonly runtime: RecordingRuntime;
  readonly agent: WholeAgent;
}

/** Starts an agent on a plane of its own, and waits until its Node is ready. */
const started = async (
  argv: readonly string[],
  {programs, ...options}: WholeAgentOptions & {readonly programs?: (name: string) => Program} = {},
): Promise<Started> => {
  const plane = await aPlaneForNodes();
  const runtime = options.runtime ?? new RecordingRuntime(plane.clock, programs);
  const agent = await aWholeAgent(argv, {...options, plane, runtime});
  await plane.clock.advance(2_000);
  // No controller removes it here.
  await plane
    .client()
    .resource(kinds.nodes)
    .patch('node', 'merge', {spec: {taints: null}});
  await plane.clock.advance(1_000);
  return {
    plane,
    runtime,
    agent,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
    },
  };
};

/** Creates a pod without a token, which nothing publishes the authority for. */
const run = (plane: AgentPlane, name: string, spec: object = {}) => create(plane, name, {automountServiceAccountToken: false, ...spec});

const resources = (cpu: string, memory: string) => ({resources: {requests: {cpu, memory}, limits: {cpu, memory}}});
const app = (more: object = {}) => ({name: 'app', image: 'app', ...more});

test('flags about containers rule what the runtime is asked for: --cluster-dns and others', async t => {
  using host = memoryMachine();
  host.setGroup('own/cgroup.controllers', 'cpuset cpu io memory hugetlb pids');
  await using node = await started(
    [
      '--cluster-dns=10.0.0.10',
      '--cluster-domain=a.b',
      '--cgroup-root=/own',
      '--pod-max-pids=77',
      '--seccomp-default',
      '--allowed-unsafe-sysctls=kernel.msg*',
      '--cpu-cfs-quota-period=50ms',
      '--feature-gates=CustomCPUCFSQuotaPeriod=true',
    ],
    {host},
  );
  const {plane, runtime} = node;
  const sysctls = [{name: 'kernel.msgmax', value: '1'}];
  const {uid} = (await run(plane, 'pod', {securityContext: {sysctls}, containers: [app(resources('1', '1Gi'))]})).metadata!;
  await plane.clock.advance(5_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  const [sandbox] = runtime.sandboxConfigs;
  t.deepEqual(sandbox?.dns, {
    servers: ['10.0.0.10'],
    searches: ['default.svc.a.b', 'svc.a.b', 'a.b'],
    options: ['ndots:5'],
  });
  t.is(sandbox?.cgroupParent, `/own/kubepods/pod${uid}`);
  t.deepEqual(sandbox?.sysctls, {'kernel.msgmax': '1'});
  const [container] = runtime.containerConfigs;
  t.like(container?.resources, {cpuPeriod: 50_000, cpuQuota: 50_000});
  t.is(container?.security.seccomp?.type, 'RuntimeDefault');
  t.is(host.group(`own/kubepods/pod${uid}/pids.max`), '77');
});

test('flags about containers rule what the runtime is asked for: --cpu-cfs-quota and others', async t => {
  using host = memoryMachine();
  const resolver = join(host.root, 'resolv.conf');
  await put(host, resolver, 'nameserver 10.9.9.9\n');
  await using node = await started(
    [
      '--cpu-cfs-quota=false',
      '--cgroups-per-qos=false',
      '--enforce-node-allocatable=none',
      '--cgroup-root=/own',
      `--resolv-conf=${resolver}`,
    ],
    {host},
  );
  const {plane, runtime} = node;
  await run(plane, 'pod', {dnsPolicy: 'Default', containers: [app(resources('1', '1Gi'))]});
  await run(plane, 'refused', {securityContext: {sysctls: [{name: 'kernel.msgmax', value: '1'}]}});
  await plane.clock.advance(5_000);
  t.deepEqual(runtime.sandboxConfigs[0]?.dns?.servers, ['10.9.9.9']);
  t.is(runtime.sandboxConfigs[0]?.cgroupParent, '/own');
  t.falsy(runtime.containerConfigs[0]?.resources.cpuQuota);
  t.is((await podNamed(plane, 'refused')).status?.reason, 'SysctlForbidden');
});

test('what is reserved is enforced in groups: --enforce-node-allocatable, --plat-reserved-cgroup and others', async t => {
  using host = memoryMachine();
  for (const name of ['agents', 'system']) host.setGroup(`${name}/cgroup.procs`, '');
  await using node = await started(
    [
      '--enforce-node-allocatable=pods,plat-reserved,system-reserved',
      '--plat-reserved-cgroup=/agents',
      '--system-reserved-cgroup=/system',
      '--plat-reserved=memory=1Gi',
      '--system-reserved=memory=2Gi',
      '--qos-reserved=memory=50%',
      '--feature-gates=QOSReserved=true',
    ],
    {host},
  );
  await run(node.plane, 'pod', {containers: [app(resources('1', '1Gi'))]});
  await node.plane.clock.advance(2 * minute);
  t.is(host.group('agents/memory.max'), String(Gi));
  t.is(host.group('system/memory.max'), String(2 * Gi));
  t.is(host.group('kubepods/memory.max'), String(5 * Gi));
  t.is(host.group('kubepods/burstable/memory.max'), String(4.5 * Gi));
});

const pulling = async (...argv: readonly string[]): Promise<RecordingRuntime> => {
  await using node = await started(argv);
  const {plane, runtime} = node;
  runtime.present = [];
  runtime.pullMs = 2_000;
  for (const name of ['a', 'b', 'c']) await run(plane, name, {containers: [app({image: `${name}:1`})]});
  await plane.clock.advance(9_000);
  return runtime;
};

test('--serialize-image-pulls pulls one image at a time', async t => {
  t.is((await pulling()).mostPulls, 1);
  t.is((await pulling('--serialize-image-pulls=false')).mostPulls, 3);
});

test('--registry-qps and --registry-burst limit pulls', async t => {
  const runtime = await pulling('--registry-qps=1', '--registry-burst=2', '--serialize-image-pulls=false');
  t.is(runtime.mostPulls, 2);
});

test('images are removed by --image-gc-high-threshold, --image-gc-low-threshold and --minimum-image-ttl-duration', async t => {
  using host = memoryMachine();
  await using node = await started(
    ['--image-gc-high-threshold=50', '--image-gc-low-threshold=40', '--minimum-image-ttl-duration=7m', '--eviction-hard='],
    {host},
  );
  const {plane, runtime} = node;
  runtime.imageFolder = '/images';
  runtime.present = ['a', 'b', 'c'].map(name => anImage(`${name}:1`, 8 * Gi));
  const use = (percent: number): void => {
    host.space = async () => ({totalBytes: 100 * Gi, availableBytes: (100 - percent) * Gi, inodes: 1000, inodesFree: 900});
  };
  use(49);
  await plane.clock.advance(13 * minute);
  t.deepEqual(runtime.removedImages, []);
  use(52);
  await plane.clock.advance(6 * minute);
  // Two have eight of a hundred each: 52 - 16 is below 40.
  t.is(runtime.removedImages.length, 2);
  runtime.present.push(anImage('new:1', 8 * Gi));
  runtime.removedImages.length = 0;
  await plane.clock.advance(6 * minute);
  t.false(runtime.removedImages.includes('sha256:new:1'));
  await plane.clock.advance(8 * minute);
  t.true(runtime.removedImages.includes('sha256:new:1'));
});

/** The ended runs of a container that was started again and again. */
const endedRuns = async (...argv: readonly string[]): Promise<number> => {
  await using node = await started(argv, {programs: () => ({runsFor: 1_000, exitCodes: [1]})});
  await run(node.plane, 'pod');
  await node.plane.clock.advance(4 * minute);
  return (await node.runtime.pods()).flatMap(({containers}) => containers.filter(({state}) => state === 'exited')).length;
};

test('ended containers stay as --maximum-dead-containers-per-container and --maximum-dead-containers say', async t => {
  t.is(await endedRuns(), 1);
  t.is(await endedRuns('--maximum-dead-containers-per-container=3'), 3);
  t.is(await endedRuns('--maximum-dead-containers-per-container=3', '--maximum-dead-containers=2'), 2);
});

test('--minimum-container-ttl-duration keeps ended containers of pods that are gone', async t => {
  const left = async (...argv: readonly string[]): Promise<number> => {
    await using node = await started(argv, {programs: () => ({runsFor: 1_000})});
    const {plane, runtime} = node;
    await run(plane, 'pod', {restartPolicy: 'Never'});
    await run(plane, 'stays', {restartPolicy: 'Never'});
    await plane.clock.advance(3_000);
    runtime.calls.length = 0;
    await plane.clock.advance(2 * minute);
    return runtime.calls.filter(call => call.startsWith('remove')).length;
  };
  t.is(await left('--maximum-dead-containers=0'), 2);
  t.is(await left('--maximum-dead-containers=0', '--minimum-container-ttl-duration=1h'), 0);
});

test('logs are rotated by --container-log-max-size, and as many stay as --container-log-max-files says', async t => {
  await using node = await started(['--container-log-max-size=1Ki', '--container-log-max-files=3']);
  const {plane, runtime, agent} = node;
  const {metadata} = await run(plane, 'pod');
  await plane.clock.advance(3_000);
  const log = join(agent.host.root, 'logs/pods', `default_pod_${metadata?.uid}`, 'app/0.log');
  runtime.logPath = log;
  mkdirSync(dirname(log), {recursive: true});
  for (let rotation = 0; rotation < 5; rotation++) {
    writeFileSync(log, 'x'.repeat(1_023));
    const before = runtime.reopened.length;
    await plane.clock.advance(15_000);
    t.is(runtime.reopened.length, before);
    writeFileSync(log, 'x'.repeat(1_024));
    await plane.clock.advance(15_000);
    t.true(runtime.reopened.length > before);
  }
  t.is(readdirSync(dirname(log)).filter(name => name.startsWith('0.log.')).length, 2);
});

/** Says how much of the memory of the machine is left. */
const leave = ({agent}: Started, bytes: number): void =>
  void agent.host.kernel.set(
    '/proc/meminfo',
    `MemTotal: ${8 * 2 ** 20} kB\nMemFree: ${Math.floor(bytes / 1024)} kB\nInactive(file): 0 kB\n`,
  );

const hasPressure = async ({plane}: Started): Promise<boolean> =>
  (await plane.client().resource(kinds.nodes).get('node')).status?.conditions?.find(({type}) => type === 'MemoryPressure')?.status ===
  'True';

const phases = async ({plane}: Started): Promise<string> =>
  (await podsOf(plane).list({namespace: 'default'})).items.map(({status}) => status?.reason ?? status?.phase).join(' ');

test('pods are evicted by --eviction-soft after --eviction-soft-grace-period, within --eviction-max-pod-grace-period', async t => {
  await using node = await started([
    '--eviction-soft=memory.available<2Gi',
    '--eviction-soft-grace-period=memory.available=1m',
    '--eviction-max-pod-grace-period=7',
    '--eviction-pressure-transition-period=1m',
  ]);
  const {plane, runtime} = node;
  node.runtime.imageFolder = '/images';
  leave(node, 4 * Gi);
  await run(plane, 'pod');
  await plane.clock.advance(20_000);
  t.false(await hasPressure(node));
  leave(node, Gi);
  await plane.clock.advance(40_000);
  t.true(await hasPressure(node));
  t.is(await phases(node), 'Running');
  await plane.clock.advance(60_000);
  t.is(await phases(node), 'Evicted');
  t.true(runtime.calls.includes('stop app 0 7'));
  leave(node, 4 * Gi);
  await plane.clock.advance(minute / 2);
  t.true(await hasPressure(node));
  await plane.clock.advance(minute);
  t.false(await hasPressure(node));
});

test('pods are evicted by --eviction-hard until --eviction-minimum-reclaim is free', async t => {
  const evicted = async (...argv: readonly string[]): Promise<string> => {
    await using node = await started(['--eviction-hard=memory.available<2Gi', '--eviction-pressure-transition-period=1m', ...argv]);
    node.runtime.imageFolder = '/images';
    leave(node, 4 * Gi);
    for (const name of ['one', 'two']) await run(node.plane, name);
    await node.plane.clock.advance(15_000);
    leave(node, Gi);
    while (!(await phases(node)).includes('Evicted')) await node.plane.clock.advance(100);
    leave(node, 2.5 * Gi);
    await node.plane.clock.advance(minute / 2);
    return (await phases(node)).split(' ').sort().join(' ');
  };
  t.is(await evicted(), 'Evicted Running');
  t.is(await evicted('--eviction-minimum-reclaim=memory.available=1Gi'), 'Evicted Evicted');
});

test('volumes of plugins in --volume-plugin-dir are refused in words', async t => {
  await using node = await started(['--volume-plugin-dir=/plugins']);
  const {plane} = node;
  const volumeMounts = [{name: 'v', mountPath: '/v'}];
  await run(plane, 'pod', {volumes: [{name: 'v', flexVolume: {driver: 'a/b'}}], containers: [app({volumeMounts})]});
  await plane.clock.advance(5_000);
  const events = (await plane.client().resource(kinds.coreEvents).list()).items.filter(({reason}) => reason === 'FailedMount');
  t.regex(events[0]?.message ?? '', /no volume plugin matched name: flexVolume/);
  t.regex(
    parseFlags(platletFlags, ['--volume-plugin-dir=/plugins']).warnings.join('\n'),
    /--volume-plugin-dir has no effect: volumes of such/,
  );
});

test('--sync-frequency is how often a pod is looked at', async t => {
  const looks = async (...argv: readonly string[]): Promise<number> => {
    let count = 0;
    const tracer = {
      root() {
        count++;
        return undefined;
      },
    };
    await using node = await started(argv, {parts: {tracer}});
    await run(node.plane, 'pod');
    await node.plane.clock.advance(10_000);
    const before = count;
    await node.plane.clock.advance(6 * minute);
    return count - before;
  };
  t.true((await looks()) > 2);
  t.true((await looks('--sync-frequency=10m')) < 2);
});

test('CPUs and memory are assigned as the flags of their managers say', async t => {
  using host = memoryMachine();
  for (const [path, text] of sysfsOf({sockets: 2, coresPerNuma: 4, memoryBytes: 8 * Gi})) host.kernel.set(path, text);
  await using node = await started(
    [
      '--cpu-manager-policy=static',
      '--cpu-manager-policy-options=strict-cpu-reservation=true',
      '--cpu-manager-reconcile-period=1m',
      '--reserved-cpus=0',
      '--memory-manager-policy=Static',
      '--system-reserved=memory=1Gi',
      '--eviction-hard=',
      '--reserved-memory=0:memory=1Gi',
      '--topology-manager-policy=single-numa-node',
      '--topology-manager-scope=pod',
    ],
    {host, machine: {cores: 8}},
  );
  const {plane, runtime} = node;
  await run(plane, 'shared');
  await plane.clock.advance(2_000);
  // Two of a NUMA node each would fit, but not both on one.
  await run(plane, 'large', {containers: [app(resources('3', '1Gi')), {...app(resources('3', '1Gi')), name: 'other'}]});
  await run(plane, 'exclusive', {containers: [app(resources('2', '1Gi'))]});
  await plane.clock.advance(5_000);
  t.is((await podNamed(plane, 'large')).status?.reason, 'TopologyAffinityError');
  const assigned = runtime.containerConfigs.map(({resources: {cpusetCpus, cpusetMems}}) => `${cpusetCpus} ${cpusetMems ?? ''}`);
  t.deepEqual(assigned, ['1-7 ', '1-2 0']);
  const updates = (): number => runtime.calls.filter(call => call.startsWith('update')).length;
  await plane.clock.advance(30_000);
  t.is(updates(), 0);
  await plane.clock.advance(60_000);
  t.true(updates() > 0);
});

test('--topology-manager-policy-options allows machines with more NUMA nodes', async t => {
  using host = memoryMachine();
  for (const [path, text] of sysfsOf({sockets: 9, coresPerNuma: 1, memoryBytes: 9 * Gi})) host.kernel.set(path, text);
  const start = (...argv: readonly string[]): Promise<string> =>
    aWholeAgent(['--topology-manager-policy=restricted', ...argv], {host}).then(
      async agent => {
        await agent[Symbol.asyncDispose]();
        return 'starts';
      },
      (error: Error) => error.message,
    );
  t.not(await start(), 'starts');
  t.is(await start('--topology-manager-policy-options=max-allowable-numa-nodes=9'), 'starts');
});
