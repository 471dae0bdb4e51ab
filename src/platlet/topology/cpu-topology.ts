// The CPUs of a machine: threads of cores, in sockets, NUMA nodes and groups with a common cache. Pure.

import type {CpuSet} from './cpuset.js';

/** Where a CPU is. A core has the id of its first CPU, so that ids are unique on the machine. */
export interface CpuPlace {
  readonly numaNode: number;
  readonly socket: number;
  readonly core: number;
  /** The last-level cache that only some cores of the NUMA node share; the socket, if there is none. */
  readonly uncoreCache: number;
}

export type CpuLevel = keyof CpuPlace;

/** The place of each CPU. */
export type CpuPlaces = ReadonlyMap<number, CpuPlace>;

export interface CpuTopology {
  readonly places: CpuPlaces;
  readonly cores: number;
  readonly sockets: number;
  readonly numaNodes: number;
  readonly uncoreCaches: number;
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
  readonly cpusPerUncoreCache: number;
}

/** Returns the CPUs of some places. */
export const cpusOf = (places: CpuPlaces): CpuSet => new Set(places.keys());

/** Returns the ids at a level: of all NUMA nodes or all sockets, for example. */
export const idsAt = (places: CpuPlaces, level: CpuLevel): ReadonlySet<number> =>
  new Set(Array.from(places.values(), place => place[level]));

/** Returns the CPUs in some sockets, NUMA nodes, caches or cores. */
export const cpusIn = (places: CpuPlaces, level: CpuLevel, ids: ReadonlySet<number>): CpuSet =>
  new Set([...places].filter(([, place]) => ids.has(place[level])).map(([cpu]) => cpu));

/** Returns the ids at one level in those at another: the cores in a socket, for example. */
export const idsWithin = (places: CpuPlaces, level: CpuLevel, outer: CpuLevel, ids: ReadonlySet<number>): ReadonlySet<number> =>
  new Set(Array.from(places.values()).flatMap(place => (ids.has(place[outer]) ? [place[level]] : [])));

/** Returns the places of some CPUs. */
export const placesOf = (places: CpuPlaces, cpus: CpuSet): CpuPlaces => new Map([...places].filter(([cpu]) => cpus.has(cpu)));

/** Counts what is at each level. */
export const topologyOf = (places: CpuPlaces): CpuTopology => {
  const [cores, sockets, numaNodes, uncoreCaches] = (['core', 'socket', 'numaNode', 'uncoreCache'] as const).map(
    level => idsAt(places, level).size,
  ) as [number, number, number, number];
  const per = (count: number): number => (count === 0 ? 0 : Math.floor(places.size / count));
  return {
    places,
    cores,
    sockets,
    numaNodes,
    uncoreCaches,
    cpusPerCore: per(cores),
    cpusPerSocket: per(sockets),
    cpusPerUncoreCache: per(uncoreCaches),
  };
};

/** Whether CPUs share a last-level cache. */
export const sharesUncoreCache = ({places}: CpuTopology, cpus: CpuSet): boolean => idsAt(placesOf(places, cpus), 'uncoreCache').size <= 1;
