// What containers and pods run with, by the kernel or the runtime, in the terms of the API. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, ContainerStatus, Pod} from '#src/api/pod.js';
import {formatQuantity, milliQuantity, quantityOf} from '#src/api/quantity.js';
import {formatResourceList, podLimits, podRequests} from '#src/model/pod/requests.js';
import {leastShares, milliOfShares, sharesOf, weightOf} from '#src/platlet/cgroups/numbers.js';
import type {ActualResources} from '#src/platlet/runtime/limits.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import {cpuAndMemoryOf, type CpuAndMemory, type Requirements} from '#src/platlet/pod/resources/pod-resources.js';

/** The least limit of cpu that has an effect, in thousandths. */
const leastCpuLimit = 10;

/** Returns the request that the kernel has. Weights are coarse: one that is that of `expected` counts as this. */
const cpuRequestOf = ({cpuShares, cpuWeight}: ActualResources, expected: number): number | undefined => {
  if (cpuWeight !== undefined && cpuWeight === weightOf(sharesOf(expected))) return expected;
  return cpuShares === undefined ? undefined : milliOfShares(cpuShares) || undefined;
};

const cpuLimitOf = ({cpuQuota = -1, cpuPeriod = 0}: ActualResources): number | undefined =>
  cpuPeriod > 0 && cpuQuota > 0 ? Math.floor((cpuQuota * 1000) / cpuPeriod) || undefined : undefined;

/**
 * Returns what is known of the amounts that something runs with. Requests of memory are nowhere but in the agent's
 * notes, nor is anything else of a runtime that does not tell.
 */
const knownOf = (actual: ActualResources | undefined, actuated: CpuAndMemory): {readonly [K in keyof CpuAndMemory]: number | undefined} => {
  const memoryRequest = actuated.memoryRequest || undefined;
  if (!actual)
    return {
      cpuRequest: actuated.cpuRequest || undefined,
      cpuLimit: actuated.cpuLimit || undefined,
      memoryRequest,
      memoryLimit: actuated.memoryLimit || undefined,
    };
  return {
    cpuRequest: cpuRequestOf(actual, actuated.cpuRequest),
    cpuLimit: cpuLimitOf(actual),
    memoryRequest,
    memoryLimit: actual.memoryLimitBytes || undefined,
  };
};

type Amounts = Record<string, string>;

const cpuText = (milli: number): string => formatQuantity(milliQuantity(milli));
const bytesText = (bytes: number): string => formatQuantity(quantityOf(bytes, 'BinarySI'));

/** Returns amounts with those that are known; the others are as they were reported before. */
const updated = (
  allocated: Readonly<Amounts> | undefined,
  before: Readonly<Amounts> | undefined,
  {cpu, memory}: {readonly cpu: number | undefined; readonly memory: string | undefined},
  leastCpu: number,
): Amounts | undefined => {
  if (!allocated) return undefined;
  const amounts = {...allocated};
  const [oldCpu, oldMemory] = [before?.['cpu'], before?.['memory']];
  if (cpu === undefined) {
    if (oldCpu !== undefined) amounts['cpu'] = oldCpu;
    // Amounts below the least that has an effect are alike.
  } else if (cpu > leastCpu || cpuAndMemoryOf({requests: amounts}).cpuRequest > leastCpu) amounts['cpu'] = cpuText(cpu);
  const text = memory ?? oldMemory;
  if (text !== undefined) amounts['memory'] = text;
  return amounts;
};

/**
 * Returns the resources that the status of a pod shows of the pod itself: before it runs what is allocated to it, then
 * what its cgroup has.
 */
export const reportedPodResources = (
  pod: Frozen<Pod>,
  actual: ActualResources | undefined,
  before: Frozen<{readonly resources?: Requirements}> | undefined,
): {readonly resources: Requirements; readonly allocatedResources: Amounts} => {
  const [requests, limits] = [formatResourceList(podRequests(pod, {podLevel: true})), formatResourceList(podLimits(pod, {podLevel: true}))];
  if (pod.status?.phase !== 'Running') return {resources: {requests, limits}, allocatedResources: requests};
  const own = pod.spec?.resources ?? {};
  const {cpuRequest} = cpuAndMemoryOf({requests});
  const known = {cpuRequest: actual && cpuRequestOf(actual, cpuRequest), cpuLimit: actual && cpuLimitOf(actual)};
  const memoryRequest = own.requests?.['memory'] ?? requests['memory'];
  const memoryLimit = actual?.memoryLimitBytes ? bytesText(actual.memoryLimitBytes) : undefined;
  const {resources: old} = before ?? {};
  const shown = {
    requests: updated({...own.requests}, old?.requests, {cpu: known.cpuRequest, memory: memoryRequest}, leastShares),
    limits: updated({...own.limits}, old?.limits, {cpu: known.cpuLimit, memory: memoryLimit}, leastCpuLimit),
  };
  return {resources: shown as Requirements, allocatedResources: requests};
};

/** Returns the resources that the status of a container shows. */
export const reportedResources = (
  {resources: allocated = {}}: Frozen<AnyContainer>,
  instance: ContainerInstance,
  actuated: Requirements | undefined,
  before: Frozen<ContainerStatus> | undefined,
): Requirements => {
  if (instance.state !== 'running') return allocated;
  const known = knownOf(instance.resources, cpuAndMemoryOf(actuated));
  const isSameRun = before?.state?.running !== undefined && before.containerID?.endsWith(instance.id) === true;
  const old = isSameRun ? before.resources : undefined;
  const memoryLimit = known.memoryLimit === undefined ? undefined : bytesText(known.memoryLimit);
  const limits = updated(allocated.limits, old?.limits, {cpu: known.cpuLimit, memory: memoryLimit}, leastCpuLimit);
  const memoryRequest = known.memoryRequest === undefined ? undefined : actuated?.requests?.['memory'];
  const requests = updated(allocated.requests, old?.requests, {cpu: known.cpuRequest, memory: memoryRequest}, leastShares);
  return {...allocated, ...(limits ? {limits} : {}), ...(requests ? {requests} : {})};
};
