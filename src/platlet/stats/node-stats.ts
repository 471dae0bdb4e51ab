// The statistics of a node: of its pods from the runtime, of the machine from the kernel.

import type {Frozen} from '#src/api/key.js';
import type {FilesystemStats, InterfaceStats, MemoryStats, NodeStats, SystemStats, VolumeStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {GroupUsage} from '#src/platlet/cgroups/usage.js';
import type {Host} from '#src/platlet/host/host.js';
import {isTerminalPhase} from '#src/platlet/pod/phase.js';
import type {Machine} from '#src/platlet/node/machine.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import type {FilesystemUsage} from '#src/platlet/runtime/images.js';
import {interfacesOf} from './network.js';
import {machineSwap, readPressure} from './pressure.js';
import {podStats, type RuntimeUsage} from './pod-stats.js';
import {UsageRates} from './usage-rates.js';
import {spaceStats} from './volume-stats.js';

/** A system cgroup with its usage; undefined if it does not exist. */
export interface SystemGroup {
  readonly name: string;
  read(): Promise<GroupUsage | undefined>;
}

/** The sources of the machine's statistics. */
export interface MachineSources {
  /** The files of the kernel. */
  readonly files: Pick<Files, 'read'>;
  /** The system cgroups. */
  readonly groups?: readonly SystemGroup[];
  /** Reads a file of the cgroup of a pod, or of one of its containers by its id. Absent: none. */
  readonly ofGroup?: ((pod: Frozen<Pod>, file: string, container?: string) => Promise<string | undefined>) | undefined;
  /** Whether pressure on resources is measured. */
  readonly withPressure?: boolean;
}

/** The directories of pods and of the agent. */
export interface PodDisks {
  readonly host: Pick<Host, 'list' | 'status' | 'space'>;
  /** The data directory of the agent. */
  readonly rootDir: string;
  /** The last measured volume statistics of pods; absent: none. */
  volumesOf?(uid: string): readonly VolumeStats[];
  /** The log directory of a pod. */
  logsOf?(pod: Frozen<Pod>): string;
}

/** The pods to report. */
export interface MeasuredPods {
  readonly shown: readonly Frozen<Pod>[];
  /** The pods of the last runtime list. */
  readonly listed: readonly RuntimePod[];
}

export interface NodeStatsParts {
  readonly node: {readonly name: string; readonly machine: Machine};
  readonly runtime: Pick<Runtime, 'containerUsage' | 'sandboxUsage' | 'imageFilesystems'>;
  readonly system: MachineSources;
  readonly disks: PodDisks;
  readonly pods: MeasuredPods;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** How often CPU usage is sampled, so that rates are available on request. */
const sampleMs = 10_000;
/** The unit of times in /proc/stat. */
const tickMs = 10;

/** Returns the cumulative CPU time of a machine in ms, from /proc/stat. */
export const usedProcessorMs = (text: string): number => {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '')
    .split(' ')
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * tickMs;
};

/** Returns the working set of a machine in bytes, from /proc/meminfo: used memory without inactive file pages. */
export const usedMemoryBytes = (text: string): number => {
  const of = (name: string): number =>
    Number(new RegExp(`^${name.replace(/[()]/g, '\\$&')}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return Math.max(0, of('MemTotal') - of('MemFree') - of('Inactive(file)'));
};

/** Returns the maximum and the current number of processes of a machine, from files in /proc. */
const processesOf = (pidMax: string, threadsMax: string, load: string): NodeStats['processes'] => {
  const current = Number(/\/(\d+)/.exec(load)?.[1] ?? Number.NaN);
  const max = Math.min(...[pidMax, threadsMax].map(text => Number(text.trim() || Number.NaN)).filter(value => value > 0));
  return Number.isFinite(max) && current >= 0 ? {max, current} : undefined;
};

const firstOfEach = <T>(all: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, T> =>
  new Map(all.toReversed().map(one => [keyOf(one), one]));

/** Measures a node on request. */
export class NodeStatsReader {
  readonly #parts: NodeStatsParts;
  readonly #rates: UsageRates;
  readonly #startedAt: number;
  #reading: Promise<NodeStats> | undefined;
  #readAt = -Infinity;

  constructor(parts: NodeStatsParts) {
    this.#parts = parts;
    this.#rates = new UsageRates(parts.clock);
    this.#startedAt = parts.clock.now();
    runEvery(parts.clock, sampleMs, parts.signal, async () => {
      // Those who read regularly, such as the eviction manager, sample for all.
      if (parts.clock.monotonic() - this.#readAt < sampleMs) return;
      await this.read().catch((error: unknown) => parts.log.v(2).info({err: error}, 'the usage of pods could not be read'));
    });
  }

  /** Returns new statistics; concurrent callers share the result. */
  read(): Promise<NodeStats> {
    this.#readAt = this.#parts.clock.monotonic();
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<NodeStats> {
    const {runtime, clock, pods, disks} = this.#parts;
    const {name, machine} = this.#parts.node;
    const [containers, sandboxes, filesystems, fs] = await Promise.all([
      runtime.containerUsage(),
      runtime.sandboxUsage(),
      this.#filesystems(),
      this.#spaceOf(disks.rootDir),
    ]);
    this.#rates.begin();
    const kernel = await this.#kernel();
    const {shown: known, listed: runtimePods} = pods;
    const states = runtimePods.flatMap(pod => pod.containers.map(({state}) => state));
    const usage: RuntimeUsage = {
      listed: firstOfEach(runtimePods, ({pod}) => pod.uid),
      containers: firstOfEach(containers, ({id}) => id),
      sandboxes: firstOfEach(sandboxes, ({pod}) => pod.uid),
      fs: filesystems.images,
    };
    const {ofGroup, withPressure = false} = this.#parts.system;
    const sources = {...disks, rates: this.#rates, since: this.#startedAt, ofGroup, withPressure};
    const measured = await Promise.all(known.map(pod => podStats(sources, pod, usage)));
    return {
      name,
      time: clock.now(),
      startedAt: this.#startedAt,
      machine: {
        id: machine.machineId,
        systemId: machine.systemId,
        bootId: machine.bootId,
        cores: machine.cores,
        memoryBytes: machine.memoryBytes,
        storageBytes: machine.storageBytes,
        imageBytes: filesystems.images?.usedBytes ?? 0,
      },
      ...kernel,
      ...(fs ? {fs} : {}),
      ...(filesystems.images ? {imageFs: filesystems.images} : {}),
      ...(filesystems.containers ? {containerFs: filesystems.containers} : {}),
      system: await this.#system(),
      pods: measured.flatMap(each => each ?? []),
      known: {
        pods: known.length,
        active: known.filter(({status}) => !isTerminalPhase(status?.phase)).length,
        containers: {
          running: states.filter(state => state === 'running').length,
          exited: states.filter(state => state === 'exited').length,
        },
      },
    };
  }

  /** Returns the statistics of the kernel. */
  async #kernel(): Promise<Pick<NodeStats, 'cpuSeconds' | 'cpuMillis' | 'memoryBytes' | 'network' | 'processes' | 'swap' | 'pressure'>> {
    const {clock} = this.#parts;
    const {files} = this.#parts.system;
    const [stat, memory, network, pidMax, threadsMax, load] = await Promise.all(
      ['/proc/stat', '/proc/meminfo', '/proc/net/dev', '/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max', '/proc/loadavg'].map(
        async path => String((await files.read(path)) ?? ''),
      ),
    );
    const cpuMs = usedProcessorMs(stat ?? '');
    const processes = processesOf(pidMax ?? '', threadsMax ?? '', load ?? '');
    const interfaces = interfacesOf(network ?? '');
    const pressure = this.#parts.system.withPressure
      ? await readPressure(
          async name => (await files.read(name).catch(() => undefined))?.toString(),
          resource => `/proc/pressure/${resource}`,
        )
      : undefined;
    return {
      cpuSeconds: cpuMs / 1000,
      cpuMillis: this.#rates.millis('/', {at: clock.now(), usageCoreNanoseconds: BigInt(Math.round(cpuMs)) * 1_000_000n}),
      memoryBytes: usedMemoryBytes(memory ?? ''),
      ...(interfaces.length > 0 ? {network: defaultFirst(interfaces)} : {}),
      ...(processes ? {processes} : {}),
      swap: machineSwap(memory ?? ''),
      ...(pressure ? {pressure} : {}),
    };
  }

  async #spaceOf(path: string): Promise<FilesystemStats | undefined> {
    return await this.#parts.disks.host.space(path).then(spaceStats, () => undefined);
  }

  /** Returns the statistics of the image and container file systems, with the usage of images and containers. */
  async #filesystems(): Promise<{readonly images?: FilesystemStats | undefined; readonly containers?: FilesystemStats | undefined}> {
    const {images, containers} = await this.#parts.runtime.imageFilesystems();
    const of = async (usage: FilesystemUsage | undefined): Promise<FilesystemStats | undefined> => {
      if (!usage) return undefined;
      const {usedBytes, inodesUsed, at} = usage;
      const own = {...(usedBytes === undefined ? {} : {usedBytes}), ...(inodesUsed === undefined ? {} : {inodesUsed})};
      return {...(at > 0 ? {at} : {}), ...(await this.#spaceOf(usage.mountpoint)), ...own};
    };
    return {images: await of(images[0]), containers: await of(containers[0] ?? images[0])};
  }

  async #system(): Promise<readonly SystemStats[]> {
    const {clock} = this.#parts;
    const {groups = []} = this.#parts.system;
    const found = await Promise.all(groups.map(async ({name, read}) => ({name, usage: await read().catch(() => undefined)})));
    return found.flatMap(({name, usage}) =>
      usage
        ? [
            {
              name,
              startedAt: this.#startedAt,
              cpuSeconds: Number(usage.cpuNanoseconds) / 1e9,
              cpuMillis: this.#rates.millis(`system ${name}`, {at: clock.now(), usageCoreNanoseconds: usage.cpuNanoseconds}),
              memoryBytes: usage.workingSetBytes,
              memory: {usageBytes: usage.memoryBytes, rssBytes: usage.rssBytes, ...leftOf(usage)},
            },
          ]
        : [],
    );
  }
}

const leftOf = ({limitBytes, workingSetBytes}: GroupUsage): Pick<MemoryStats, 'availableBytes'> =>
  limitBytes === undefined ? {} : {availableBytes: Math.max(0, limitBytes - workingSetBytes)};

/** Shown first by the original. */
const usualInterface = 'eth0';

const defaultFirst = (interfaces: readonly InterfaceStats[]): readonly InterfaceStats[] =>
  [...interfaces].sort((a, b) => Number(b.name === usualInterface) - Number(a.name === usualInterface));
