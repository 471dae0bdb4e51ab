// The resources of containers, as the runtime writes them to cgroups.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity} from '#src/api/quantity.js';
import {podLimits, podRequests, type ResourceList} from '#src/model/pod/requests.js';
import {bytesOf, hugePageLimits, milliOf, milliOfShares, quotaOf, sharesOf} from '#src/platlet/cgroups/numbers.js';
import {limitsWithin} from '#src/platlet/pod/resources/pod-resources.js';
import {oomScoreAdj} from '#src/platlet/cgroups/oom-score.js';
import type {ContainerResources, SandboxUpdate} from '#src/platlet/runtime/configs.js';

export interface ResourceSettings {
  readonly enforcesCpuLimits: boolean;
  readonly cpuPeriod: number;
  readonly memoryCapacity: number;
  /** The sizes of huge pages of the host, such as `2MB`. */
  readonly pageSizes: readonly string[];
  /** Whether the OOM killer ends all processes of a container together; cgroups of version 2 only. */
  readonly killsGroups: boolean;
}

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

/** Returns the resources of a container. Limits of cpu and memory that it does not have are those of its pod. */
export const containerResources = (pod: Frozen<Pod>, container: Frozen<AnyContainer>, settings: ResourceSettings): ContainerResources => {
  const limits = listOf(container.resources?.limits);
  return {
    ...cpuAndMemory(listOf(container.resources?.requests), listOf(limitsWithin(pod.spec?.resources, container.resources ?? {})), settings),
    oomScoreAdj: oomScoreAdj(pod, container, settings.memoryCapacity),
    hugepageLimits: Object.entries(hugePageLimits(limits, settings.pageSizes)).map(([pageSize, limit]) => ({pageSize, limit})),
    ...(settings.killsGroups ? {unified: {'memory.oom.group': '1'}} : {}),
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
export const sandboxResources = (pod: Frozen<Pod>, settings: ResourceSettings): SandboxUpdate => {
  const withoutOverhead = {...pod, spec: {...pod.spec!, overhead: {}}};
  const {overhead} = pod.spec ?? {};
  return {
    resources: cpuAndMemory(podRequests(withoutOverhead), podLimits(withoutOverhead), settings),
    ...(overhead ? {overhead: cpuAndMemory(listOf(overhead), listOf(overhead), settings)} : {}),
  };
};
