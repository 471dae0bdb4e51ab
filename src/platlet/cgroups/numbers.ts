// The values of cgroup files. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseQuantity, quantityMilliValue, quantityValue, type Quantity} from '#src/api/quantity.js';
import {podQosClass, type PodQosClass} from '#src/model/pod/qos.js';
import {podLimits, podRequests, type ResourceList} from '#src/model/pod/requests.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';

/** The range of cpu shares that the kernel accepts. */
export const leastShares = 2;
const mostShares = 262_144;
const sharesOfCpu = 1024;

/** The default CFS period and the smallest quota, in microseconds. */
export const cpuPeriod = 100_000;
const leastQuota = 1000;

const resourceOf = (list: ResourceList, name: string): Quantity | undefined => list.get(name);

/** Returns a quantity of cpu in millicores; 0 if absent. */
export const milliOf = (amount: Quantity | string | undefined): number =>
  amount === undefined ? 0 : Number(quantityMilliValue(typeof amount === 'string' ? parseQuantity(amount) : amount));

/** Returns a quantity in bytes; 0 if absent. */
export const bytesOf = (amount: Quantity | string | undefined): number =>
  amount === undefined ? 0 : Number(quantityValue(typeof amount === 'string' ? parseQuantity(amount) : amount));

/** Converts millicores to cpu shares. */
export const sharesOf = (milli: number): number => Math.min(mostShares, Math.max(leastShares, Math.floor((milli * sharesOfCpu) / 1000)));

/** Converts cpu shares to millicores. */
export const milliOfShares = (shares: number): number => (shares < leastShares ? 0 : Math.ceil((shares * 1000) / sharesOfCpu));

/** Converts cpu shares to the cpu weight of cgroup version 2. */
export const weightOf = (shares: number): number => Math.floor(1 + ((shares - leastShares) * 9999) / (mostShares - leastShares));

/** Converts the cpu weight of cgroup version 2 to cpu shares. */
export const sharesOfWeight = (weight: number): number => Math.floor(((weight - 1) * (mostShares - leastShares)) / 9999 + leastShares);

/** Returns the CFS quota in microseconds per period of a limit in millicores; 0 is no limit. */
export const quotaOf = (milli: number, period: number = cpuPeriod): number =>
  milli === 0 ? 0 : Math.max(leastQuota, Math.floor((milli * period) / 1000));

export interface PodCgroupSettings {
  /** Whether cpu limits are enforced. */
  readonly enforcesCpuLimits: boolean;
  readonly cpuPeriod: number;
  /** The pids limit of a pod; absent: the limit of the node. */
  readonly podPids?: number;
  /** Whether requested memory is protected. */
  readonly protectsMemory?: boolean;
}

/** Whether every container has a limit of a resource, so that their sum limits the pod. A limit of 0 counts as none. */
const allHaveLimit = ({spec}: Frozen<Pod>, resource: string): boolean =>
  spec?.resources?.limits?.[resource] !== undefined ||
  [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].every(({resources}) => bytesOf(resources?.limits?.[resource]) > 0);

/** Returns the hugetlb limits, for the page sizes that the host supports. */
export const hugePageLimits = (limits: ResourceList, pageSizes: readonly string[]): Record<string, number> => {
  const bytes = new Map(pageSizes.map(size => [size, 0]));
  for (const [name, amount] of limits) {
    if (!name.startsWith('hugepages-')) continue;
    const size = pageSizeName(bytesOf(name.slice('hugepages-'.length)));
    bytes.set(size, (bytes.get(size) ?? 0) + bytesOf(amount));
  }
  return Object.fromEntries(bytes);
};

/** Returns a huge page size as in cgroup file names: `2MB`, `1GB`. */
export const pageSizeName = (bytes: number): string => {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && size % 1024 === 0 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size}${units[unit]}`;
};

/** Returns the limits of a pod's cgroup. */
export const podCgroupLimits = (pod: Frozen<Pod>, settings: PodCgroupSettings, pageSizes: readonly string[] = []): CgroupLimits => {
  const requests = podRequests(pod, {podLevel: true});
  const limits = podLimits(pod, {podLevel: true});
  const qos = podQosClass(pod as Pod);
  const cpu = milliOf(resourceOf(limits, 'cpu'));
  const memory = bytesOf(resourceOf(limits, 'memory'));
  const limitsCpu = settings.enforcesCpuLimits && cpu > 0 && (qos === 'Guaranteed' || allHaveLimit(pod, 'cpu'));
  const limitsMemory = memory > 0 && (qos === 'Guaranteed' || allHaveLimit(pod, 'memory'));
  return {
    cpuShares: qos === 'BestEffort' ? leastShares : sharesOf(milliOf(resourceOf(requests, 'cpu'))),
    ...(qos === 'BestEffort' ? {} : {cpuQuota: limitsCpu ? quotaOf(cpu, settings.cpuPeriod) : 0, cpuPeriod: settings.cpuPeriod}),
    ...(limitsMemory ? {memoryBytes: memory} : {}),
    ...(settings.protectsMemory ? protectedMemory([pod]) : {}),
    ...(settings.podPids === undefined ? {} : {pids: settings.podPids}),
    hugePages: hugePageLimits(limits, pageSizes),
  };
};

/** Returns the memory that is protected for pods: the sum of their requests. */
export const protectedMemory = (pods: readonly Frozen<Pod>[]): Pick<CgroupLimits, 'memoryMin'> => {
  const bytes = pods.reduce((sum, pod) => sum + bytesOf(podRequests(pod, {podLevel: true}).get('memory')), 0);
  return bytes > 0 ? {memoryMin: bytes} : {};
};

/** Returns the cpu shares of the cgroup of Burstable pods: the sum of their requests. */
export const burstableShares = (pods: readonly Frozen<Pod>[]): number =>
  sharesOf(
    pods
      .filter(pod => podQosClass(pod as Pod) === 'Burstable')
      .reduce((sum, pod) => sum + milliOf(podRequests(pod, {podLevel: true}).get('cpu')), 0),
  );

/**
 * Returns the memory limits of the QoS cgroups under `--qos-reserved`, by the percentage of the requests of higher
 * classes.
 */
export const reservedMemoryLimits = (
  pods: readonly Frozen<Pod>[],
  allocatableBytes: number,
  percent: number,
): Readonly<Record<Exclude<PodQosClass, 'Guaranteed'>, number>> => {
  const requested = (qos: PodQosClass): number =>
    pods
      .filter(pod => podQosClass(pod as Pod) === qos)
      .reduce((sum, pod) => sum + bytesOf(podRequests(pod, {podLevel: true}).get('memory')), 0);
  const burstable = allocatableBytes - Math.floor((requested('Guaranteed') * percent) / 100);
  return {Burstable: burstable, BestEffort: burstable - Math.floor((requested('Burstable') * percent) / 100)};
};
