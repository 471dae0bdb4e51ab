// What containers are told about memory beside its limit: how much of it may be swapped, and at which usage it is
// protected and throttled.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {bytesOf} from '#src/platlet/cgroups/numbers.js';
import type {ContainerResources} from '#src/platlet/runtime/configs.js';

/** How pods may use the swap of a machine whose cgroups can limit it. */
export interface SwapSettings {
  readonly cgroupVersion: 1 | 2;
  readonly swapBytes: number;
  /** Whether a container may use a part of it; the others use none. */
  mayUse(pod: Frozen<Pod>, container: Frozen<AnyContainer>): boolean;
}

/** How memory is protected and throttled, with cgroups of version 2. */
export interface MemoryQosSettings {
  /** Where between request and limit throttling begins: 0 to 1. */
  readonly throttlingFactor: number;
  /** Returns the memory that pods can have in all, in bytes. */
  allocatable(): number;
}

const pageBytes = 4096;

/**
 * Returns the swap that a container may use, in bytes: its part of the memory of the machine, of all swap. 0 if it
 * requests more memory than there is.
 */
export const swapPart = (requestBytes: number, memoryBytes: number, swapBytes: number): number =>
  memoryBytes <= 0 || requestBytes > memoryBytes ? 0 : Math.trunc((requestBytes / memoryBytes) * swapBytes);

/** Returns the settings of a container's swap, whose limit of memory is given in bytes; 0 is none. */
export const swapLimits = (
  pod: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  {cgroupVersion, swapBytes, mayUse}: SwapSettings,
  {memoryBytes, limitBytes}: {readonly memoryBytes: number; readonly limitBytes: number},
): Pick<ContainerResources, 'unified' | 'memorySwapLimitBytes'> => {
  // The limit of memory and swap together.
  if (cgroupVersion === 1) return limitBytes > 0 ? {memorySwapLimitBytes: limitBytes} : {};
  const request = bytesOf(container.resources?.requests?.['memory']);
  return {unified: {'memory.swap.max': String(mayUse(pod, container) ? swapPart(request, memoryBytes, swapBytes) : 0)}};
};

/** Returns from where on the memory of a container is throttled, in whole pages. */
export const throttledFrom = (requestBytes: number, mostBytes: number, factor: number): number =>
  Math.floor((requestBytes + (mostBytes - requestBytes) * factor) / pageBytes) * pageBytes;

/** Returns the files of a container's cgroup that protect what it requests, and throttle it before it is killed. */
export const memoryQos = (
  {resources}: Frozen<AnyContainer>,
  {throttlingFactor, allocatable}: MemoryQosSettings,
): Readonly<Record<string, string>> => {
  const [request, limit] = [bytesOf(resources?.requests?.['memory']), bytesOf(resources?.limits?.['memory'])];
  const most = limit || allocatable();
  const high = request === limit || most <= 0 ? 0 : throttledFrom(request, most, throttlingFactor);
  return {
    ...(request > 0 ? {'memory.min': String(request)} : {}),
    ...(high > request ? {'memory.high': String(high)} : {}),
  };
};
