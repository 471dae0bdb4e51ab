import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {parseQuantity} from '#src/api/quantity.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {cgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {measuredCgroups} from '#src/platlet/metrics/cgroups.js';
import {noCgroups} from '#test/platlet/ports.js';
import {folderHost, put, textOf, type FolderHost} from '#test/platlet/host.js';
import {aPod} from '#test/platlet/pod/objects.js';
import {nodeCgroups, type TestGroups} from './groups.js';

const controllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'];
const unifiedNames = 'cpuset cpu io memory hugetlb pids';

/** A host whose folders of cgroups have the files that the kernel would make. */
const cgroupHost = async (version: 1 | 2): Promise<FolderHost> => {
  const host = folderHost();
  const root = join(host.root, 'cgroup');
  const filesOf = (folder: string): Record<string, string> => ({
    'cgroup.procs': '',
    ...(version === 2
      ? {
          'cgroup.controllers': unifiedNames,
          'cgroup.subtree_control': '',
          'cpu.weight': '100',
          'cpu.max': 'max 100000',
          'memory.max': 'max',
          'memory.min': '0',
          'pids.max': 'max',
          'hugetlb.2MB.max': 'max',
        }
      : {}),
    ...(folder.includes('/cpu/') ? {'cpu.shares': '1024', 'cpu.cfs_quota_us': '-1', 'cpu.cfs_period_us': '100000'} : {}),
    ...(folder.includes('/memory/') ? {'memory.limit_in_bytes': 'max'} : {}),
    ...(folder.includes('/pids/') ? {'pids.max': 'max'} : {}),
    ...(folder.includes('/cpuset/') ? {'cpuset.cpus': '', 'cpuset.mems': ''} : {}),
  });
  const fill = async (folder: string): Promise<void> => {
    for (const [name, text] of Object.entries(filesOf(`${folder}/`)))
      if (!(await host.status(join(folder, name)))) await put(host, join(folder, name), text);
  };
  if (version === 2) {
    host.mounted.push({path: root, type: 'cgroup2', root: '/', device: '0:1', source: 'cgroup2', options: ['rw'], isShared: false});
    await fill(root);
  } else
    for (const name of controllers) {
      host.mounted.push({
        path: join(root, name),
        type: 'cgroup',
        root: '/',
        device: '0:1',
        source: 'cgroup',
        options: ['rw', name],
        isShared: false,
      });
      await fill(join(root, name));
    }
  if (version === 1)
    host.mounted.push({
      path: join(root, 'freezer'),
      type: 'cgroup',
      root: '/',
      device: '0:1',
      source: 'cgroup',
      options: ['rw', 'freezer'],
      isShared: false,
    });
  await put(host, join(root, 'cpuset/cpuset.cpus'), '0-1');
  await put(host, join(root, 'cpuset/cpuset.mems'), '0');
  return {
    ...host,
    async makeFolder(path, mode) {
      await host.makeFolder(path, mode);
      for (let folder = path; folder.startsWith(`${root}/`); folder = join(folder, '..')) await fill(folder);
    },
    // The files of the kernel are no content of a folder.
    removeFolder: path => host.removeTree(path),
  };
};

const allSettings: TestGroups['settings'] = {
  root: '/',
  pageSizes: ['2MB'],
  perPod: true,
  enforcesCpuLimits: true,
  cpuPeriod: 100_000,
  podPids: 50,
  enforced: new Set(['pods']),
  agentGroup: '',
  systemGroup: '',
};

const aNode = async (host: FolderHost, settings: Partial<TestGroups['settings']> = {}) => {
  const clock = new VirtualClock(0);
  const lifetime = new AbortController();
  const events: string[] = [];
  const record = (_: object, reason: string, message: string): void => void events.push(`${reason}: ${message}`);
  const cgroups = await nodeCgroups({
    host,
    clock,
    events: {normal: record, warning: record},
    capacity: new Map([
      ['cpu', parseQuantity('2')],
      ['memory', parseQuantity('1000')],
    ]),
    reservation: {agent: new Map(), system: new Map([['cpu', parseQuantity('1')]]), threshold: new Map()},
    settings: {...allSettings, ...settings},
    signal: lifetime.signal,
  });
  return {cgroups, clock, events, stop: () => lifetime.abort()};
};

const guaranteed = aPod({
  containers: [{name: 'a', resources: {requests: {cpu: '500m', memory: '1Mi'}, limits: {cpu: '500m', memory: '1Mi'}}}],
});
const burstable = aPod({containers: [{name: 'a', resources: {requests: {cpu: '250m'}}}]}, {uid: 'b'});

