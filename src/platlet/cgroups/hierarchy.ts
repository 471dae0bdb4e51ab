// The cgroups of the machine: version 1, a hierarchy for each controller, or version 2, the unified hierarchy. A cgroup
// is named by its path in the hierarchies.

import {join} from 'node:path';
import type {Host, MountPoint} from '#src/platlet/host/host.js';
import type {ActualResources, CgroupLimits} from '#src/platlet/runtime/limits.js';
import type {GroupNames} from './driver.js';
import {sharesOfWeight, weightOf} from './numbers.js';

/** What the log and an event of the Node say about cgroups of version 1. */
export const cgroupV1Warning =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2.';

/** A cgroup exists in all hierarchies, or counts as missing. */
export interface CgroupHierarchy {
  readonly version: 1 | 2;
  /** How its groups are named; absent: as their folders. */
  readonly names?: GroupNames;
  /** The directories of a cgroup. */
  foldersOf(group: string): readonly string[];
  /**
   * The directories of a cgroup in all hierarchies of the machine: the runtime creates it in more of them than those
   * that limit pods.
   */
  allFoldersOf(group: string): readonly string[];
  /** Returns what a cgroup that others have to create lacks, in the original's words; undefined if nothing. */
  problemOf(group: string): Promise<string | undefined>;
  create(group: string): Promise<void>;
  apply(group: string, limits: CgroupLimits): Promise<void>;
  /** Returns what a group is limited to; undefined if the group is not there. */
  limitsOf(group: string): Promise<ActualResources | undefined>;
  /** Called before the folders of a group without processes are removed. */
  release?(group: string): Promise<void>;
}

/** The controllers that limit pods. The systemd hierarchy holds no limits, but runtimes expect the cgroups in it. */
const controllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'hugetlb', 'name=systemd'];
const required = ['cpu', 'cpuacct', 'cpuset', 'memory'];
const unifiedControllers = ['cpuset', 'cpu', 'io', 'memory', 'hugetlb', 'pids'];
const neededControllers = ['cpu', 'cpuset', 'hugetlb', 'memory', 'pids'];
const folderMode = 0o755;

/** Returns the name of a cgroup as errors of the original show it. */
const shownName = (group: string): string =>
  `[${group
    .split('/')
    .filter(Boolean)
    .map(part => JSON.stringify(part))
    .join(' ')}]`;

const textOf = async (host: Host, path: string): Promise<string> => String((await host.read(path)) ?? '').trim();

/** From this on a limit of memory is none: the kernel rounds the largest number down to whole pages. */
const noMemoryLimit = 2 ** 62;

const memoryLimitOf = (text: string): Pick<ActualResources, 'memoryLimitBytes'> => {
  const bytes = Number(text);
  return text === '' || text === 'max' || bytes >= noMemoryLimit ? {} : {memoryLimitBytes: bytes};
};

/** Returns a cgroup and its ancestors, the topmost first. */
const withParents = (group: string): string[] => {
  const names = group.split('/').filter(Boolean);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
};

/** Writes values into the files of a cgroup. Undefined values are skipped. */
const writeAll = async (host: Host, files: readonly (readonly [path: string, value: string | number | undefined])[]): Promise<void> => {
  for (const [path, value] of files) if (value !== undefined) await host.writeInto(path, String(value));
};

/** Cgroups of version 1. */
const trees = (host: Host, mounts: ReadonlyMap<string, string>, all: readonly string[]): CgroupHierarchy => {
  const roots = [...new Set(mounts.values())];
  const fileOf = (controller: string, group: string, file: string): string => join(mounts.get(controller)!, group, file);
  return {
    version: 1,
    foldersOf: group => roots.map(root => join(root, group)),
    allFoldersOf: group => all.map(root => join(root, group)),
    async problemOf(group) {
      const folders = roots.map(root => join(root, group));
      const found = await Promise.all(folders.map(folder => host.status(folder)));
      const missing = folders.filter((_, index) => !found[index]);
      return missing.length > 0 ? `cgroup ${shownName(group)} has some missing paths: ${missing.join(', ')}` : undefined;
    },
    async create(group) {
      for (const root of roots) await host.makeFolder(join(root, group), folderMode);
      // No process can enter a cpuset without these. They are copied from the parent, whose own may be unset.
      for (const each of withParents(group))
        for (const file of ['cpuset.cpus', 'cpuset.mems']) {
          const path = fileOf('cpuset', each, file);
          if ((await textOf(host, path)) === '') await host.writeInto(path, await textOf(host, fileOf('cpuset', join(each, '..'), file)));
        }
    },
    async apply(group, {cpuShares, cpuQuota, cpuPeriod, memoryBytes, pids, hugePages = {}}) {
      const quota = fileOf('cpu', group, 'cpu.cfs_quota_us');
      await writeAll(host, [
        [fileOf('cpu', group, 'cpu.shares'), cpuShares],
        // The kernel validates the quota against the period at each write: without a quota any period is valid.
        [quota, cpuPeriod === undefined ? undefined : -1],
        [fileOf('cpu', group, 'cpu.cfs_period_us'), cpuPeriod],
        [quota, cpuQuota || undefined],
        [fileOf('memory', group, 'memory.limit_in_bytes'), memoryBytes],
      ]);
      if (mounts.has('pids')) await writeAll(host, [[fileOf('pids', group, 'pids.max'), pids]]);
      if (mounts.has('hugetlb'))
        await writeAll(
          host,
          Object.entries(hugePages).map(([size, bytes]) => [fileOf('hugetlb', group, `hugetlb.${size}.limit_in_bytes`), bytes]),
        );
    },
    async limitsOf(group) {
      const [shares, quota, period, memory] = await Promise.all([
        textOf(host, fileOf('cpu', group, 'cpu.shares')),
        textOf(host, fileOf('cpu', group, 'cpu.cfs_quota_us')),
        textOf(host, fileOf('cpu', group, 'cpu.cfs_period_us')),
        textOf(host, fileOf('memory', group, 'memory.limit_in_bytes')),
      ]);
      if (shares === '') return undefined;
      return {cpuShares: Number(shares), cpuQuota: Number(quota), cpuPeriod: Number(period), ...memoryLimitOf(memory)};
    },
  };
};

