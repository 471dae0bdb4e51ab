// The statistics of one pod from those of its sandbox and containers.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Consumption, ContainerStats, FilesystemStats, MemoryStats, PodStats, VolumeStats} from '#src/api/node/stats.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {Host} from '#src/platlet/host/host.js';
import {limitsOf} from '#src/platlet/pod/container-limits.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import type {ContainerUsage, MemoryUsage, SandboxUsage} from '#src/platlet/runtime/usage.js';
import {readPressure, readSwap} from './pressure.js';
import type {UsageRates} from './usage-rates.js';

export interface PodStatsParts {
  readonly host: Pick<Host, 'list' | 'status'>;
  readonly rates: UsageRates;
  /** The start of the agent, used for pods without a start time. */
  readonly since: number;
  volumesOf?(uid: string): readonly VolumeStats[];
  logsOf?(pod: Frozen<Pod>): string;
  /** Reads a file of the cgroup of a pod, or of one of its containers by its id. Absent: none. */
  readonly ofGroup?: ((pod: Frozen<Pod>, file: string, container?: string) => Promise<string | undefined>) | undefined;
  readonly withPressure?: boolean;
}

/** The usage of all pods from the runtime. */
export interface RuntimeUsage {
  /** By UID of the pod. */
  readonly listed: ReadonlyMap<string, RuntimePod>;
  /** By id of the container. */
  readonly containers: ReadonlyMap<string, ContainerUsage>;
  /** By UID of the pod. */
  readonly sandboxes: ReadonlyMap<string, SandboxUsage>;
  /** The image file system, which also has the writable layers. */
  readonly fs: FilesystemStats | undefined;
}

/** Returns the statistics of a pod; undefined without a running container or sandbox. */
export const podStats = async (parts: PodStatsParts, pod: Frozen<Pod>, usage: RuntimeUsage): Promise<PodStats | undefined> => {
  const {rates, since, volumesOf} = parts;
  const {uid = '', namespace = '', name = ''} = pod.metadata ?? {};
  const {containers: instances = [], sandboxes = []} = usage.listed.get(uid) ?? {};
  const measured = (
    await Promise.all([...specContainers(pod.spec!)].map(({container}) => containerStats(parts, pod, container, {...usage, instances})))
  ).flatMap(each => each ?? []);
  if (measured.length === 0 && !sandboxes.some(({isReady}) => isReady)) return undefined;
  const sandbox = usage.sandboxes.get(uid);
  const sum = (value: (of: Consumption) => number): number => measured.reduce((total, each) => total + value(each), 0);
  const total = {
    cpuMillis: sum(({cpuMillis}) => cpuMillis),
    cpuSeconds: sum(({cpuSeconds}) => cpuSeconds),
    memoryBytes: sum(({memoryBytes}) => memoryBytes),
  };
  const interfaces = sandbox?.network?.interfaces ?? [];
  const volumes = volumesOf?.(uid) ?? [];
  return {
    namespace,
    name,
    uid,
    startedAt: parseTime(pod.status?.startTime ?? '') ?? since,
    containers: measured,
    ...(sandbox?.cpu?.usageCoreNanoseconds === undefined
      ? total
      : {...consumption(rates, sandbox.id, sandbox), ...memoryOf(sandbox.memory)}),
    ...(await groupStats(parts, pod)),
    ...(interfaces.length > 0 ? {network: interfaces} : {}),
    ...(volumes.length > 0 ? {volumes} : {}),
    ...(sandbox?.processes === undefined ? {} : {processes: sandbox.processes}),
  };
};

const containerStats = async (
  parts: PodStatsParts,
  pod: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  {instances, containers, fs}: RuntimeUsage & {readonly instances: readonly ContainerInstance[]},
): Promise<ContainerStats | undefined> => {
  const instance = instances.find(one => one.name === container.name && one.state === 'running');
  const usage = instance && containers.get(instance.id);
  if (!instance || !usage) return undefined;
  const {usedBytes, inodesUsed} = usage.writableLayer ?? {};
  const {usedBytes: _, inodesUsed: __, ...rest} = fs ?? {};
  const used = {...(usedBytes === undefined ? {} : {usedBytes}), ...(inodesUsed === undefined ? {} : {inodesUsed})};
  const logs = await logStats(parts, pod, container.name);
  return {
    name: container.name,
    id: instance.id,
    image: container.image ?? '',
    startedAt: instance.startedAt ?? instance.createdAt,
    ...limitsOf(container),
    ...consumption(parts.rates, instance.id, usage),
    ...memoryOf(usage.memory),
    ...(await groupStats(parts, pod, instance.id)),
    probes: [],
    ...(usage.writableLayer ? {rootfs: {...rest, ...used}} : {}),
    ...(logs ? {logs: {...rest, ...logs}} : {}),
  };
};

/** Returns what the cgroup of a pod, or of one of its containers, tells of pressure and swap. */
const groupStats = async (
  {ofGroup, withPressure}: PodStatsParts,
  pod: Frozen<Pod>,
  container?: string,
): Promise<Pick<Consumption, 'pressure' | 'swap'>> => {
  if (!ofGroup) return {};
  const read = (file: string): Promise<string | undefined> => ofGroup(pod, file, container);
  const [pressure, swap] = await Promise.all([
    withPressure ? readPressure(read, resource => `${resource}.pressure`) : undefined,
    readSwap(read),
  ]);
  return {...(pressure ? {pressure} : {}), ...(swap ? {swap} : {})};
};

/** Returns the disk usage of a container's logs, including rotated ones. */
const logStats = async ({host, logsOf}: PodStatsParts, pod: Frozen<Pod>, name: string): Promise<FilesystemStats | undefined> => {
  if (!logsOf) return undefined;
  const folder = join(logsOf(pod), name);
  const files = await host.list(folder).catch(() => []);
  const sizes = await Promise.all(files.map(async file => (await host.status(join(folder, file)))?.bytes ?? 0));
  return {usedBytes: sizes.reduce((total, bytes) => total + bytes, 0), inodesUsed: files.length + 1};
};

const memoryOf = (memory: MemoryUsage | undefined): {readonly memory?: MemoryStats} => {
  if (!memory) return {};
  const {usageBytes, rssBytes, pageFaults, majorPageFaults} = memory;
  const known = Object.entries({usageBytes, rssBytes, pageFaults, majorPageFaults}).filter(([, value]) => value !== undefined);
  return known.length > 0 ? {memory: Object.fromEntries(known)} : {};
};

const consumption = (rates: UsageRates, id: string, {cpu, memory}: Pick<ContainerUsage, 'cpu' | 'memory'>): Consumption => ({
  cpuMillis: cpu ? rates.millis(id, cpu) : 0,
  cpuSeconds: Number(cpu?.usageCoreNanoseconds ?? 0n) / 1e9,
  memoryBytes: memory?.workingSetBytes ?? 0,
});
