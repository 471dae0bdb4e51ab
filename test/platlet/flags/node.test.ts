import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aPlaneForNodes, createNode, describePod, podNamed, run as create, type AgentPlane} from '#test/platlet/agent.js';
import {put, textOf} from '#test/platlet/host.js';
import {anImage, RecordingRuntime} from './recording-runtime.js';
import {recordingLog} from '#test/runtime/environment.js';
import {aWholeAgent, memoryMachine, type MemoryMachine} from './whole-agent.js';

const nodeNamed = (plane: AgentPlane, name = 'node') => plane.client().resource(kinds.nodes).get(name);
const readiness = async (plane: AgentPlane, name?: string) =>
  (await nodeNamed(plane, name)).status?.conditions?.find(({type}) => type === 'Ready');

test('the flags about a node rule the Node that is registered: --hostname-override and others', async t => {
  await using plane = await aPlaneForNodes();
  const runtime = new RecordingRuntime(plane.clock);
  runtime.present = [anImage('a:1', 10), anImage('b:1', 20)];
  await using agent = await aWholeAgent(
    [
      '--hostname-override= Worker-1 ',
      '--node-ip=192.168.0.2',
      '--node-labels=color=red',
      '--register-with-taints=dedicated=me:NoSchedule',
      '--provider-id=cloud://1',
      '--enable-controller-attach-detach=false',
      '--port=10251',
      '--node-status-max-images=1',
      '--max-pods=7',
      '--plat-reserved=cpu=500m',
      '--system-reserved=memory=1Gi',
      '--eviction-hard=memory.available<1Gi',
      '--cpu-cfs-quota=false',
      '--pod-cidr=10.5.0.0/16',
    ],
    {plane, runtime},
  );
  await plane.clock.advance(20_000);
  const {metadata, spec, status} = await nodeNamed(plane, 'worker-1');
  t.is(metadata?.labels?.['color'], 'red');
  t.deepEqual(Object.keys(metadata?.annotations ?? {}), []);
  t.true(spec?.taints?.some(({key, value, effect}) => key === 'dedicated' && value === 'me' && effect === 'NoSchedule'));
  t.is(spec?.providerID, 'cloud://1');
  t.deepEqual(status?.addresses, [
    {type: 'InternalIP', address: '192.168.0.2'},
    {type: 'Hostname', address: 'worker-1'},
  ]);
  t.is(status?.daemonEndpoints?.kubeletEndpoint?.Port, 10_251);
  t.deepEqual(
    status?.images?.map(({sizeBytes}) => sizeBytes),
    [20],
  );
  t.like(status?.capacity, {cpu: '4', memory: '8Gi', pods: '7', 'ephemeral-storage': '100Gi'});
  t.like(status?.allocatable, {cpu: '3500m', memory: '6Gi'});
  t.regex((await readiness(plane, 'worker-1'))?.message ?? '', /WARNING: CPU hardcapping unsupported$/);
  t.deepEqual(runtime.podRanges, ['10.5.0.0/16']);
  t.is(agent.nodeName, 'worker-1');
});

test('the flags about a node rule the Node that is registered: --cloud-provider and others', async t => {
  await using plane = await aPlaneForNodes();
  await using _ = await aWholeAgent(
    [
      '--cloud-provider=external',
      '--node-ip=192.168.0.1',
      '--pods-per-core=2',
      '--reserved-cpus=0',
      '--local-storage-capacity-isolation=false',
      '--eviction-hard=memory.available<1Gi',
      '--experimental-allocatable-ignore-eviction',
    ],
    {plane},
  );
  await plane.clock.advance(5_000);
  const {metadata, spec, status} = await nodeNamed(plane);
  const {naming} = plane;
  t.is(metadata?.annotations?.[naming.subKey('alpha', 'provided-node-ip')], '192.168.0.1');
  t.true(spec?.taints?.some(({key, effect}) => key === naming.subKey('node.cloudprovider', 'uninitialized') && effect === 'NoSchedule'));
  t.like(status?.capacity, {pods: '8', 'ephemeral-storage': undefined});
  t.like(status?.allocatable, {cpu: '3', memory: '8Gi', 'ephemeral-storage': undefined});
});

test('--register-node=false creates no Node, and reports the status of one that others have created', async t => {
  await using plane = await aPlaneForNodes();
  await using _ = await aWholeAgent(['--register-node=false'], {plane});
  await plane.clock.advance(1_000);
  await t.throwsAsync(nodeNamed(plane), {message: /not found/});
  await createNode(plane);
  await plane.clock.advance(40_000);
  await create(plane, 'pod', {automountServiceAccountToken: false});
  await plane.clock.advance(5_000);
  t.is((await readiness(plane))?.status, 'True');
  t.is((await nodeNamed(plane)).status?.nodeInfo?.kubeletVersion, 'v1.35.0');
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
});

