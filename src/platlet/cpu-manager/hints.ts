// The NUMA nodes on which CPUs can be allocated. Pure.

import {cpusIn, idsAt, idsWithin, type CpuTopology} from '#src/platlet/topology/cpu-topology.js';
import {ascending, type CpuSet} from '#src/platlet/topology/cpuset.js';
import type {TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {countOf, hasNode, masksOf, nodesOf, type NumaMask} from '#src/platlet/topology-manager/mask.js';

export interface CpuHintRequest {
  readonly available: CpuSet;
  /** The CPUs that the pod has already: all of them must be on the nodes of a hint. */
  readonly reusable: CpuSet;
  readonly count: number;
  /** Whether all nodes of as few sockets as possible are preferred. */
  readonly alignsBySocket: boolean;
}

/** Returns the hints for a number of CPUs. Those with the fewest NUMA nodes are preferred. */
export const cpuHints = (topology: CpuTopology, {available, reusable, count, alignsBySocket}: CpuHintRequest): readonly TopologyHint[] => {
  const {places} = topology;
  const nodes = ascending(idsAt(places, 'numaNode'));
  const isOn = (mask: NumaMask, cpu: number): boolean => hasNode(mask, places.get(cpu)?.numaNode ?? 0);
  const usable = [...available];
  let least = nodes.length;
  const found: NumaMask[] = [];
  for (const mask of masksOf(nodes)) {
    if (cpusIn(places, 'numaNode', new Set(nodesOf(mask))).size >= count) least = Math.min(least, countOf(mask));
    if (![...reusable].every(cpu => isOn(mask, cpu))) continue;
    if (reusable.size + usable.filter(cpu => isOn(mask, cpu)).length >= count) found.push(mask);
  }
  return found.map(affinity => ({
    affinity,
    isPreferred: countOf(affinity) === least || (alignsBySocket && isSocketAligned(topology, affinity, least)),
  }));
};

/** Whether the nodes of a mask are in as few sockets as so many nodes can be. */
const isSocketAligned = ({places, numaNodes, sockets}: CpuTopology, mask: NumaMask, least: number): boolean => {
  const perSocket = Math.floor(numaNodes / sockets);
  if (perSocket === 0) return false;
  return idsWithin(places, 'socket', 'numaNode', new Set(nodesOf(mask))).size === Math.ceil(least / perSocket);
};
