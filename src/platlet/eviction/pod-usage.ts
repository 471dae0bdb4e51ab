// What pods use of the resources that a node may run out of, and what they have requested of them.

import type {Frozen} from '#src/api/key.js';
import type {FilesystemStats, PodStats} from '#src/api/node/stats.js';
import type {Pod, Volume} from '#src/api/pod.js';
import {addQuantities, compareQuantities, parseQuantity, quantityOf, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {isPodLevelResource} from '#src/model/resource-names.js';
import {containerRequests} from '#src/model/pod/requests.js';
import type {DiskPart} from './disk-layout.js';
import type {StarvedResource} from './signals.js';

/** Returns the measurements of a pod, if there are any. */
export type StatsOf = (pod: Frozen<Pod>) => PodStats | undefined;

/** Whether a volume takes from the storage of the node as long as its pod is there. */
export const isLocalEphemeral = ({emptyDir, configMap, gitRepo}: Frozen<Volume>): boolean =>
  gitRepo !== undefined || configMap !== undefined || (emptyDir !== undefined && (emptyDir.medium ?? '') === '');

/** Whether a pod states resources for all its containers together: then those of the containers do not count. */
export const hasPodLevelResources = ({spec}: Frozen<Pod>): boolean =>
  [spec?.resources?.requests, spec?.resources?.limits].some(list => Object.keys(list ?? {}).some(isPodLevelResource));

/** Returns what a pod has requested of a resource. */
export const requestOf = (pod: Frozen<Pod>, resource: StarvedResource, withPodLevel: boolean): Quantity => {
  const text = pod.spec?.resources?.requests?.[resource];
  const own =
    withPodLevel && hasPodLevelResources(pod)
      ? text !== undefined && isPodLevelResource(resource)
        ? parseQuantity(text)
        : undefined
      : containerRequests(pod.spec!).get(resource);
  const request = own ?? zeroQuantity;
  const overhead = pod.spec?.overhead?.[resource];
  return overhead === undefined || compareQuantities(request, zeroQuantity) === 0
    ? request
    : addQuantities(request, parseQuantity(overhead));
};

export const memoryUsage = ({memoryBytes}: Pick<PodStats, 'memoryBytes'>): Quantity => quantityOf(memoryBytes, 'BinarySI');

const sum = (parts: readonly (FilesystemStats | undefined)[], of: 'usedBytes' | 'inodesUsed'): number =>
  parts.reduce((total, part) => total + (part?.[of] ?? 0), 0);

/** Returns what a pod takes of disks, of those of its parts that are asked for. */
export const diskUsage = (
  {spec}: Frozen<Pod>,
  {containers, volumes = []}: PodStats,
  parts: readonly DiskPart[],
  resource: 'ephemeral-storage' | 'inodes',
): Quantity => {
  const local = new Set((spec?.volumes ?? []).filter(each => each.hostPath || isLocalEphemeral(each)).map(({name}) => name));
  const measured = [
    ...(parts.includes('layers') ? containers.map(({rootfs}) => rootfs) : []),
    ...(parts.includes('logs') ? containers.map(({logs}) => logs) : []),
    ...(parts.includes('volumes') ? volumes.filter(({name}) => local.has(name)) : []),
  ];
  return resource === 'inodes' ? quantityOf(sum(measured, 'inodesUsed')) : quantityOf(sum(measured, 'usedBytes'), 'BinarySI');
};
