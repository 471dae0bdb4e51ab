import {linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {groupOfProcess, groupUsage} from '#src/platlet/cgroups/usage.js';
import {diskUsage} from '#src/platlet/stats/disk-usage.js';
import {interfacesOf} from '#src/platlet/stats/network.js';
import {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
import {VolumeUsage} from '#src/platlet/stats/volume-stats.js';
import {claimUsage, systemGroups} from '#src/platlet/stats/agent-stats.js';
import type {NodeStats} from '#src/api/node/stats.js';
import {machineSwap, readPressure, readSwap} from '#src/platlet/stats/pressure.js';
import {containerMetrics} from '#src/serving/agent/container-metrics.js';
import type {Family} from '#src/serving/agent/exposition.js';
import {resourceMetrics} from '#src/serving/agent/metrics.js';
import {summaryOf} from '#src/serving/agent/summary.js';

const never = new AbortController().signal;

test('the use of a folder counts files with several names once, and follows no links', async t => {
  const root = mkdtempSync(join(tmpdir(), 'platlet-du-'));
  mkdirSync(join(root, 'a', 'b'), {recursive: true});
  writeFileSync(join(root, 'a', 'b', 'file'), Buffer.alloc(64 << 10, 'x'));
  const before = (await diskUsage(root, never))!;
  linkSync(join(root, 'a', 'b', 'file'), join(root, 'again'));
  symlinkSync('/usr', join(root, 'link'));
  const after = (await diskUsage(root, never))!;

  t.true(before.bytes >= 64 << 10);
  t.is(before.inodes, 4);
  t.is(after.inodes, 5);
  t.true(after.bytes - before.bytes <= 4096);
  t.is(await diskUsage(join(root, 'none'), never), undefined);
  t.is(await diskUsage(root, never, 2), undefined);
  t.is(await diskUsage(root, AbortSignal.abort()), undefined);
  rmSync(root, {recursive: true});
});

test('interfaces are those of the kernel that lead out', t => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
  eth0: 5000 40 1 0 0 0 0 0 700 6 2 0 0 0 0 0
vethab:1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
`;
  t.deepEqual(interfacesOf(text), [{name: 'eth0', receivedBytes: 5000, receiveErrors: 1, sentBytes: 700, sendErrors: 2}]);
});

test('the use of a control group is read from files of both versions', async t => {
  const files: Readonly<Record<string, string>> = {
    '/v1/cpuacct/pods/cpuacct.usage': '5000000000\n',
    '/v1/memory/pods/memory.usage_in_bytes': '1000\n',
    '/v1/memory/pods/memory.stat': 'cache 1\ninactive_file 5\ntotal_rss 300\ntotal_inactive_file 400\n',
    '/v2/pods/cpu.stat': 'usage_usec 7000000\nuser_usec 1\n',
    '/v2/pods/memory.current': '2000\n',
    '/v2/pods/memory.stat': 'anon 900\ninactive_file 500\n',
  };
  const host = {read: (path: string) => Promise.resolve(files[path] === undefined ? undefined : Buffer.from(files[path]))};
  const v1 = {foldersOf: (group: string) => [`/v1/cpuacct${group}`, `/v1/memory${group}`]};
  t.deepEqual(await groupUsage(host, v1, '/pods'), {
    cpuNanoseconds: 5_000_000_000n,
    memoryBytes: 1000,
    workingSetBytes: 600,
    rssBytes: 300,
  });
  const v2 = {foldersOf: (group: string) => [`/v2${group}`]};
  t.deepEqual(await groupUsage(host, v2, '/pods'), {
    cpuNanoseconds: 7_000_000_000n,
    memoryBytes: 2000,
    workingSetBytes: 1500,
    rssBytes: 900,
  });
  t.is(await groupUsage(host, v2, '/none'), undefined);
  t.is(groupOfProcess('12:cpu,cpuacct:/a\n4:memory:/system/agent\n0::/\n'), '/system/agent');
  t.is(groupOfProcess('0::/system.slice/agent.service\n'), '/system.slice/agent.service');
});

test('pressure and swap are read from files of control groups', async t => {
  const text = 'some avg10=1.50 avg60=0.25 avg300=0.00 total=2000000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1000000\n';
  const files: Readonly<Record<string, string>> = {'cpu.pressure': text, 'memory.swap.current': '4096\n', 'memory.swap.max': '8192\n'};
  const read = async (name: string) => files[name];
  const cpu = {full: {total: 1_000_000, avg10: 0.5, avg60: 0, avg300: 0}, some: {total: 2_000_000, avg10: 1.5, avg60: 0.25, avg300: 0}};
  t.deepEqual(await readPressure(read, resource => `${resource}.pressure`), {cpu});
  t.deepEqual(await readSwap(read), {usageBytes: 4096, availableBytes: 4096});
  t.deepEqual(await readSwap(async name => (name === 'memory.swap.max' ? 'max\n' : '0\n')), {usageBytes: 0});
  t.is(await readSwap(async () => undefined), undefined);
  t.is(await readPressure(async () => undefined, String), undefined);
  t.deepEqual(machineSwap('SwapTotal:       2048 kB\nSwapFree:        1024 kB\n'), {usageBytes: 1_048_576, availableBytes: 1_048_576});
  const consumed = {cpuMillis: 1, cpuSeconds: 1, memoryBytes: 1, pressure: {cpu, io: cpu}, swap: {usageBytes: 4096, availableBytes: 4096}};
  const container = {...consumed, name: 'app', id: 'c', image: 'app', startedAt: 0, probes: []};
  const node: NodeStats = {
    ...consumed,
    name: 'node',
    time: 0,
    startedAt: 0,
    machine: {id: '', systemId: '', bootId: '', cores: 1, memoryBytes: 1, storageBytes: 1, imageBytes: 0},
    pods: [{...consumed, namespace: 'default', name: 'pod', uid: 'u', startedAt: 0, containers: [container]}],
    known: {pods: 1, active: 1, containers: {running: 1, exited: 0}},
  };
  const time = '1970-01-01T00:00:00Z';
  const shown = {cpu: {psi: cpu}, io: {time, psi: cpu}, swap: {time, swapAvailableBytes: 4096, swapUsageBytes: 4096}};
  t.like(summaryOf(node, {onlyCpuAndMemory: false}), {node: shown, pods: [{...shown, containers: [shown]}]});
  const valueOf = (families: readonly Family[], name: string) => families.find(each => each.name === name)?.samples.at(-1)?.[1];
  t.is(valueOf(containerMetrics(node), 'container_pressure_cpu_waiting_seconds_total'), 2);
  t.is(valueOf(containerMetrics(node), 'container_pressure_cpu_stalled_seconds_total'), 1);
  t.is(valueOf(containerMetrics(node), 'container_pressure_memory_stalled_seconds_total'), undefined);
  t.is(valueOf(resourceMetrics(node), 'container_swap_usage_bytes'), 4096);
  t.is(valueOf(resourceMetrics(node), 'container_swap_limit_bytes'), 8192);
});

const pod: Pod = {
  metadata: {name: 'pod', namespace: 'default', uid: 'u'},
  spec: {
    containers: [{name: 'app', image: 'app'}],
    volumes: [
      {name: 'scratch', emptyDir: {}},
      {name: 'memory', emptyDir: {medium: 'Memory'}},
      {name: 'data', persistentVolumeClaim: {claimName: 'claim'}},
      {name: 'host', hostPath: {path: '/'}},
    ],
  },
  status: {startTime: '2026-01-01T00:00:00Z'},
};

/** A pod with volumes on a file system of 1000 blocks. */
const aNode = async () => {
  const root = mkdtempSync(join(tmpdir(), 'platlet-stats-'));
  mkdirSync(join(root, 'logs', 'app'), {recursive: true});
  mkdirSync(join(root, 'scratch'));
  writeFileSync(join(root, 'logs', 'app', '0.log'), 'x'.repeat(500));
  const clock = new VirtualClock();
  const reads: number[] = [];
  const space = () => Promise.resolve({totalBytes: 1000, availableBytes: 400, inodes: 100, inodesFree: 30});
  const paths = new Map(['scratch', 'memory', 'data', 'host'].map(name => [name, join(root, 'scratch')]));
  const pods = () => [pod];
  const volumes = new VolumeUsage({
    clock,
    log: noLog,
    host: {space},
    periodMs: -1,
    signal: never,
    pods,
    mounted: () => new Map([...paths].map(([name, path]) => [name, {path}])),
  });
  await volumes.measure();
  const usage = {id: 'c', pod: {uid: 'u', namespace: 'default', name: 'pod'}, name: 'app', attempt: 0};
  const instance = {...usage, sandbox: 's', state: 'running', createdAt: 0, image: {image: 'app'}, imageRef: '', annotations: {}} as const;
  const stats = new NodeStatsReader({
    node: {
      name: 'node',
      machine: {machineId: 'm', systemId: 's', bootId: 'b', cores: 2, memoryBytes: 10_000, storageBytes: 1, architecture: 'amd64'} as never,
    },
    runtime: {
      containerUsage: async () => {
        reads.push(clock.now());
        return [
          {
            ...usage,
            cpu: {at: clock.now(), usageCoreNanoseconds: 3_000_000_000n},
            memory: {at: 0, workingSetBytes: 50, usageBytes: 70, rssBytes: 40, pageFaults: 9},
            writableLayer: {at: 0, mountpoint: '/images', usedBytes: 25, inodesUsed: 3},
          },
        ];
      },
      sandboxUsage: async () => [
        {id: 's', pod: usage.pod, network: {at: 0, interfaces: [{name: 'eth0', receivedBytes: 11}]}, processes: 2},
      ],
      imageFilesystems: async () => ({images: [{at: 0, mountpoint: '/images', usedBytes: 600}], containers: []}),
    },
    system: {
      files: {
        read: async path =>
          path === '/proc/loadavg' ? Buffer.from('0.1 0.2 0.3 2/77 9') : path.includes('max') ? Buffer.from('100') : undefined,
      },
      groups: [{name: 'pods', read: async () => ({cpuNanoseconds: 1_000_000_000n, memoryBytes: 9, workingSetBytes: 8, rssBytes: 7})}],
    },
    disks: {
      host: {
        space,
        list: async () => ['0.log'],
        status: async () => ({kind: 'file', mode: 0, uid: 0, gid: 0, bytes: 500, modifiedAt: 0}),
      },
      rootDir: root,
      volumesOf: uid => volumes.of(uid),
      logsOf: () => join(root, 'logs'),
    },
    clock,
    log: noLog,
    signal: never,
    pods: {shown: [pod], listed: [{pod: usage.pod, sandboxes: [], containers: [instance]}]},
  });
  return {stats, volumes, clock, reads, [Symbol.dispose]: () => rmSync(root, {recursive: true})};
};

test('the summary has what the containers, volumes, networks and file systems of a node use', async t => {
  using node = await aNode();
  const summary = summaryOf(await node.stats.read(), {onlyCpuAndMemory: false}) as Record<string, unknown>;
  const fs = {capacityBytes: 1000, availableBytes: 400, inodes: 100, inodesFree: 30};

  t.like(summary, {
    node: {
      nodeName: 'node',
      systemContainers: [{name: 'pods', cpu: {usageCoreNanoSeconds: 1e9}, memory: {workingSetBytes: 8, usageBytes: 9, rssBytes: 7}}],
      fs: {...fs, usedBytes: 600, inodesUsed: 70},
      runtime: {imageFs: {...fs, usedBytes: 600}, containerFs: {...fs, usedBytes: 600}},
      rlimit: {maxpid: 100, curproc: 77},
    },
  });
  const [shown] = summary['pods'] as readonly Record<string, unknown>[];
  t.like(shown, {
    podRef: {name: 'pod', namespace: 'default', uid: 'u'},
    containers: [
      {
        name: 'app',
        cpu: {usageCoreNanoSeconds: 3e9},
        memory: {workingSetBytes: 50, usageBytes: 70, rssBytes: 40, pageFaults: 9},
        rootfs: {...fs, usedBytes: 25, inodesUsed: 3},
        logs: {...fs, usedBytes: 500, inodesUsed: 2},
      },
    ],
    network: {name: 'eth0', rxBytes: 11, interfaces: [{name: 'eth0', rxBytes: 11}]},
    process_stats: {process_count: 2},
  });
  const volumes = shown!['volume'] as readonly {readonly name: string; readonly usedBytes: number; readonly pvcRef?: object}[];
  t.deepEqual(
    volumes.map(({name, pvcRef}) => [name, pvcRef]),
    [
      ['scratch', undefined],
      ['memory', undefined],
      ['data', {name: 'claim', namespace: 'default'}],
    ],
  );
  t.deepEqual(
    volumes.slice(1).map(({usedBytes}) => usedBytes),
    [600, 600],
  );
  t.is((shown!['ephemeral-storage'] as {readonly usedBytes: number}).usedBytes, 25 + 500 + volumes[0]!.usedBytes);
});

test('statistics are sampled each ten seconds, unless somebody reads them', async t => {
  using node = await aNode();
  const {clock, reads, stats} = node;
  const begun = clock.now();
  await clock.advance(15_000);
  await stats.read();
  await clock.advance(15_000);
  t.deepEqual(
    reads.map(at => (at - begun) / 1000),
    [10, 15, 30],
  );
});

test('a summary of processors and memory alone has nothing else', async t => {
  using node = await aNode();
  const summary = summaryOf(await node.stats.read(), {onlyCpuAndMemory: true}) as {readonly node: object; readonly pods: readonly object[]};
  t.deepEqual(Object.keys(summary.node), ['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory', 'swap']);
  t.deepEqual(Object.keys(summary.pods[0]!), ['podRef', 'startTime', 'containers', 'cpu', 'memory']);
});

test('readers at the same time share one measurement, and rates are of ten seconds', async t => {
  using node = await aNode();
  const [one, other] = await Promise.all([node.stats.read(), node.stats.read()]);
  t.is(one, other);
  t.not(await node.stats.read(), one);
});

test('claims are measured for the metrics of volumes', async t => {
  using node = await aNode();
  t.like(claimUsage([pod], node.volumes), [{namespace: 'default', claim: 'claim', capacityBytes: 1000, usedBytes: 600, inodesFree: 30}]);
});

test('the group of the runtime is measured if it is known', async t => {
  const files: Readonly<Record<string, string>> = {
    '/proc/self/cgroup': '0::/agent\n',
    ...Object.fromEntries(
      ['/agent', '/runtime', '/root/kubepods'].flatMap((group, index) => [
        [`/cg${group}/cpu.stat`, `usage_usec ${index}\n`],
        [`/cg${group}/memory.current`, '1\n'],
      ]),
    ),
  };
  const host = {read: async (path: string) => (files[path] === undefined ? undefined : Buffer.from(files[path]))};
  const settings = {cgroupRoot: 'root', cgroupsPerQOS: true};
  const hierarchy = {foldersOf: (group: string) => [`/cg${group}`]} as never;
  const measuredBy = async (runtimeGroup: string) => {
    const groups = systemGroups({host, settings, naming: naming('kubernetes'), runtimeGroup}, hierarchy);
    return Promise.all(groups.map(async ({name, read}) => `${name} ${(await read())?.cpuNanoseconds}`));
  };
  t.deepEqual(await measuredBy('/runtime'), ['kubelet 0', 'runtime 1000', 'pods 2000']);
  t.deepEqual(await measuredBy(''), ['kubelet 0', 'pods 2000']);
});
