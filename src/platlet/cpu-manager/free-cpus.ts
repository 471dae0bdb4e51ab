// The free CPUs of a machine while CPUs are taken from them for one container. Pure but for its own state.

import {
  cpusIn,
  cpusOf,
  idsAt,
  idsWithin,
  placesOf,
  type CpuLevel,
  type CpuPlaces,
  type CpuTopology,
} from '#src/platlet/topology/cpu-topology.js';
import {ascending, difference, union, type CpuSet, noCpus} from '#src/platlet/topology/cpuset.js';

/** How single CPUs are taken: core by core, or from all cores of a socket first. */
export type CpuOrder = 'packed' | 'spread';

const one = (id: number): ReadonlySet<number> => new Set([id]);

/** Takes CPUs until as many are taken as are needed. Fuller sockets, NUMA nodes, caches and cores come first. */
export class FreeCpus {
  readonly #topology: CpuTopology;
  readonly #order: CpuOrder;
  #free: CpuPlaces;
  #needed: number;
  #taken: CpuSet = noCpus;

  constructor(topology: CpuTopology, available: CpuSet, needed: number, order: CpuOrder) {
    this.#topology = topology;
    this.#order = order;
    this.#free = placesOf(topology.places, available);
    this.#needed = needed;
  }

  get taken(): CpuSet {
    return this.#taken;
  }

  /** The number of CPUs that are still to be taken; negative if too many were taken. */
  get needed(): number {
    return this.#needed;
  }

  get isSatisfied(): boolean {
    return this.#needed < 1;
  }

  get isShort(): boolean {
    return this.#needed > this.#free.size;
  }

  /** The larger one of sockets and NUMA nodes, and the smaller one. */
  get #levels(): readonly ['numaNode' | 'socket', 'numaNode' | 'socket'] {
    return this.#topology.sockets >= this.#topology.numaNodes ? ['numaNode', 'socket'] : ['socket', 'numaNode'];
  }

  /** Returns the free CPUs of a NUMA node. */
  ofNuma(id: number): CpuSet {
    return cpusIn(this.#free, 'numaNode', one(id));
  }

  /** Returns the least and the largest number of NUMA nodes that may be needed, for CPUs in groups. */
  numaRange(groupSize: number): readonly [number, number] {
    const {places, numaNodes} = this.#topology;
    const up = (amount: number, size: number): number => Math.floor((amount - 1) / size) + 1;
    const groups = up(this.#needed, groupSize);
    const groupsPerNuma = up(up(places.size, groupSize), numaNodes);
    return [up(groups, groupsPerNuma), Math.min(groups, idsAt(this.#free, 'numaNode').size)];
  }

  /** Returns the NUMA nodes, sockets, caches or cores that have free CPUs, those with fewer first. */
  sorted(level: CpuLevel): readonly number[] {
    const [outer, inner] = this.#levels;
    if (level === outer) return this.#byFreeCpus(level, idsAt(this.#free, level));
    const parent = level === inner ? outer : level === 'uncoreCache' ? 'numaNode' : inner;
    return this.sorted(parent).flatMap(id => this.#byFreeCpus(level, idsWithin(this.#free, level, parent, one(id))));
  }

  #byFreeCpus(level: CpuLevel, ids: ReadonlySet<number>): readonly number[] {
    const counts = new Map([...ids].map(id => [id, cpusIn(this.#free, level, one(id)).size]));
    return [...ids].sort((a, b) => counts.get(a)! - counts.get(b)! || a - b);
  }

  take(cpus: CpuSet): void {
    this.#taken = union(this.#taken, cpus);
    this.#free = placesOf(this.#free, difference(cpusOf(this.#free), cpus));
    this.#needed -= cpus.size;
  }

  /** Takes sockets or NUMA nodes as a whole, the larger ones first. */
  takeWholeNodes(): void {
    for (const level of this.#levels) this.#takeWhole(level);
  }

  takeWholeCores(): void {
    this.#takeWhole('core');
  }

  #takeWhole(level: CpuLevel): void {
    const {places, cpusPerSocket, cpusPerCore} = this.#topology;
    const all = (id: number): CpuSet => cpusIn(places, level, one(id));
    const size = (id: number): number => (level === 'socket' ? cpusPerSocket : level === 'core' ? cpusPerCore : all(id).size);
    for (const id of this.sorted(level).filter(each => cpusIn(this.#free, level, one(each)).size === size(each)))
      if (this.#needed >= all(id).size) this.take(all(id));
  }

  /** Takes caches as a whole, then CPUs of one cache if it has as many as are still needed. */
  takeCaches(): void {
    for (const cache of this.sorted('uncoreCache')) {
      if (this.#needed >= this.#topology.cpusPerUncoreCache) this.#takeWhole('uncoreCache');
      if (this.isSatisfied) return;
      this.#takeFrom(cache);
      if (this.isSatisfied) return;
    }
  }

  #takeFrom(cache: number): void {
    const {cpusPerCore} = this.#topology;
    const cores = ascending(idsWithin(this.#free, 'core', 'uncoreCache', one(cache))).slice(0, Math.ceil(this.#needed / cpusPerCore));
    const found = ascending(cpusIn(this.#free, 'core', new Set(cores)));
    // An odd number of CPUs needs one CPU of the last core only.
    const isOdd = this.#needed % 2 !== 0 && cpusPerCore > 1;
    const wanted = isOdd && found.length > this.#needed ? found.slice(0, -1) : found;
    if (wanted.length === this.#needed) this.take(new Set(wanted));
  }

  /** Takes single CPUs. */
  takeRest(): void {
    const level = this.#order === 'packed' ? 'core' : 'socket';
    for (const cpu of this.sorted(level).flatMap(id => ascending(cpusIn(this.#free, level, one(id))))) {
      this.take(one(cpu));
      if (this.isSatisfied) return;
    }
  }
}
