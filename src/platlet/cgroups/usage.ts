// The usage of a cgroup, as the kernel accounts it.

import {join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';
import type {CgroupHierarchy} from './hierarchy.js';

export interface GroupUsage {
  readonly cpuNanoseconds: bigint;
  readonly memoryBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  /** The memory limit, if there is one. */
  readonly limitBytes?: number;
}

/** Cgroups of version 1 without a memory limit show a larger number. */
const unlimitedBytes = 2 ** 62;

/** Returns the usage of a cgroup with its descendants; undefined if it does not exist. */
export const groupUsage = async (
  host: Pick<Host, 'read'>,
  hierarchy: Pick<CgroupHierarchy, 'foldersOf'>,
  group: string,
): Promise<GroupUsage | undefined> => {
  const folders = hierarchy.foldersOf(group);
  const read = async (file: string): Promise<string | undefined> => {
    for (const folder of folders) {
      const content = await host.read(join(folder, file));
      if (content) return content.toString();
    }
    return undefined;
  };
  const [acct, stat, limited, current, memory = '', limitOf1, limitOf2] = await Promise.all(
    ['cpuacct.usage', 'cpu.stat', 'memory.usage_in_bytes', 'memory.current', 'memory.stat', 'memory.limit_in_bytes', 'memory.max'].map(
      read,
    ),
  );
  const limit = Number(limitOf1 ?? limitOf2);
  const used = Number(limited ?? current);
  const value = (...names: readonly string[]): number =>
    Number(names.map(name => new RegExp(`^${name} (\\d+)$`, 'm').exec(memory)?.[1]).find(found => found !== undefined) ?? 0);
  const micros = /^usage_usec (\d+)$/m.exec(stat ?? '')?.[1];
  if ((acct === undefined && micros === undefined) || Number.isNaN(used)) return undefined;
  return {
    cpuNanoseconds: acct === undefined ? BigInt(micros!) * 1000n : BigInt(acct.trim()),
    memoryBytes: used,
    workingSetBytes: Math.max(0, used - value('total_inactive_file', 'inactive_file')),
    rssBytes: value('total_rss', 'anon'),
    ...(limit < unlimitedBytes ? {limitBytes: limit} : {}),
  };
};

/**
 * Returns the cgroup of a process from its `/proc/PID/cgroup`: of the memory controller, or of the unified hierarchy.
 */
export const groupOfProcess = (text: string): string | undefined => {
  const lines = text.split('\n').map(line => line.split(':'));
  const found = lines.find(([, controllers = '']) => controllers.split(',').includes('memory')) ?? lines.find(([id]) => id === '0');
  return found?.slice(2).join(':') || undefined;
};
