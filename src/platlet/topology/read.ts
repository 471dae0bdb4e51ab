// Reads the CPUs and the NUMA nodes of a machine from sysfs.

import {join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';
import {topologyOf, type CpuPlace, type CpuTopology} from './cpu-topology.js';
import {ascending, intersection, parseCpuSet, type CpuSet} from './cpuset.js';

/** A NUMA node. Sizes in bytes. */
export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly {readonly pageBytes: number; readonly count: number}[];
  /** The distances to all NUMA nodes, in the order of their ids; undefined if the system does not report them. */
  readonly distances?: readonly number[];
}

/** The CPUs and the memory of a machine. */
export interface MachineTopology {
  readonly cpu: CpuTopology;
  readonly nodes: readonly NumaNode[];
}

/** What is used if the system reports no NUMA nodes. */
export interface WholeMachine {
  readonly memoryBytes: number;
  /** The total size of huge pages by page size. */
  readonly hugePages: readonly {readonly pageBytes: number; readonly count: number}[];
}

type Sysfs = Pick<Host, 'read' | 'list'>;

const devices = '/sys/devices/system';
const lastPrivateLevel = 2;

const textOf = async (host: Sysfs, path: string): Promise<string | undefined> =>
  (await host.read(path).catch(() => undefined))?.toString().trim();

const numberAt = async (host: Sysfs, path: string): Promise<number | undefined> => {
  const text = await textOf(host, path);
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
};

const numbered = (names: readonly string[], prefix: string): number[] =>
  ascending(names.flatMap(name => new RegExp(`^${prefix}(\\d+)$`).exec(name)?.[1] ?? []).map(Number));

/** A CPU as sysfs shows it. */
interface Thread {
  readonly cpu: number;
  readonly numaNode: number;
  readonly socket: number;
  readonly core: number;
}

const cpuFolder = (cpu: number): string => join(devices, 'cpu', `cpu${cpu}`);

const readThread = async (host: Sysfs, cpu: number, numaNode: number): Promise<Thread> => {
  const topology = join(cpuFolder(cpu), 'topology');
  const [socket, core] = await Promise.all(['physical_package_id', 'core_id'].map(name => numberAt(host, join(topology, name))));
  return {cpu, numaNode, socket: Math.max(socket ?? 0, 0), core: core ?? cpu};
};

/** Returns the id of the cache that a CPU shares with some of the CPUs of its NUMA node only. */
const uncoreCacheOf = async (host: Sysfs, cpu: number, cpusOfNode: number): Promise<number | undefined> => {
  const folder = join(cpuFolder(cpu), 'cache');
  for (const index of numbered(await host.list(folder), 'index')) {
    const at = join(folder, `index${index}`);
    const level = await numberAt(host, join(at, 'level'));
    if (level === undefined || level <= lastPrivateLevel) continue;
    const sharing = parseCpuSet((await textOf(host, join(at, 'shared_cpu_list'))) ?? '');
    if (sharing.size !== cpusOfNode) return (await numberAt(host, join(at, 'id'))) ?? Math.min(...sharing);
  }
  return undefined;
};

/** Returns the CPUs that are online. */
const onlineCpus = async (host: Sysfs): Promise<CpuSet> => {
  const folder = join(devices, 'cpu');
  const online = await textOf(host, join(folder, 'online'));
  return online ? parseCpuSet(online) : new Set(numbered(await host.list(folder), 'cpu'));
};

const placesOfThreads = async (host: Sysfs, threads: readonly Thread[]): Promise<ReadonlyMap<number, CpuPlace>> => {
  const coreOf = ({numaNode, socket, core}: Thread): string => `${numaNode} ${socket} ${core}`;
  const firstOf = new Map(threads.toSorted((a, b) => b.cpu - a.cpu).map(thread => [coreOf(thread), thread.cpu]));
  const cacheOf = new Map<number, number | undefined>();
  for (const cpus of perNode(threads).values())
    for (const first of firstOf.values()) if (cpus.has(first)) cacheOf.set(first, await uncoreCacheOf(host, first, cpus.size));
  return new Map(
    threads.map(thread => {
      const {cpu, numaNode, socket} = thread;
      const core = firstOf.get(coreOf(thread))!;
      return [cpu, {numaNode, socket, core, uncoreCache: cacheOf.get(core) ?? socket}];
    }),
  );
};

const perNode = (threads: readonly Thread[]): ReadonlyMap<number, CpuSet> =>
  new Map(threads.map(({numaNode}) => [numaNode, new Set(threads.flatMap(thread => (thread.numaNode === numaNode ? [thread.cpu] : [])))]));

const readHugePages = async (host: Sysfs, folder: string): Promise<NumaNode['hugePages']> => {
  const names = await host.list(folder);
  return Promise.all(
    names.flatMap(name => {
      const kib = /^hugepages-(\d+)kB$/.exec(name)?.[1];
      if (kib === undefined) return [];
      return [numberAt(host, join(folder, name, 'nr_hugepages')).then(count => ({pageBytes: Number(kib) * 1024, count: count ?? 0}))];
    }),
  );
};

const readNode = async (host: Sysfs, id: number): Promise<NumaNode> => {
  const folder = join(devices, 'node', `node${id}`);
  const memory = /MemTotal:\s*(\d+) kB/.exec((await textOf(host, join(folder, 'meminfo'))) ?? '')?.[1];
  const distances = await textOf(host, join(folder, 'distance'));
  return {
    id,
    memoryBytes: Number(memory ?? 0) * 1024,
    hugePages: await readHugePages(host, join(folder, 'hugepages')),
    ...(distances ? {distances: distances.split(/\s+/).map(Number)} : {}),
  };
};

/** Reads the CPUs and the memory of a machine. A machine whose kernel reports no NUMA nodes has one. */
export const readTopology = async (host: Sysfs, whole: WholeMachine): Promise<MachineTopology> => {
  const online = await onlineCpus(host);
  const ids = numbered(await host.list(join(devices, 'node')), 'node');
  const threads: Thread[] = [];
  for (const id of ids) {
    const listed = parseCpuSet((await textOf(host, join(devices, 'node', `node${id}`, 'cpulist'))) ?? '');
    const cpus = ascending(intersection(listed, online));
    threads.push(...(await Promise.all(cpus.map(cpu => readThread(host, cpu, id)))));
  }
  if (threads.length === 0) threads.push(...(await Promise.all([...online].map(cpu => readThread(host, cpu, 0)))));
  const nodes = await Promise.all(ids.map(id => readNode(host, id)));
  return {
    cpu: topologyOf(await placesOfThreads(host, threads)),
    nodes: nodes.length > 0 ? nodes : [{id: 0, ...whole, distances: [10]}],
  };
};
