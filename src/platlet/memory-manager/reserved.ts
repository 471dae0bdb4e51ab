// The memory that `--reserved-memory` keeps on each NUMA node. Pure.

import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityValue,
  zeroQuantity,
  type Quantity,
} from '#src/api/quantity.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {ReservedMemory} from './state.js';

/** A row of the setting. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

export const isMemoryType = (name: string): boolean => name === 'memory' || name.startsWith('hugepages-');

/**
 * Returns the reserved memory of each NUMA node. Throws unless it adds up to what the node reserves, for each type, or
 * if the machine does not have one of the nodes.
 */
export const reservedMemory = (rows: readonly MemoryReservation[], nodes: readonly number[], reservation: ResourceList): ReservedMemory => {
  const totals = new Map<string, Quantity>();
  for (const {numaNode, limits} of rows) {
    if (!nodes.includes(numaNode))
      throw new Error(`the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`);
    for (const [type, text] of Object.entries(limits))
      totals.set(type, addQuantities(totals.get(type) ?? zeroQuantity, parseQuantity(text)));
  }
  for (const type of new Set([...totals.keys(), ...[...reservation.keys()].filter(isMemoryType)])) {
    const [total, expected] = [totals.get(type) ?? zeroQuantity, reservation.get(type) ?? zeroQuantity];
    if (compareQuantities(total, expected) !== 0)
      throw new Error(
        `the total amount "${formatQuantity(total)}" of type "${type}" is not equal to the value "${formatQuantity(expected)}" determined by Node Allocatable feature`,
      );
  }
  const found = new Map(nodes.map(id => [id, new Map<string, number>()]));
  for (const {numaNode, limits} of rows)
    for (const [type, text] of Object.entries(limits)) found.get(numaNode)!.set(type, Number(quantityValue(parseQuantity(text))));
  return found;
};
