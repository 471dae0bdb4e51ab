// What a node has, and what of it pods may use.

import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {Machine} from './machine.js';

export interface CapacitySettings {
  readonly maxPods: number;
  /** 0 is no limit. */
  readonly podsPerCore: number;
  /** Whether local storage counts. */
  readonly localStorage: boolean;
  /** What is kept from pods, by resource: one map for each purpose. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
  /** What hard eviction thresholds keep free, in bytes by resource. */
  readonly evictionReserve: Readonly<Record<string, number>>;
}

type Amounts = Record<string, string>;

const kibi = (bytes: number): string => `${Math.floor(bytes / 1024)}Ki`;

/** Returns the capacity of a machine. */
export const capacityOf = (
  {cores, memoryBytes, hugepages, storageBytes}: Machine,
  {maxPods, podsPerCore, localStorage}: Pick<CapacitySettings, 'maxPods' | 'podsPerCore' | 'localStorage'>,
): Amounts => ({
  cpu: String(cores),
  ...(localStorage ? {'ephemeral-storage': kibi(storageBytes)} : {}),
  ...Object.fromEntries(Object.entries(hugepages).map(([size, bytes]) => [`hugepages-${size}`, bytes === 0 ? '0' : kibi(bytes)])),
  memory: kibi(memoryBytes),
  pods: String(podsPerCore > 0 ? Math.min(podsPerCore * cores, maxPods) : maxPods),
});

/** In thousandths for processors, in whole units for all else. */
const amountOf = (resource: string, text: string): number => {
  const amount = quantityNumber(parseQuantity(text));
  return resource === 'cpu' ? Math.round(amount * 1000) : amount;
};

const written = (resource: string, amount: number, capacity: string): string => {
  if (resource === 'cpu') return amount % 1000 === 0 ? String(amount / 1000) : `${amount}m`;
  return capacity.endsWith('Ki') && amount % 1024 === 0 ? kibi(amount) : String(Math.floor(amount));
};

/** Returns what pods may use: the capacity without what is reserved, and never below 0. Memory is without huge pages, which are in pools of their own. */
export const allocatableOf = (
  capacity: Readonly<Record<string, string>>,
  {reserved, evictionReserve, localStorage}: Pick<CapacitySettings, 'reserved' | 'evictionReserve' | 'localStorage'>,
): Amounts => {
  const pages = Object.entries(capacity).reduce((sum, [name, text]) => sum + (name.startsWith('hugepages-') ? amountOf(name, text) : 0), 0);
  return Object.fromEntries(
    Object.entries(capacity)
      .filter(([name]) => localStorage || name !== 'ephemeral-storage')
      .map(([name, text]) => {
        const kept = reserved.reduce((sum, map) => sum + amountOf(name, map[name] ?? '0'), 0) + (evictionReserve[name] ?? 0);
        const left = Math.max(0, amountOf(name, text) - kept - (name === 'memory' ? pages : 0));
        return [name, kept === 0 && !(name === 'memory' && pages > 0) ? text : written(name, left, text)];
      }),
  );
};
