import type {FilesystemStats, PodStats} from './stats.js';

/** Returns what a pod takes of the node's storage: what its containers write, their logs, and its ephemeral volumes. */
export const ephemeralUsage = ({
  containers,
  volumes = [],
}: Pick<PodStats, 'containers' | 'volumes'>): {readonly usedBytes: number; readonly inodesUsed: number} => {
  const parts: readonly FilesystemStats[] = [
    ...containers.flatMap(({rootfs, logs}) => [rootfs ?? {}, logs ?? {}]),
    ...volumes.filter(({isEphemeral}) => isEphemeral),
  ];
  const sum = (value: (of: FilesystemStats) => number | undefined): number => parts.reduce((total, part) => total + (value(part) ?? 0), 0);
  return {usedBytes: sum(({usedBytes}) => usedBytes), inodesUsed: sum(({inodesUsed}) => inodesUsed)};
};