test('pods have groups in all trees of version 1, with their limits', async t => {
  using host = await cgroupHost(1);
  const {cgroups, events, stop} = await aNode(host);
  await cgroups.start();
  const read = (path: string) => textOf(host, join(host.root, 'cgroup', path));
  t.is(await cgroups.ensure(guaranteed), '/kubepods/podu');
  t.is(await cgroups.ensure(burstable), '/kubepods/burstable/podb');
  t.is(await read('cpu/kubepods/podu/cpu.shares'), '512');
  t.is(await read('cpu/kubepods/podu/cpu.cfs_quota_us'), '50000');
  t.is(await read('memory/kubepods/podu/memory.limit_in_bytes'), '1048576');
  t.is(await read('pids/kubepods/podu/pids.max'), '50');
  t.is(await read('cpuset/kubepods/podu/cpuset.cpus'), '0-1');
  t.is(await read('cpuset/kubepods/burstable/cpuset.mems'), '0');
  t.is(await read('cpu/kubepods/burstable/cpu.shares'), '256');
  t.is(await read('cpu/kubepods/besteffort/cpu.shares'), '2');
  t.is(await read('cpu/kubepods/cpu.shares'), '1024');
  t.is(await read('memory/kubepods/memory.limit_in_bytes'), '1000');
  t.deepEqual(events, ['NodeAllocatableEnforced: Updated Node Allocatable limit across pods']);
  stop();
});

test('pods have groups in the one tree of version 2, with their limits', async t => {
  using host = await cgroupHost(2);
  const {cgroups, stop} = await aNode(host);
  await cgroups.start();
  t.is(await cgroups.ensure({...guaranteed, spec: {...guaranteed.spec!}}), '/kubepods/podu');
  const read = (path: string) => textOf(host, join(host.root, 'cgroup', path));
  t.is(await read('cgroup.subtree_control'), '+cpuset +cpu +io +memory +hugetlb +pids');
  t.is(await read('kubepods/podu/cpu.weight'), '20');
  t.is(await read('kubepods/podu/cpu.max'), '50000 100000');
  t.is(await read('kubepods/podu/memory.max'), '1048576');
  t.is(await read('kubepods/podu/hugetlb.2MB.max'), '0');
  await cgroups.ensure(burstable);
  t.is(await read('kubepods/burstable/podb/cpu.max'), 'max 100000');
  stop();
});

test('the memory that pods request is protected, in their groups and in those of their classes', async t => {
  using host = await cgroupHost(2);
  const {cgroups, stop} = await aNode(host, {protectsMemory: true});
  await cgroups.start();
  const read = (path: string) => textOf(host, join(host.root, 'cgroup', path, 'memory.min'));
  await cgroups.ensure(guaranteed);
  await cgroups.ensure(aPod({containers: [{name: 'a', resources: {requests: {memory: '2Mi'}}}]}, {uid: 'b'}));
  t.is(await read('kubepods'), String(3 * 2 ** 20));
  t.is(await read('kubepods/podu'), String(2 ** 20));
  t.is(await read('kubepods/burstable'), String(2 * 2 ** 20));
  t.is(await read('kubepods/burstable/podb'), String(2 * 2 ** 20));
  t.is(await read('kubepods/besteffort'), '0');
  stop();
});

for (const [version, shares] of [
  [1, {cpuShares: 512}],
  [2, {cpuShares: 500, cpuWeight: 20}],
] as const)
  test(`the limits of a pod that runs are read and changed one by one, in version ${version}`, async t => {
    using host = await cgroupHost(version);
    const {cgroups, stop} = await aNode(host);
    await cgroups.start();
    await cgroups.ensure(guaranteed);
    const quota = {cpuQuota: 50_000, cpuPeriod: 100_000};
    t.deepEqual(await cgroups.limitsOf(guaranteed), {...shares, ...quota, memoryLimitBytes: 1_048_576});
    const more = {cpu: '1', memory: '2Mi'};
    const grown = {...guaranteed, spec: {...guaranteed.spec!, containers: [{name: 'a', resources: {requests: more, limits: more}}]}};
    await cgroups.ensure(grown, true);
    t.like(await cgroups.limitsOf(guaranteed), {...quota, memoryLimitBytes: 1_048_576});
    const {cpuQuota, cpuPeriod} = cgroups.limitsFor(grown);
    await cgroups.change(guaranteed, {cpuQuota: cpuQuota!, cpuPeriod: cpuPeriod!});
    t.like(await cgroups.limitsOf(guaranteed), {cpuQuota: 100_000, memoryLimitBytes: 1_048_576});
    await cgroups.ensure(grown);
    t.like(await cgroups.limitsOf(guaranteed), {memoryLimitBytes: 2_097_152});
    await cgroups.ensure(burstable);
    t.like(await cgroups.limitsOf(burstable), {cpuQuota: -1, memoryLimitBytes: undefined});
    t.is(await cgroups.limitsOf(guaranteed, 'no-container'), undefined);
    t.is(await cgroups.memoryOf(guaranteed, 'no-container'), undefined);
    stop();
  });

