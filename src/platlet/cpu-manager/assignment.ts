// Which CPUs a container gets. Pure.

import type {CpuTopology} from '#src/platlet/topology/cpu-topology.js';
import {union, type CpuSet} from '#src/platlet/topology/cpuset.js';
import {bestDistribution} from './distribution.js';
import {FreeCpus, type CpuOrder} from './free-cpus.js';

export interface AssignmentRequest {
  readonly topology: CpuTopology;
  readonly available: CpuSet;
  readonly count: number;
  readonly order: CpuOrder;
}

const begin = ({topology, available, count, order}: AssignmentRequest): FreeCpus => {
  const free = new FreeCpus(topology, available, count, order);
  if (!free.isSatisfied && free.isShort)
    throw new Error(`not enough cpus available to satisfy request: requested=${count}, available=${available.size}`);
  return free;
};

/**
 * Returns CPUs on as few NUMA nodes, sockets, caches and cores as possible. Throws if there are not enough.
 */
export const takePacked = (request: AssignmentRequest, alignsCaches: boolean = false): CpuSet => {
  const free = begin(request);
  const steps = [
    () => free.takeWholeNodes(),
    ...(alignsCaches ? [() => free.takeCaches()] : []),
    ...(request.order === 'packed' ? [() => free.takeWholeCores()] : []),
    () => free.takeRest(),
  ];
  for (const step of steps) {
    if (free.isSatisfied) return free.taken;
    step();
  }
  if (!free.isSatisfied) throw new Error('failed to allocate cpus');
  return free.taken;
};

/**
 * Returns CPUs that are distributed evenly over the least number of NUMA nodes on which they fit, in groups of a size;
 * packed, if they cannot be distributed. Throws if there are not enough.
 */
export const takeDistributed = (request: AssignmentRequest, groupSize: number): CpuSet => {
  const {topology, count, order} = request;
  if (count % groupSize !== 0) return takePacked(request);
  const free = begin(request);
  if (free.isSatisfied) return free.taken;
  const chosen = bestDistribution(free, count, groupSize);
  if (!chosen) return takePacked(request);
  const takeFrom = (numa: number, some: number): void =>
    free.take(takePacked({topology, available: free.ofNuma(numa), count: some, order}));
  for (const numa of chosen.nodes) takeFrom(numa, chosen.each);
  while (free.needed > 0) {
    const before = free.needed;
    for (const numa of chosen.remainder) if (free.needed > 0 && free.ofNuma(numa).size >= groupSize) takeFrom(numa, groupSize);
    if (free.needed === before) throw new Error(`accounting error, not enough CPUs allocated, remaining: ${free.needed}`);
  }
  if (free.needed < 0) throw new Error(`accounting error, too many CPUs allocated, remaining: ${free.needed}`);
  return free.taken;
};

/** Returns CPUs, those of a preferred set first. Throws if there are not enough. */
export const takePreferring = (
  preferred: CpuSet,
  available: CpuSet,
  count: number,
  take: (from: CpuSet, some: number) => CpuSet,
): CpuSet => {
  const first = take(preferred, Math.min(preferred.size, count));
  return union(first, take(new Set([...available].filter(cpu => !first.has(cpu))), count - first.size));
};
