import {naming} from '#src/api/naming.js';
import {flagTable} from '#src/options/flag.js';
import type {Given} from '#src/options/flag.js';
import {limits} from '#src/options/platlet/limits.js';
import {node} from '#src/options/platlet/node.js';
import {resources} from '#src/options/platlet/resources.js';
import {serving} from '#src/options/platlet/serving.js';

const original = naming('kubernetes').component;

const reservedCgroups = [
  ['system-reserved', 'system-reserved-cgroup'],
  ['plat-reserved', 'plat-reserved-cgroup'],
  [original('reserved'), 'plat-reserved-cgroup'],
] as const;

/** Validates `--enforce-node-allocatable`: reserved shares need a cgroup, and `none` excludes all others. */
const validateEnforcement = (
  {enforceNodeAllocatable: shares, cgroupsPerQos}: {readonly enforceNodeAllocatable: readonly string[]; readonly cgroupsPerQos: boolean},
  given: Given,
): string | undefined => {
  if (shares.includes('none')) return shares.length > 1 ? '--enforce-node-allocatable must not name anything beside none' : undefined;
  if (shares.length > 0 && !cgroupsPerQos) return '--enforce-node-allocatable requires --cgroups-per-qos';
  for (const [share, cgroup] of reservedCgroups)
    if ((shares.includes(share) || shares.includes(`${share}-compressible`)) && !given.has(cgroup))
      return `--enforce-node-allocatable=${share} requires --${cgroup}`;
  return undefined;
};

const validateReservedCpus = (_options: unknown, given: Given): string | undefined => {
  if (!given.has('reserved-cpus')) return undefined;
  const cgroup = ['system-reserved-cgroup', 'plat-reserved-cgroup'].find(flag => given.has(flag));
  return cgroup && `--reserved-cpus and --${cgroup} are mutually exclusive`;
};

/** Returns an error for a soft threshold without a grace period. */
const validateSoftEviction = (options: {
  readonly evictionSoft: ReadonlyMap<string, string>;
  readonly evictionSoftGracePeriod: ReadonlyMap<string, string>;
}): string | undefined => {
  const missing = [...options.evictionSoft.keys()].find(signal => !options.evictionSoftGracePeriod.has(signal));
  return missing && `--eviction-soft=${missing} requires a grace period for it in --eviction-soft-grace-period`;
};

const defaultQuotaPeriod = 100;

/** The flags of `platlet`. */
export const platletFlags = flagTable({
  program: 'platlet',
  summary: 'The agent of a node: registers it and runs the containers of its pods.',
  sections: [serving, limits, resources, node],
  rules: [
    validateEnforcement,
    validateReservedCpus,
    validateSoftEviction,
    options =>
      options.imageGcLowThreshold >= options.imageGcHighThreshold
        ? '--image-gc-low-threshold must be less than --image-gc-high-threshold'
        : undefined,
    (options, given) =>
      options.runonce && options.enableServer && given.has('enable-server')
        ? '--runonce and --enable-server are mutually exclusive'
        : undefined,
    (options, given) =>
      options.cpuCfsQuotaPeriod !== defaultQuotaPeriod && !given.gates.enabled('CustomCPUCFSQuotaPeriod')
        ? '--cpu-cfs-quota-period requires the feature gate CustomCPUCFSQuotaPeriod, which is off'
        : undefined,
  ],
});
