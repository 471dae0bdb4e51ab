import test from 'ava';
import {formatCpuSet, parseCpuSet} from '#src/platlet/topology/cpuset.js';
import {cpusIn} from '#src/platlet/topology/cpu-topology.js';
import {readTopology} from '#src/platlet/topology/read.js';
import {reservedCpus, withReservedCpus} from '#src/platlet/topology/reserved-cpus.js';
import {sysfsHost, sysfsOf} from './sysfs.js';

const whole = {memoryBytes: 2 ** 30, hugePages: [{pageBytes: 2 ** 21, count: 3}]};

test('a set of CPUs is read and written in the notation of the kernel', t => {
  for (const [text, list] of [
    ['', []],
    ['5', [5]],
    ['1,2,3,4,5', [1, 2, 3, 4, 5]],
    ['1-5', [1, 2, 3, 4, 5]],
    ['1-2,3-5', [1, 2, 3, 4, 5]],
    ['5,1-2', [1, 2, 5]],
  ] as const)
    t.deepEqual(
      [...parseCpuSet(text)].sort((a, b) => a - b),
      [...list],
      text,
    );
  for (const text of ['', '0-3,7', '1,3,5-6']) t.is(formatCpuSet(parseCpuSet(text)), text);
});

for (const [text, message] of [
  ['nonnumeric', 'strconv.Atoi: parsing "nonnumeric": invalid syntax'],
  ['1,', 'strconv.Atoi: parsing "": invalid syntax'],
  ['-1', 'strconv.Atoi: parsing "": invalid syntax'],
  ['1--2', 'invalid range "1--2" (1 > -2)'],
  ['4-2', 'invalid range "4-2" (4 > 2)'],
] as const)
  test(`the set of CPUs "${text}" is refused`, t => {
    t.throws(() => parseCpuSet(text), {message});
  });

test('sockets, NUMA nodes, cores, caches and memory are read from sysfs', async t => {
  const files = sysfsOf({sockets: 2, numaPerSocket: 2, coresPerNuma: 2, threads: 2, memoryBytes: 2 ** 32, coresPerCache: 1});

  const {cpu, nodes} = await readTopology(sysfsHost(files), whole);

  const {places, ...counts} = cpu;
  t.deepEqual(counts, {cores: 8, sockets: 2, numaNodes: 4, uncoreCaches: 8, cpusPerCore: 2, cpusPerSocket: 8, cpusPerUncoreCache: 2});
  t.deepEqual(places.get(11), {numaNode: 1, socket: 0, core: 3, uncoreCache: 3});
  t.is(formatCpuSet(cpusIn(places, 'socket', new Set([1]))), '4-7,12-15');
  t.deepEqual(nodes[3], {
    id: 3,
    memoryBytes: 2 ** 30,
    hugePages: [{pageBytes: 2 ** 21, count: 4}],
    distances: [21, 21, 21, 10],
  });
});

test('CPUs that are offline are left out, and a cache of a whole NUMA node counts as none', async t => {
  const {cpu} = await readTopology(sysfsHost(sysfsOf({sockets: 2, coresPerNuma: 2, online: '0-2'})), whole);

  t.deepEqual([...cpu.places.keys()].sort(), [0, 1, 2]);
  t.is(cpu.places.get(2)!.uncoreCache, 2 - 1);
});

test('a machine without NUMA nodes in sysfs has one', async t => {
  const files = [...sysfsOf({sockets: 1, coresPerNuma: 2})].filter(([path]) => !path.includes('/node/'));

  const {cpu, nodes} = await readTopology(sysfsHost(new Map(files)), whole);

  t.is(cpu.numaNodes, 1);
  t.deepEqual(nodes, [{id: 0, ...whole, distances: [10]}]);
});

test('reserved CPUs must be on the machine, and take the place of the reserved amounts of cpu', async t => {
  const {cpu} = await readTopology(sysfsHost(sysfsOf({sockets: 1, coresPerNuma: 4})), whole);
  const settings = {kubeReserved: {cpu: '1', memory: '1Gi'}, systemReserved: {cpu: '200m', pid: '10'}};

  const {kubeReserved, systemReserved} = withReservedCpus(settings, reservedCpus('0,2', cpu));

  t.deepEqual([kubeReserved, systemReserved], [{memory: '1Gi'}, {cpu: '2', pid: '10'}]);
  t.is(withReservedCpus(settings, reservedCpus('', cpu)), settings);
  t.throws(() => reservedCpus('0-4', cpu), {message: 'reserved-cpus: 0-4 is not a subset of online-cpus: 0-3'});
  t.throws(() => reservedCpus('x', cpu), {message: 'unable to parse reserved-cpus list: strconv.Atoi: parsing "x": invalid syntax'});
});
