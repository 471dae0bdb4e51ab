// The resources of containers, as the runtime writes them to cgroups.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity} from '#src/api/quantity.js';
import {podLimits, podRequests, type ResourceList} from '#src/model/pod/requests.js';
import {bytesOf, hugePageLimits, milliOf, milliOfShares, quotaOf, sharesOf} from '#src/platlet/cgroups/numbers.js';
import {limitsWithin} from '#src/platlet/pod/resources/pod-resources.js';
import {oomScoreAdj} from '#src/platlet/cgroups/oom-score.js';
import type {ContainerResources, SandboxUpdate} from '#src/platlet/runtime/configs.js';
import {memoryQos, swapLimits, type MemoryQosSettings, type SwapSettings} from './memory.js';

export interface ResourceSettings {
  readonly enforcesCpuLimits: boolean;
  readonly cpuPeriod: number;
  readonly memoryCapacity: number;
  /** The sizes of huge pages of the host, such as `2MB`. */
  readonly pageSizes: readonly string[];
  /** Whether the OOM killer ends all processes of a container together; cgroups of version 2 only. */
  readonly killsGroups: boolean;
  /** Absent where the kernel cannot limit swap. */
  readonly swap?: SwapSettings | undefined;
  /** Absent where memory is not protected. */
  readonly memoryQos?: MemoryQosSettings | undefined;
}

/** What the resource managers of the node have assigned to a container. */
export interface AssignedResources {
  /** The CPUs and the NUMA nodes that it may use; empty: all. */
  readonly cpus: string;
  readonly memoryNodes: string;
  /** Whether its cpu limit is not enforced by a quota, since the CPUs are its own. */
  readonly isUnthrottled: boolean;
}

const unlimitedQuota = -1;

const listOf = (list: Readonly<Record<string, string>> | undefined): ResourceList =>
  new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));

const cpuAndMemory = (
  requests: ResourceList,
  limits: ResourceList,
  {enforcesCpuLimits, cpuPeriod}: ResourceSettings,
): ContainerResources => {
  const cpuLimit = milliOf(limits.get('cpu'));
  const memory = bytesOf(limits.get('memory'));
  return {
    // A limit without a request is the request, too.
    cpuShares: sharesOf(requests.has('cpu') ? milliOf(requests.get('cpu')) : cpuLimit),
    ...(enforcesCpuLimits ? {cpuPeriod, cpuQuota: quotaOf(cpuLimit, cpuPeriod)} : {}),
    ...(memory > 0 ? {memoryLimitBytes: memory} : {}),
  };
};

const withoutQuota = (resources: ContainerResources): ContainerResources =>
  resources.cpuQuota === undefined ? resources : {...resources, cpuQuota: unlimitedQuota};

/** Returns the resources of a container. Limits of cpu and memory that it does not have are those of its pod. */
export const containerResources = (
  pod: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  settings: ResourceSettings,
  assigned?: AssignedResources,
): ContainerResources => {
  const limits = listOf(container.resources?.limits);
  const own = cpuAndMemory(
    listOf(container.resources?.requests),
    listOf(limitsWithin(pod.spec?.resources, container.resources ?? {})),
    settings,
  );
  const {swap, memoryCapacity: memoryBytes} = settings;
  const swapped = swap && swapLimits(pod, container, swap, {memoryBytes, limitBytes: own.memoryLimitBytes ?? 0});
  const unified = {
    ...(settings.killsGroups ? {'memory.oom.group': '1'} : {}),
    ...swapped?.unified,
    ...(settings.memoryQos && memoryQos(container, settings.memoryQos)),
  };
  return {
    ...(assigned?.isUnthrottled ? withoutQuota(own) : own),
    ...swapped,
    ...(assigned?.cpus ? {cpusetCpus: assigned.cpus} : {}),
    ...(assigned?.memoryNodes ? {cpusetMems: assigned.memoryNodes} : {}),
    oomScoreAdj: oomScoreAdj(pod, container, settings.memoryCapacity),
    hugepageLimits: Object.entries(hugePageLimits(limits, settings.pageSizes)).map(([pageSize, limit]) => ({pageSize, limit})),
    ...(Object.keys(unified).length > 0 ? {unified} : {}),
  };
};

/** Returns what a runtime is told of a pod whose group has these limits. */
export const sandboxUpdate = (pod: Frozen<Pod>, limits: ContainerResources, settings: ResourceSettings): SandboxUpdate => {
  const {overhead} = sandboxResources(pod, settings);
  if (!overhead) return {resources: limits};
  const {cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes} = limits;
  const {cpu, memory} = pod.spec?.overhead ?? {};
  return {
    overhead,
    resources: {
      ...limits,
      ...(cpuShares === undefined ? {} : {cpuShares: sharesOf(milliOfShares(cpuShares) - milliOf(cpu))}),
      ...(cpuQuota === undefined ? {} : {cpuQuota: cpuQuota - quotaOf(milliOf(cpu), cpuPeriod)}),
      ...(memoryLimitBytes === undefined ? {} : {memoryLimitBytes: memoryLimitBytes - bytesOf(memory)}),
    },
  };
};

/** Returns the summed resources of the containers of a pod, and the pod overhead. */
export const sandboxResources = (pod: Frozen<Pod>, settings: ResourceSettings, isUnthrottled = false): SandboxUpdate => {
  const withoutOverhead = {...pod, spec: {...pod.spec!, overhead: {}}};
  const {overhead} = pod.spec ?? {};
  const own = cpuAndMemory(podRequests(withoutOverhead), podLimits(withoutOverhead), settings);
  return {
    resources: isUnthrottled ? withoutQuota(own) : own,
    ...(overhead ? {overhead: cpuAndMemory(listOf(overhead), listOf(overhead), settings)} : {}),
  };
};
