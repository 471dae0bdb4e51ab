// Limits of the storage that pods take on the disk of their node.

import type {Frozen} from '#src/api/key.js';
import type {PodStats} from '#src/api/node/stats.js';
import {ephemeralUsage} from '#src/api/node/ephemeral-usage.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, formatQuantity, parseQuantity, quantityOf, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {podLimits} from '#src/model/pod/requests.js';

const resource = 'ephemeral-storage';

/** A limit that a pod exceeds. */
export interface StorageExcess {
  /** As evictions are counted. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
}

const bytes = (amount: number): Quantity => quantityOf(amount, 'BinarySI');
const q = (quantity: Quantity | string): string => JSON.stringify(typeof quantity === 'string' ? quantity : formatQuantity(quantity));

const emptyDirExcess = ({spec}: Frozen<Pod>, {volumes = []}: PodStats): StorageExcess | undefined => {
  for (const {name, emptyDir} of spec?.volumes ?? []) {
    const used = volumes.find(volume => volume.name === name)?.usedBytes;
    if (emptyDir?.sizeLimit === undefined || used === undefined) continue;
    const limit = parseQuantity(emptyDir.sizeLimit);
    if (compareQuantities(limit, zeroQuantity) > 0 && compareQuantities(bytes(used), limit) > 0)
      return {signal: 'emptydirfs.limit', message: `Usage of EmptyDir volume ${q(name)} exceeds the limit ${q(limit)}. `};
  }
  return undefined;
};

const podExcess = (pod: Frozen<Pod>, stats: PodStats): StorageExcess | undefined => {
  const limit = podLimits(pod).get(resource);
  if (!limit || compareQuantities(bytes(ephemeralUsage(stats).usedBytes), limit) <= 0) return undefined;
  return {
    signal: 'ephemeralpodfs.limit',
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `,
  };
};

const containerExcess = ({spec}: Frozen<Pod>, {containers}: PodStats, hasImageDisk: boolean): StorageExcess | undefined => {
  for (const {name, logs, rootfs} of containers) {
    const text = spec?.containers.find(container => container.name === name)?.resources?.limits?.[resource];
    const limit = text === undefined ? zeroQuantity : parseQuantity(text);
    const used = (logs?.usedBytes ?? 0) + (hasImageDisk ? 0 : (rootfs?.usedBytes ?? 0));
    if (compareQuantities(limit, zeroQuantity) !== 0 && compareQuantities(bytes(used), limit) > 0)
      return {signal: 'ephemeralcontainerfs.limit', message: `Container ${name} exceeded its local ephemeral storage limit ${q(limit)}. `};
  }
  return undefined;
};

/**
 * Returns the first limit of local storage that a pod exceeds: of an empty folder, of the pod, of a container.
 * `hasImageDisk`: what containers write is on a file system of its own, and counts for the pod alone.
 */
export const storageExcess = (pod: Frozen<Pod>, stats: PodStats, hasImageDisk: boolean): StorageExcess | undefined =>
  emptyDirExcess(pod, stats) ?? podExcess(pod, stats) ?? containerExcess(pod, stats, hasImageDisk);