test('an agent that may not create its Node uses one that exists, unless PlatletRegistrationGetOnExistsOnly is on', async t => {
  for (const [args, isUsed] of [
    [[], true],
    [['--feature-gates=PlatletRegistrationGetOnExistsOnly=true'], false],
  ] as const) {
    await using plane = await aPlaneForNodes();
    const client = plane.client();
    await createNode(plane);
    await client.resource(kinds.validatingAdmissionPolicies).create({
      metadata: {name: 'nodes'},
      spec: {
        matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE']}]},
        validations: [{expression: 'false', reason: 'Forbidden'}],
      },
    });
    const binding = {policyName: 'nodes', validationActions: ['Deny']};
    await client.resource(kinds.validatingAdmissionPolicyBindings).create({metadata: {name: 'nodes'}, spec: binding});
    await plane.clock.drain();
    await t.throwsAsync(client.resource(kinds.nodes).create({metadata: {name: 'other'}}), {message: /forbidden/});
    await using _ = await aWholeAgent(args, {plane});
    await plane.clock.advance(60_000);
    t.is((await readiness(plane))?.status, isUsed ? 'True' : undefined);
  }
});

/** Returns the number of devices on a Node of before, once an agent has registered it again. */
const devicesAfter = async (plane: AgentPlane, runtimeIsReady: boolean, left: readonly string[]): Promise<string | undefined> => {
  const devices = {'vendor.example/gpu': '4'};
  const status = {capacity: devices, allocatable: devices};
  await plane.client().resource(kinds.nodes).patch('node', 'merge', {status}, {subresource: 'status'});
  using host = memoryMachine();
  for (const name of left) await put(host, join(host.folders.root, 'device-plugins', name));
  const runtime = new RecordingRuntime(plane.clock);
  runtime.isReady = runtimeIsReady;
  await using _ = await aWholeAgent([], {plane, host, runtime});
  await plane.clock.advance(30_000);
  const {capacity = {}, allocatable = {}} = (await nodeNamed(plane)).status ?? {};
  return `${capacity['vendor.example/gpu']} ${allocatable['vendor.example/gpu']}`;
};

test('devices of a Node are reset by an agent on a new machine, before its runtime lets plugins register', async t => {
  await using plane = await aPlaneForNodes();
  await createNode(plane);

  t.is(await devicesAfter(plane, false, []), '0 0');
  t.is(await devicesAfter(plane, false, ['.hidden']), '0 0');
  t.is(await devicesAfter(plane, false, ['kubelet_internal_checkpoint']), '4 4');
  t.is(await devicesAfter(plane, false, ['kubelet.sock']), '4 4');
  t.is(await devicesAfter(plane, true, []), '4 4');
});

test('--node-status-update-frequency is how often the status is computed', async t => {
  await using plane = await aPlaneForNodes();
  const runtime = new RecordingRuntime(plane.clock);
  await using _ = await aWholeAgent(['--node-status-update-frequency=4m'], {plane, runtime});
  await plane.clock.advance(150_000);
  t.is((await readiness(plane))?.status, 'True');
  runtime.hasNetwork = false;
  await plane.clock.advance(60_000);
  t.is((await readiness(plane))?.status, 'True');
  await plane.clock.advance(120_000);
  t.is((await readiness(plane))?.status, 'False');
});

