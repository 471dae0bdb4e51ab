import test from 'ava';
import {join} from 'node:path';
import {sliceNames, sliceOf} from '#src/platlet/cgroups/driver.js';
import {removeGroup, type CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {limitProperties, systemdHierarchy, systemdUnits, type Units} from '#src/platlet/cgroups/systemd.js';
import {folderHost} from '#test/platlet/host.js';

for (const [group, path] of [
  ['/', '/'],
  ['/kubepods', '/kubepods.slice'],
  ['/kubepods/burstable', '/kubepods.slice/kubepods-burstable.slice'],
  ['/kubepods/burstable/pod123-456', '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod123_456.slice'],
  ['/kubepods/podu', '/kubepods.slice/kubepods-podu.slice'],
  ['/my-node/kubepods', '/my_node.slice/my_node-kubepods.slice'],
] as const)
  test(`a cgroup is a slice with the names of its parents: ${group}`, t => {
    t.is(sliceNames.pathOf(group), path);
  });

test('a pod is found again by its slice, and a container has the scope of its runtime', t => {
  t.is(sliceNames.nameOf('kubepods-burstable-pod123_456.slice'), 'pod123-456');
  t.is(sliceNames.nameOf('cpu.max'), 'cpu.max');
  const group = '/kubepods/pod1-2';
  t.is(sliceNames.pathOf(sliceNames.containerIn(group, 'abc')), '/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-abc.scope');
  t.is(sliceNames.containerIn(group, ''), group);
  t.is(sliceOf('/'), '-.slice');
});

test('systemd gets the limits of a slice', t => {
  const limits = {cpuShares: 512, cpuQuota: 50_500, cpuPeriod: 100_000, memoryBytes: 100, memoryMin: 50, pids: 7};
  t.deepEqual(limitProperties(limits, 2), [
    ['CPUWeight', 't', '20'],
    ['CPUQuotaPerSecUSec', 't', '510000'],
    ['CPUQuotaPeriodUSec', 't', '100000'],
    ['MemoryMax', 't', '100'],
    ['MemoryMin', 't', '50'],
    ['TasksMax', 't', '7'],
  ]);
  t.deepEqual(limitProperties({cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000, memoryBytes: 1}, 1), [
    ['CPUShares', 't', '2'],
    ['CPUQuotaPerSecUSec', 't', '18446744073709551615'],
    ['CPUQuotaPeriodUSec', 't', '100000'],
    ['MemoryLimit', 't', '1'],
  ]);
});

test('slices are started and limited by systemd before their files are written, and stopped before they are removed', async t => {
  using host = folderHost();
  const calls: string[] = [];
  const inner: CgroupHierarchy = {
    version: 2,
    foldersOf: group => [join(host.root, group)],
    allFoldersOf: group => [join(host.root, group)],
    problemOf: async () => undefined,
    async create(group) {
      calls.push(`create ${group}`);
      await host.makeFolder(join(host.root, group), 0o755);
    },
    apply: async group => void calls.push(`apply ${group}`),
    limitsOf: async () => undefined,
  };
  const units: Units = {
    start: async name => void calls.push(`start ${name}`),
    set: async (name, properties) => void calls.push(`set ${name} ${properties.map(property => property.join(' ')).join(', ')}`),
    stop: async name => void calls.push(`stop ${name}`),
  };
  const slices = systemdHierarchy(inner, units, async folder => (await host.status(folder)) !== undefined);
  await slices.create('/kubepods/podu');
  await slices.apply('/kubepods/podu', {pids: 5});
  await slices.apply('/kubepods/podu', {hugePages: {'2MB': 0}});
  t.true(await removeGroup(host, slices, '/kubepods/podu'));
  t.true(await removeGroup(host, slices, '/kubepods/podnone'));
  t.deepEqual(calls, [
    'start kubepods-podu.slice',
    'create /kubepods.slice/kubepods-podu.slice',
    'set kubepods-podu.slice TasksMax t 5',
    'apply /kubepods.slice/kubepods-podu.slice',
    'apply /kubepods.slice/kubepods-podu.slice',
    'stop kubepods-podu.slice',
  ]);
});

test('units are managed by the programs of systemd', async t => {
  const calls: string[] = [];
  let answer = {exitCode: 0, output: ''};
  const units = systemdUnits({
    async execute(program, args) {
      calls.push([program, ...args].join(' '));
      return answer;
    },
  });
  await units.start('a.slice', [
    ['Description', 's', 'x y'],
    ['Wants', 'as', '1', '-.slice'],
  ]);
  await units.set('a.slice', [['TasksMax', 't', '5']]);
  answer = {exitCode: 5, output: 'Unit a.slice not loaded.\n'};
  await units.stop('a.slice');
  answer = {exitCode: 1, output: 'Failed to connect to bus\n'};
  await t.throwsAsync(units.stop('a.slice'), {message: 'Failed to connect to bus'});
  const manager = 'busctl call -- org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager';
  t.deepEqual(calls, [
    `${manager} StartTransientUnit ssa(sv)a(sa(sv)) a.slice replace 2 Description s x y Wants as 1 -.slice 0`,
    'systemctl start a.slice',
    `${manager} SetUnitProperties sba(sv) a.slice true 1 TasksMax t 5`,
    'systemctl stop a.slice',
    'systemctl stop a.slice',
  ]);
});
