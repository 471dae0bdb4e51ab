// The capacity and the allocatable resources of a node.

import {compareQuantities, parseQuantity, subtractQuantities, zeroQuantity} from '#src/api/quantity.js';
import {formatResourceList, type ResourceList} from '#src/model/pod/requests.js';
import {nodeAllocatable, type Reservation} from '#src/platlet/cgroups/allocatable.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {isHard, thresholdsOf, type ThresholdSettings} from '#src/platlet/eviction/thresholds.js';
import type {Machine} from './machine.js';

export interface CapacitySettings {
  readonly maxPods: number;
  /** 0 is no limit. */
  readonly podsPerCore: number;
  /** Whether ephemeral storage is reported. */
  readonly localStorage: boolean;
  readonly reservation: Reservation;
}

/** The numbers of devices as the Node shows them. */
export interface DeviceCapacity {
  readonly capacity: ReadonlyMap<string, number>;
  readonly allocatable: ReadonlyMap<string, number>;
  /** The resources whose plugins have been gone for long. */
  readonly removed: readonly string[];
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

/** Returns parsed quantities. */
export const parsedAmounts = (amounts: Readonly<Record<string, string>>): ResourceList =>
  new Map(Object.entries(amounts).map(([name, text]) => [name, parseQuantity(text)]));

/** The resource of each eviction signal. */
const reservingSignals: Readonly<Record<string, string>> = {'memory.available': 'memory', 'nodefs.available': 'ephemeral-storage'};

/** Returns the reservations of a configuration. `withThresholds`: with the hard eviction thresholds. */
export const reservationOf = (
  {kubeReserved, systemReserved, ...settings}: Pick<Settings, 'kubeReserved' | 'systemReserved'> & ThresholdSettings,
  withThresholds: boolean,
): Reservation => ({
  agent: parsedAmounts(kubeReserved),
  system: parsedAmounts(systemReserved),
  threshold: new Map(
    (withThresholds ? thresholdsOf(settings) : []).flatMap(threshold => {
      const resource = reservingSignals[threshold.signal];
      return resource && isHard(threshold) ? [[resource, threshold.value] as const] : [];
    }),
  ),
});

/**
 * Returns the allocatable resources: capacity minus reservations, never negative. Memory excludes huge pages, which are
 * preallocated.
 */
export const allocatableOf = (
  capacity: Readonly<Record<string, string>>,
  {reservation, localStorage}: Pick<CapacitySettings, 'reservation' | 'localStorage'>,
): Amounts => {
  const all = parsedAmounts(capacity);
  if (!localStorage) all.delete('ephemeral-storage');
  const left = nodeAllocatable(all, reservation);
  let memory = left.get('memory');
  if (memory) {
    for (const [name, pages] of all) if (name.startsWith('hugepages-')) memory = subtractQuantities(memory, pages);
    left.set('memory', compareQuantities(memory, zeroQuantity) < 0 ? zeroQuantity : memory);
  }
  return formatResourceList(left);
};