test('the runtime is told the pod ranges of the Node, and again if that failed', async t => {
  await using plane = await aPlaneForNodes();
  const runtime = new RecordingRuntime(plane.clock);
  await using _ = await aWholeAgent([], {plane, runtime});
  await plane.clock.advance(20_000);
  t.deepEqual(runtime.podRanges, []);
  runtime.rangeErrors.push(new Error('not now'));
  await plane
    .client()
    .resource(kinds.nodes)
    .patch('node', 'merge', {spec: {podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24', 'fd00::/64']}});
  await plane.clock.advance(60_000);
  t.deepEqual(runtime.podRanges, ['10.1.0.0/24,fd00::/64']);
});

test('--pod-cidr is the range of pods of an agent without an API server', async t => {
  await using agent = await aWholeAgent(['--pod-cidr=10.5.0.0/16']);
  t.deepEqual(agent.runtime.podRanges, ['10.5.0.0/16']);
});

test('--event-qps and --event-burst limit the client of events', async t => {
  await using plane = await aPlaneForNodes();
  await using agent = await aWholeAgent(['--event-qps=7', '--event-burst=9'], {plane});
  t.deepEqual(agent.allowances.get('events'), {rateLimit: {qps: 7, burst: 9}});
});

test('flags about the machine rule what is written to it: --oom-score-adj and others', async t => {
  const host = memoryMachine();
  host.setGroup('cgroup.procs', '1\n55\n');
  const resolver = join(host.root, 'resolv.conf');
  await put(host, resolver, 'nameserver 10.9.9.9\nsearch b.c\n');
  await host.makeFolder(join(host.root, 'mounter/rootfs/etc'), 0o755);
  await using agent = await aWholeAgent(
    [
      '--oom-score-adj=-500',
      '--max-open-files=4096',
      '--cgroup-root=/',
      '--platlet-cgroups=/agent',
      '--system-cgroups=/rest',
      `--experimental-mounter-path=${join(host.root, 'mounter/mounter')}`,
      '--cluster-dns=10.0.0.10',
      `--resolv-conf=${resolver}`,
      '--make-iptables-util-chains=false',
    ],
    {host},
  );
  t.is(host.kernel.get('/proc/self/oom_score_adj'), '-500');
  t.deepEqual(host.fileLimits, [4096]);
  t.is(host.group('agent/cgroup.procs'), String(process.pid));
  t.is(host.group('rest/cgroup.procs'), '55');
  t.is(await textOf(host, join(host.root, 'mounter/rootfs/etc/resolv.conf')), 'nameserver 10.0.0.10\nsearch b.c\n');
  t.false(host.executed.some(program => program.includes('iptables')));
  await agent[Symbol.asyncDispose]();
  host[Symbol.dispose]();
});

test('--make-iptables-util-chains is on by default', async t => {
  await using agent = await aWholeAgent([]);
  t.true(agent.host.executed.some(program => program.includes('iptables')));
});

test('--root-dir is where the agent keeps what it has', async t => {
  const host = memoryMachine();
  const root = join(host.root, 'elsewhere');
  await using _ = await aWholeAgent([`--root-dir=${root}`], {host});
  t.deepEqual((await host.list(root)).includes('pods'), true);
});

test('cgroups of version 1 are a warning of the Node', async t => {
  using host = memoryMachine(1);
  await using plane = await aPlaneForNodes();
  await using _ = await aWholeAgent(['--fail-cgroupv1=false'], {plane, host});
  await plane.clock.advance(5_000);
  const {items} = await plane.client().resource(kinds.coreEvents).list();
  const [event] = items.filter(({reason}) => reason === 'CgroupV1');
  t.like(event, {type: 'Warning', involvedObject: {kind: 'Node', name: 'node'}});
  t.regex(event?.message ?? '', /^cgroup v1 detected\. cgroup v1 support is deprecated and will be removed in a future release\. /);
});

test('--kernel-memcg-notification asks the kernel about memory, with cgroups of version 1', async t => {
  const asked = async (...argv: readonly string[]): Promise<number> => {
    using host = memoryMachine(1);
    for (const group of ['memory', 'memory/kubepods']) host.setGroup(`${group}/memory.usage_in_bytes`, '0');
    let watches = 0;
    host.openMemoryWatch = async () => {
      watches++;
      return {set() {}, [Symbol.dispose]() {}};
    };
    await using agent = await aWholeAgent(['--fail-cgroupv1=false', '--eviction-hard=memory.available<1Gi', ...argv], {host});
    await agent.clock.advance(12_000);
    return watches;
  };
  t.is(await asked('--kernel-memcg-notification'), 1);
  t.is(await asked(), 0);
});

const noKernelLog = (): MemoryMachine => {
  const host = memoryMachine();
  host.openKernelLog = () => Promise.reject(new Error("EPERM: operation not permitted, open '/dev/kmsg'"));
  return host;
};

test('a kernel log that cannot be opened ends the start, but in a user namespace with the gate', async t => {
  using host = noKernelLog();
  const message = /^EPERM: operation not permitted/;
  const inside = {machine: {isInUserNamespace: true}, host};
  const gate = '--feature-gates=PlatletInUserNamespace=true';
  await t.throwsAsync(aWholeAgent([], {host}), {message});
  await t.throwsAsync(aWholeAgent([gate], {host}), {message});
  await t.throwsAsync(aWholeAgent([], inside), {message});
  const {log, lines} = recordingLog();
  await using agent = await aWholeAgent([gate], {...inside, log});
  await agent.clock.advance(5_000);
  t.deepEqual(
    lines.filter(line => line.includes('kernel log')),
    ['info failed to open the kernel log, which is ignored in a user namespace'],
  );
});

test('--protect-kernel-defaults ends the start on a machine with other parameters', async t => {
  using host = memoryMachine();
  host.kernel.set('/proc/sys/kernel/panic', '0');
  await t.throwsAsync(aWholeAgent(['--protect-kernel-defaults'], {host}), {
    message: 'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0',
  });
});
