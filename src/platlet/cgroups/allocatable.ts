// The allocatable resources of a node: capacity minus reservations. Pure.

import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantityOf,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '#src/api/quantity.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import {bytesOf, milliOf, sharesOf} from './numbers.js';

/** What is reserved and not available to pods. */
export interface Reservation {
  /** For the agent and the runtime. */
  readonly agent: ResourceList;
  /** For other system processes. */
  readonly system: ResourceList;
  /** The hard eviction thresholds by resource: quantities, or fractions of the capacity. */
  readonly threshold: ReadonlyMap<string, Quantity | number>;
}

const reservedOf = ({agent, system}: Pick<Reservation, 'agent' | 'system'>, name: string): Quantity =>
  addQuantities(agent.get(name) ?? zeroQuantity, system.get(name) ?? zeroQuantity);

const thresholdOf = ({threshold}: Reservation, name: string, capacity: Quantity): Quantity => {
  const amount = threshold.get(name);
  if (amount === undefined) return zeroQuantity;
  return typeof amount === 'number' ? quantityOf(Math.floor(bytesOf(capacity) * amount), 'BinarySI') : amount;
};

/** Returns the allocatable amount of each resource. */
export const nodeAllocatable = (capacity: ResourceList, reservation: Reservation): ResourceList =>
  new Map(
    [...capacity].map(([name, amount]) => {
      if (name.startsWith('hugepages-')) return [name, amount];
      const left = subtractQuantities(subtractQuantities(amount, reservedOf(reservation, name)), thresholdOf(reservation, name, amount));
      return [name, compareQuantities(left, zeroQuantity) < 0 ? zeroQuantity : left];
    }),
  );

/**
 * Returns what is reserved of each resource in all, with eviction thresholds; none of resources that are not reserved.
 */
export const totalReservation = (capacity: ResourceList, reservation: Reservation): ResourceList =>
  new Map(
    [...capacity].flatMap(([name, amount]) => {
      const total = addQuantities(reservedOf(reservation, name), thresholdOf(reservation, name, amount));
      return compareQuantities(total, zeroQuantity) === 0 ? [] : [[name, total]];
    }),
  );

/** Throws if more is reserved than the capacity of the node. */
export const checkReservation = (capacity: ResourceList, reservation: Reservation): void => {
  for (const [name, amount] of capacity) {
    const reserved = addQuantities(reservedOf(reservation, name), thresholdOf(reservation, name, amount));
    if (compareQuantities(reserved, amount) > 0)
      throw new Error(
        `invalid Node Allocatable configuration. Resource ${JSON.stringify(name)} has a reservation of ${formatQuantity(reserved)} but capacity of ${formatQuantity(amount)}. Expected capacity >= reservation`,
      );
  }
};

/**
 * Returns the limits of the cgroup of all pods. Eviction thresholds are not subtracted: the node evicts pods before the
 * kernel kills processes.
 */
export const podsLimits = (capacity: ResourceList, reservation: Reservation, isEnforced: boolean): CgroupLimits => {
  const left = (name: string): Quantity | undefined => {
    const amount = capacity.get(name);
    return amount && isEnforced ? subtractQuantities(amount, reservedOf(reservation, name)) : amount;
  };
  const memory = bytesOf(left('memory'));
  const pids = bytesOf(left('pid'));
  return {
    cpuShares: sharesOf(milliOf(left('cpu'))),
    ...(memory > 0 ? {memoryBytes: memory} : {}),
    ...(pids > 0 ? {pids} : {}),
  };
};

/** Returns the limits of the cgroup of reserved resources. `compressible`: of cpu only. */
export const reservedLimits = (reserved: ResourceList, part: 'all' | 'compressible'): CgroupLimits => {
  const memory = bytesOf(reserved.get('memory'));
  const pids = bytesOf(reserved.get('pid'));
  return {
    ...(reserved.has('cpu') ? {cpuShares: sharesOf(milliOf(reserved.get('cpu')))} : {}),
    ...(part === 'all' && memory > 0 ? {memoryBytes: memory} : {}),
    ...(part === 'all' && pids > 0 ? {pids} : {}),
  };
};
