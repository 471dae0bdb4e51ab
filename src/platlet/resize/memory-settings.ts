// How the pods of an agent may use swap, and how their memory is protected.

import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import type {GateName} from '#src/options/gate-table.js';
import {bytesOf} from '#src/platlet/cgroups/numbers.js';
import {groupOfProcess} from '#src/platlet/cgroups/usage.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import type {Host} from '#src/platlet/host/host.js';
import type {Machine} from '#src/platlet/node/machine.js';
import {mayUseLimitedSwap} from './swap.js';
import type {MemoryQosSettings, SwapSettings} from '#src/platlet/inputs/memory.js';

/** What of an agent decides on memory. */
interface MemoryParts {
  readonly settings: {readonly 'memorySwap.swapBehavior': string; readonly memoryThrottlingFactor: number};
  gate(name: GateName): boolean;
  readonly naming: Naming;
  readonly host: Host;
  readonly identity: {readonly machine: Pick<Machine, 'swapBytes'>};
}

/**
 * Whether the kernel can limit the swap of cgroups. With version 2 the root has no limit: the agent's own is looked at.
 */
const limitsSwap = async (host: Host, hierarchy: Pick<CgroupHierarchy, 'version' | 'foldersOf'>): Promise<boolean> => {
  const group = hierarchy.version === 1 ? '/' : groupOfProcess(String((await host.read('/proc/self/cgroup')) ?? ''));
  const file = hierarchy.version === 1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max';
  const found = await Promise.all(hierarchy.foldersOf(group ?? '/').map(folder => host.status(join(folder, file))));
  return found.some(Boolean);
};

/** Returns how pods may use swap; undefined if the kernel cannot limit it. */
export const swapSettings = async (
  {settings, naming, host, identity: {machine}}: Pick<MemoryParts, 'settings' | 'naming' | 'host' | 'identity'>,
  hierarchy: Pick<CgroupHierarchy, 'version' | 'foldersOf'>,
): Promise<SwapSettings | undefined> => {
  if (!(await limitsSwap(host, hierarchy))) return undefined;
  const isLimited = settings['memorySwap.swapBehavior'] === 'LimitedSwap' && hierarchy.version === 2;
  return {
    cgroupVersion: hierarchy.version,
    swapBytes: machine.swapBytes,
    mayUse: (pod, container) => isLimited && mayUseLimitedSwap(naming, pod, container),
  };
};

/** Whether requests of memory are protected in cgroups. */
export const protectsMemory = ({gate}: Pick<MemoryParts, 'gate'>, {version}: Pick<CgroupHierarchy, 'version'>): boolean =>
  version === 2 && gate('MemoryQoS');

/** Returns how the memory of containers is protected; undefined if it is not. */
export const memoryQosSettings = (
  parts: Pick<MemoryParts, 'gate' | 'settings'>,
  hierarchy: Pick<CgroupHierarchy, 'version'>,
  allocatable: () => Readonly<Record<string, string>>,
): MemoryQosSettings | undefined =>
  protectsMemory(parts, hierarchy)
    ? {throttlingFactor: parts.settings.memoryThrottlingFactor, allocatable: () => bytesOf(allocatable()['memory'])}
    : undefined;
