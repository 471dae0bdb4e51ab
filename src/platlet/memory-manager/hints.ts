// The NUMA nodes on which memory can be allocated. Pure.

import type {ResourceHints, TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {countOf, isNarrower, maskOf, masksOf, nodesOf, type NumaMask} from '#src/platlet/topology-manager/mask.js';
import {allocatableOn, excludesGroup, freeOn, type MachineMemory, type MemoryBlock} from './state.js';

/** Amounts in bytes, by type. */
export type MemoryRequest = ReadonlyMap<string, number>;

/** Returns the memory of a type on exactly these nodes that the pod has and may use again. */
export type ReusableMemory = (mask: NumaMask, type: string) => number;

/** A hint that names its nodes. */
export interface MemoryHint extends TopologyHint {
  readonly affinity: NumaMask;
}

/**
 * Returns the hints for all types of memory together. Those with the fewest NUMA nodes are preferred. A node that is
 * used alone is not used together with others, nor the other way round.
 */
export const memoryHints = (machine: MachineMemory, request: MemoryRequest, reusable: ReusableMemory): readonly MemoryHint[] => {
  const ids = [...machine.keys()].sort((a, b) => a - b);
  let least = ids.length;
  const found: NumaMask[] = [];
  for (const mask of masksOf(ids)) {
    const nodes = nodesOf(mask);
    if ([...request].some(([type, bytes]) => allocatableOn(machine, nodes, type) < bytes)) continue;
    least = Math.min(least, nodes.length);
    if (nodes.length === 1 ? machine.get(nodes[0]!)!.group.length > 1 : excludesGroup(machine, nodes)) continue;
    if ([...request].every(([type, bytes]) => freeOn(machine, nodes, type) + reusable(mask, type) >= bytes)) found.push(mask);
  }
  return found.map(affinity => ({affinity, isPreferred: countOf(affinity) === least}));
};

/** Returns the preferred hint with the fewest nodes. */
export const bestHint = (hints: readonly MemoryHint[]): MemoryHint | undefined =>
  hints.reduce<MemoryHint | undefined>((best, hint) => {
    if (!best || (hint.isPreferred && !best.isPreferred)) return hint;
    return hint.isPreferred === best.isPreferred && isNarrower(hint.affinity, best.affinity) ? hint : best;
  }, undefined);

/** Returns the hints of blocks that are assigned; undefined if they are not those that are requested. */
export const hintsOfBlocks = (blocks: readonly MemoryBlock[], request: MemoryRequest): ResourceHints | undefined => {
  if (blocks.length !== request.size || blocks.some(({type, bytes}) => request.get(type) !== bytes)) return undefined;
  return Object.fromEntries(blocks.map(({type, nodes}) => [type, [{affinity: maskOf(nodes), isPreferred: true}]]));
};