test('the group of a pod goes with what is in it, and so do those of pods that are gone', async t => {
  using host = await cgroupHost(1);
  const {cgroups, stop} = await aNode(host);
  await cgroups.start();
  await cgroups.ensure(guaranteed);
  await cgroups.ensure(burstable);
  const folder = join(host.root, 'cgroup/memory/kubepods');
  await host.makeFolder(join(folder, 'podu/container'), 0o755);
  await put(host, join(folder, 'podu/container/cgroup.procs'), '41\n42\n');
  // The runtime makes groups in the other trees.
  const frozen = join(host.root, 'cgroup/freezer/kubepods/podu');
  await host.makeFolder(frozen, 0o755);
  t.true(await cgroups.remove('u'));
  t.is(await host.status(frozen), undefined);
  t.deepEqual([...new Set(host.killed)], [41, 42]);
  t.is(await host.status(join(folder, 'podu')), undefined);
  await cgroups.sweep(uid => uid !== 'b');
  t.is(await host.status(join(folder, 'burstable/podb')), undefined);
  t.truthy(await host.status(join(folder, 'burstable')));
  stop();
});

for (const version of [1, 2] as const)
  test(`a root of the groups of pods that is not there ends the start, in version ${version}`, async t => {
    using host = await cgroupHost(version);
    const at = (path: string): string => join(host.root, 'cgroup', path);
    const start = async (): Promise<string> => {
      const {cgroups, stop} = await aNode(host, {root: '/own/pods'});
      const result = await cgroups.start().then(
        () => 'starts',
        (error: Error) => error.message,
      );
      stop();
      return result;
    };
    t.is(
      await start(),
      version === 1
        ? `invalid configuration: cgroup ["own" "pods"] has some missing paths: ${controllers.map(name => at(`${name}/own/pods`)).join(', ')}`
        : `invalid configuration: could not read controllers for cgroup ["own" "pods"]: open ${at('own/pods/cgroup.controllers')}: no such file or directory`,
    );
    if (version === 2) {
      await put(host, at('own/pods/cgroup.controllers'), 'cpu io');
      t.is(await start(), 'invalid configuration: cgroup ["own" "pods"] has some missing controllers: cpuset, hugetlb, memory, pids');
      await put(host, at('own/pods/cgroup.controllers'), unifiedNames);
    } else await (await cgroupHierarchy(host)).create('/own/pods');
    t.is(await start(), 'starts');
  });

test('without groups of pods containers are in the root', async t => {
  using host = await cgroupHost(1);
  const {cgroups} = await aNode(host, {perPod: false, root: '/own'});
  await cgroups.start();
  t.is(await cgroups.ensure(guaranteed), '/own');
  t.true(await cgroups.remove('u'));
});

test('what is reserved is a limit of its group, which must exist', async t => {
  using host = await cgroupHost(1);
  await host.makeFolder(join(host.root, 'cgroup/cpu/system'), 0o755);
  const made = await aNode(host, {enforced: new Set(['system-reserved-compressible']), systemGroup: '/system'});
  await made.cgroups.start();
  t.is(await textOf(host, join(host.root, 'cgroup/cpu/system/cpu.shares')), '1024');
  t.deepEqual(made.events, ['NodeAllocatableEnforced: Updated limits on system reserved cgroup /system']);
  made.stop();
  const {cgroups} = await aNode(host, {enforced: new Set(['system-reserved']), systemGroup: '/none'});
  await t.throwsAsync(cgroups.start(), {
    message: 'Failed to enforce System Reserved Cgroup Limits on "/none": /none cgroup does not exist',
  });
});

test('a limit that cannot be written is tried again each minute', async t => {
  using host = await cgroupHost(1);
  const writeInto = host.writeInto;
  let isBroken = true;
  host.writeInto = async (path, text) => {
    if (isBroken && path.endsWith('memory/kubepods/memory.limit_in_bytes')) throw new Error('busy');
    await writeInto(path, text);
  };
  const {cgroups, clock, events, stop} = await aNode(host);
  await cgroups.start();
  t.deepEqual(events, ['FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits "/kubepods": busy']);
  isBroken = false;
  await clock.advance(60_000);
  while (events.length < 2) await new Promise(resolve => setImmediate(resolve));
  t.is(events[1], 'NodeAllocatableEnforced: Updated Node Allocatable limit across pods');
  stop();
});

test('controllers that are missing are named', async t => {
  using host = folderHost();
  host.mounted.push({
    path: '/cpu',
    type: 'cgroup',
    root: '/',
    device: '0:1',
    source: 'cgroup',
    options: ['cpu', 'cpuacct'],
    isShared: false,
  });
  await t.throwsAsync(cgroupHierarchy(host), {
    message: 'system validation failed - Following Cgroup subsystem not mounted: [cpuset memory]',
  });
});

test('control groups that are measured say as before whether that of a pod is there', async t => {
  const missing = {...noCgroups(), exists: () => Promise.resolve(false)};
  const measured = measuredCgroups(missing, agentMetrics(noMeter, naming('plat')), new VirtualClock());

  t.false(await measured.exists!(aPod()));
});