/** Cgroups of version 2. */
const unifiedTree = (host: Host, root: string): CgroupHierarchy => ({
  version: 2,
  foldersOf: group => [join(root, group)],
  allFoldersOf: group => [join(root, group)],
  async problemOf(group) {
    const path = join(root, group, 'cgroup.controllers');
    if (!(await host.status(path)))
      return `could not read controllers for cgroup ${shownName(group)}: open ${path}: no such file or directory`;
    const [available, enabled] = await Promise.all([join(root, 'cgroup.controllers'), path].map(file => textOf(host, file)));
    const missing = neededControllers.filter(name => available!.split(' ').includes(name) && !enabled!.split(' ').includes(name));
    return missing.length > 0 ? `cgroup ${shownName(group)} has some missing controllers: ${missing.join(', ')}` : undefined;
  },
  async create(group) {
    const available = (await textOf(host, join(root, 'cgroup.controllers'))).split(' ');
    let parent = '/';
    for (const each of withParents(group)) {
      const control = join(root, parent, 'cgroup.subtree_control');
      const enabled = (await textOf(host, control)).split(' ');
      const missing = unifiedControllers.filter(name => available.includes(name) && !enabled.includes(name));
      if (missing.length > 0) await host.writeInto(control, missing.map(name => `+${name}`).join(' '));
      await host.makeFolder(join(root, each), folderMode);
      parent = each;
    }
  },
  async apply(group, {cpuShares, cpuQuota, cpuPeriod, memoryBytes, memoryMin, pids, hugePages = {}}) {
    const file = (name: string): string => join(root, group, name);
    const enabled = (await textOf(host, file('cgroup.controllers'))).split(' ');
    await writeAll(host, [
      [file('cpu.weight'), cpuShares === undefined ? undefined : weightOf(cpuShares)],
      [file('cpu.max'), cpuPeriod === undefined ? undefined : `${cpuQuota || 'max'} ${cpuPeriod}`],
      [file('memory.max'), memoryBytes],
      [file('memory.min'), memoryMin],
      [file('pids.max'), pids],
      ...(enabled.includes('hugetlb')
        ? Object.entries(hugePages).map(([size, bytes]) => [file(`hugetlb.${size}.max`), bytes] as const)
        : []),
    ]);
  },
  async limitsOf(group) {
    const [weight, max, memory] = await Promise.all(
      ['cpu.weight', 'cpu.max', 'memory.max'].map(name => textOf(host, join(root, group, name))),
    );
    if (!weight) return undefined;
    const [quota = 'max', period = '0'] = max!.split(' ');
    return {
      cpuShares: sharesOfWeight(Number(weight)),
      cpuWeight: Number(weight),
      cpuQuota: quota === 'max' ? -1 : Number(quota),
      cpuPeriod: Number(period),
      ...memoryLimitOf(memory!),
    };
  },
});

const isUnified = ({type}: MountPoint): boolean => type === 'cgroup2';

/** Returns the cgroups of the machine. Rejects if a controller is missing. */
export const cgroupHierarchy = async (host: Host): Promise<CgroupHierarchy> => {
  const mounts = await host.mounts();
  const unified = mounts.find(isUnified)?.path;
  const byController = new Map<string, string>();
  for (const {type, path, options} of mounts)
    if (type === 'cgroup')
      for (const name of controllers) if (options.includes(name) && !byController.has(name)) byController.set(name, path);
  if (byController.size === 0 && unified !== undefined) return unifiedTree(host, unified);
  const missing = required.filter(name => !byController.has(name));
  if (missing.length > 0) throw new Error(`system validation failed - Following Cgroup subsystem not mounted: [${missing.join(' ')}]`);
  const all = mounts.filter(({type}) => type === 'cgroup' || type === 'cgroup2').map(({path}) => path);
  return trees(host, byController, [...new Set(all)]);
};

const removalTries = 5;

/** Returns the directories of a cgroup and its descendants, descendants first. */
const foldersBelow = async (host: Host, folder: string): Promise<string[]> => {
  const found: string[] = [];
  for (const name of await host.list(folder))
    if ((await host.status(join(folder, name)))?.kind === 'folder') found.push(...(await foldersBelow(host, join(folder, name))));
  return (await host.status(folder)) ? [...found, folder] : found;
};

/** Kills the processes in a cgroup and removes it. Returns whether it was removed. */
export const removeGroup = async (host: Host, hierarchy: CgroupHierarchy, group: string): Promise<boolean> => {
  const folders: string[] = [];
  for (const folder of hierarchy.allFoldersOf(group)) folders.push(...(await foldersBelow(host, folder)));
  for (let attempt = 0; attempt < removalTries; attempt++) {
    const pids = new Set<string>();
    for (const folder of folders) for (const pid of (await textOf(host, join(folder, 'cgroup.procs'))).split('\n')) if (pid) pids.add(pid);
    if (pids.size === 0) break;
    for (const pid of pids) await host.kill(Number(pid));
  }
  await hierarchy.release?.(group);
  let isGone = true;
  for (const folder of folders)
    await host.removeFolder(folder).catch(() => {
      // The killed processes may not have exited yet.
      isGone = false;
    });
  return isGone;
};
