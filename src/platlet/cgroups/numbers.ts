// The numbers of cgroups. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseQuantity, quantityMilliValue, quantityValue, type Quantity} from '#src/api/quantity.js';
import {podQosClass, type PodQosClass} from '#src/model/pod/qos.js';
import {podLimits, podRequests, type ResourceList} from '#src/model/pod/requests.js';

/** Shares of cpu that the kernel takes. */
export const leastShares = 2;
const mostShares = 262_144;
const sharesOfCpu = 1024;

/** The period of cpu limits, in microseconds, and the least that a limit leaves of it. */
export const cpuPeriod = 100_000;
const leastQuota = 1000;

const resourceOf = (list: ResourceList, name: string): Quantity | undefined => list.get(name);

/** Returns an amount of cpu in thousandths; 0 for none. */
export const milliOf = (amount: Quantity | string | undefined): number =>
  amount === undefined ? 0 : Number(quantityMilliValue(typeof amount === 'string' ? parseQuantity(amount) : amount));

/** Returns an amount of bytes; 0 for none. */
export const bytesOf = (amount: Quantity | string | undefined): number =>
  amount === undefined ? 0 : Number(quantityValue(typeof amount === 'string' ? parseQuantity(amount) : amount));

/** Returns the shares of an amount of cpu in thousandths. */
export const sharesOf = (milli: number): number => Math.min(mostShares, Math.max(leastShares, Math.floor((milli * sharesOfCpu) / 1000)));

/** Returns the weight in cgroups of version 2 that shares amount to. */
export const weightOf = (shares: number): number => Math.floor(1 + ((shares - leastShares) * 9999) / (mostShares - leastShares));

/** Returns the microseconds of each period that a limit in thousandths leaves; 0 is no limit. */
export const quotaOf = (milli: number, period: number = cpuPeriod): number =>
  milli === 0 ? 0 : Math.max(leastQuota, Math.floor((milli * period) / 1000));

/** What a cgroup is limited to. What is undefined stays as it is. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** 0: none. */
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
  /** Bytes by the size of pages, such as `2MB`. */
  readonly hugePages?: Readonly<Record<string, number>>;
}

export interface PodCgroupSettings {
  /** Whether cpu limits are enforced. */
  readonly enforcesCpuLimits: boolean;
  readonly cpuPeriod: number;
  /** The most processes of a pod; absent: as many as the node has. */
  readonly podPids?: number;
}

/** Whether every container has a limit, so that the sum of them limits the pod. Those that are none do not count. */
const allHaveLimit = ({spec}: Frozen<Pod>, resource: string): boolean =>
  spec?.resources?.limits?.[resource] !== undefined ||
  [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].every(({resources}) => bytesOf(resources?.limits?.[resource]) > 0);

/** Returns the limits of huge pages, by the sizes that the host has. */
export const hugePageLimits = (limits: ResourceList, pageSizes: readonly string[]): Record<string, number> => {
  const bytes = new Map(pageSizes.map(size => [size, 0]));
  for (const [name, amount] of limits) {
    if (!name.startsWith('hugepages-')) continue;
    const size = pageSizeName(bytesOf(name.slice('hugepages-'.length)));
    bytes.set(size, (bytes.get(size) ?? 0) + bytesOf(amount));
  }
  return Object.fromEntries(bytes);
};

/** Returns how the kernel's cgroups name a size of pages: `2MB`, `1GB`. */
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
    ...(settings.podPids === undefined ? {} : {pids: settings.podPids}),
    hugePages: hugePageLimits(limits, pageSizes),
  };
};

/** Returns the shares of the group of Burstable pods: what they request together. */
export const burstableShares = (pods: readonly Frozen<Pod>[]): number =>
  sharesOf(
    pods
      .filter(pod => podQosClass(pod as Pod) === 'Burstable')
      .reduce((sum, pod) => sum + milliOf(podRequests(pod, {podLevel: true}).get('cpu')), 0),
  );

/** Returns the memory limits of the groups of pods under `--qos-reserved`, by a percentage of what others request. */
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
