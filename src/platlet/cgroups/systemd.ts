// Cgroups as slices of systemd: it is told of each of them and of their limits, since it would reset what it does not
// know. What it cannot express is written into the files as well.

import type {Host} from '#src/platlet/host/host.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import {sliceNames, sliceOf} from './driver.js';
import type {CgroupHierarchy} from './hierarchy.js';
import {weightOf} from './numbers.js';

/** A property of a unit: its name, and its type and value as `busctl` takes them. */
export type UnitProperty = readonly [name: string, type: 'b' | 's' | 't' | 'as', ...value: readonly string[]];

/** The manager of units. */
export interface Units {
  /** Starts a unit that ends with the machine. One that runs already is no error. */
  start(name: string, properties: readonly UnitProperty[]): Promise<void>;
  set(name: string, properties: readonly UnitProperty[]): Promise<void>;
  stop(name: string): Promise<void>;
}

/** Values may begin with a dash, as the root slice does. */
const manager = ['--', 'org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];
const notLoaded = /not loaded/;
const unitExists = /already (?:loaded|exists)|was already/;

/** The systemd of the machine, by its programs. */
export const systemdUnits = (host: Pick<Host, 'execute'>): Units => {
  const run = async (program: string, args: readonly string[], allowed?: RegExp): Promise<void> => {
    const finished = await host.execute(program, args);
    if (!finished) throw new Error(`${program} is not installed`);
    if (finished.exitCode !== 0 && !allowed?.test(finished.output))
      throw new Error(finished.output.trim() || `${program}: exit status ${finished.exitCode}`);
  };
  const valuesOf = (properties: readonly UnitProperty[]): string[] => [
    String(properties.length),
    ...properties.flatMap(([name, type, ...value]) => [name, type, ...value]),
  ];
  return {
    async start(name, properties) {
      const args = ['call', ...manager, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', name, 'replace', ...valuesOf(properties), '0'];
      await run('busctl', args, unitExists);
      // The call returns before the unit runs.
      await run('systemctl', ['start', name]);
    },
    set: (name, properties) => run('busctl', ['call', ...manager, 'SetUnitProperties', 'sba(sv)', name, 'true', ...valuesOf(properties)]),
    stop: name => run('systemctl', ['stop', name], notLoaded),
  };
};

const accounting = ['CPUAccounting', 'MemoryAccounting', 'TasksAccounting'];

/** Returns the properties of a new slice. */
export const sliceProperties = (group: string, version: 1 | 2): readonly UnitProperty[] => [
  ['Description', 's', `cgroup ${sliceOf(group)} of the node agent`],
  ['Wants', 'as', '1', sliceOf(group.split('/').slice(0, -1).join('/'))],
  ...[...accounting, version === 1 ? 'BlockIOAccounting' : 'IOAccounting'].map((name): UnitProperty => [name, 'b', 'true']),
  ['DefaultDependencies', 'b', 'false'],
];

const infinity = '18446744073709551615';
/** systemd has quotas in whole percents. */
const quotaStep = 10_000;

const quotaPerSecond = (quota: number, period: number): string =>
  quota <= 0 ? infinity : String(Math.ceil((quota * 1_000_000) / period / quotaStep) * quotaStep);

/** Returns the limits of a cgroup that systemd knows of. */
export const limitProperties = (
  {cpuShares, cpuQuota = 0, cpuPeriod, memoryBytes, memoryMin, pids}: CgroupLimits,
  version: 1 | 2,
): readonly UnitProperty[] => {
  const weight: UnitProperty[] =
    cpuShares === undefined
      ? []
      : [version === 1 ? ['CPUShares', 't', String(cpuShares)] : ['CPUWeight', 't', String(weightOf(cpuShares))]];
  const quota: UnitProperty[] =
    cpuPeriod === undefined
      ? []
      : [
          ['CPUQuotaPerSecUSec', 't', quotaPerSecond(cpuQuota, cpuPeriod)],
          ['CPUQuotaPeriodUSec', 't', String(cpuPeriod)],
        ];
  return [
    ...weight,
    ...quota,
    ...(memoryBytes === undefined ? [] : [[version === 1 ? 'MemoryLimit' : 'MemoryMax', 't', String(memoryBytes)] as const]),
    ...(memoryMin === undefined || version === 1 ? [] : [['MemoryMin', 't', String(memoryMin)] as const]),
    ...(pids === undefined ? [] : [['TasksMax', 't', String(pids)] as const]),
  ];
};

/** Cgroups that systemd manages, over the hierarchies that it manages them in. */
export const systemdHierarchy = (
  hierarchy: CgroupHierarchy,
  units: Units,
  isThere: (folder: string) => Promise<boolean>,
): CgroupHierarchy => {
  const {pathOf} = sliceNames;
  const {version} = hierarchy;
  return {
    version,
    names: sliceNames,
    foldersOf: group => hierarchy.foldersOf(pathOf(group)),
    allFoldersOf: group => hierarchy.allFoldersOf(pathOf(group)),
    problemOf: group => hierarchy.problemOf(pathOf(group)),
    async create(group) {
      await units.start(sliceOf(group), sliceProperties(group, version));
      await hierarchy.create(pathOf(group));
    },
    async apply(group, limits) {
      const properties = limitProperties(limits, version);
      if (properties.length > 0) await units.set(sliceOf(group), properties);
      await hierarchy.apply(pathOf(group), limits);
    },
    limitsOf: group => hierarchy.limitsOf(pathOf(group)),
    async release(group) {
      const [folder = ''] = hierarchy.foldersOf(pathOf(group));
      if (await isThere(folder)) await units.stop(sliceOf(group));
    },
  };
};
