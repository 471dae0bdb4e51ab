// The measurements of a node: of its pods by the runtime, of the machine by the kernel.

import type {Frozen} from '#src/api/key.js';
import type {Consumption, ContainerStats, NodeStats, PodStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {every, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {isTerminalPhase} from '#src/platlet/pod/phase.js';
import type {Machine} from '#src/platlet/node/machine.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import type {ContainerUsage, SandboxUsage} from '#src/platlet/runtime/usage.js';
import {limitsOf} from '#src/platlet/pod/container-limits.js';
import {UsageRates} from './usage-rates.js';

export interface NodeStatsParts {
  readonly name: string;
  readonly runtime: Pick<Runtime, 'containerUsage' | 'sandboxUsage' | 'imageFilesystems'>;
  readonly files: Pick<Files, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly machine: Machine;
  pods(): readonly Frozen<Pod>[];
  /** What the runtime was last seen to have. */
  listed(): readonly RuntimePod[];
}

/** How often processor time is read, so that there are rates when somebody asks. */
const sampleMs = 10_000;
/** The unit of times in /proc/stat. */
const tickMs = 10;

/** Returns the processor time that a machine has used, in ms, from /proc/stat. */
export const usedProcessorMs = (text: string): number => {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '')
    .split(' ')
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * tickMs;
};

/** Returns the memory that a machine works with, in bytes, from /proc/meminfo: what is used without file pages that were not used lately. */
export const usedMemoryBytes = (text: string): number => {
  const of = (name: string): number =>
    Number(new RegExp(`^${name.replace(/[()]/g, '\\$&')}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return Math.max(0, of('MemTotal') - of('MemFree') - of('Inactive(file)'));
};

/** Measures a node when asked. */
export class NodeStatsReader {
  readonly #parts: NodeStatsParts;
  readonly #rates: UsageRates;
  readonly #startedAt: number;

  constructor(parts: NodeStatsParts) {
    this.#parts = parts;
    this.#rates = new UsageRates(parts.clock);
    this.#startedAt = parts.clock.now();
    every(parts.clock, sampleMs, parts.signal, async () => {
      await this.read().catch((error: unknown) => parts.log.v(2).info({err: error}, 'the usage of pods could not be read'));
    });
  }

  async read(): Promise<NodeStats> {
    const {name, runtime, files, clock, machine, pods, listed} = this.#parts;
    const [containers, sandboxes, {images}, stat, memory] = await Promise.all([
      runtime.containerUsage(),
      runtime.sandboxUsage(),
      runtime.imageFilesystems(),
      files.read('/proc/stat'),
      files.read('/proc/meminfo'),
    ]);
    this.#rates.begin();
    const known = pods();
    const runtimePods = listed();
    const states = runtimePods.flatMap(pod => pod.containers.map(({state}) => state));
    const cpuMs = usedProcessorMs(stat?.toString() ?? '');
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
        imageBytes: images[0]?.usedBytes ?? 0,
      },
      cpuSeconds: cpuMs / 1000,
      cpuMillis: this.#rates.millis('/', {at: clock.now(), usageCoreNanoseconds: BigInt(Math.round(cpuMs)) * 1_000_000n}),
      memoryBytes: usedMemoryBytes(memory?.toString() ?? ''),
      pods: known.flatMap(pod => this.#podStats(pod, runtimePods, containers, sandboxes)),
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

  #podStats(
    pod: Frozen<Pod>,
    listed: readonly RuntimePod[],
    containers: readonly ContainerUsage[],
    sandboxes: readonly SandboxUsage[],
  ): PodStats[] {
    const {uid = '', namespace = '', name = ''} = pod.metadata ?? {};
    const instances = listed.find(one => one.pod.uid === uid)?.containers ?? [];
    const measured = [...specContainers(pod.spec!)].flatMap(({container}): ContainerStats[] => {
      const instance = instances.find(one => one.name === container.name && one.state === 'running');
      const usage = instance && containers.find(({id}) => id === instance.id);
      if (!instance || !usage) return [];
      return [
        {
          name: container.name,
          id: instance.id,
          image: container.image ?? '',
          startedAt: instance.startedAt ?? instance.createdAt,
          ...limitsOf(container),
          ...this.#consumption(instance.id, usage),
          probes: [],
        },
      ];
    });
    if (measured.length === 0) return [];
    const sandbox = sandboxes.find(one => one.pod.uid === uid);
    const sum = (value: (of: Consumption) => number): number => measured.reduce((total, each) => total + value(each), 0);
    const total = {
      cpuMillis: sum(({cpuMillis}) => cpuMillis),
      cpuSeconds: sum(({cpuSeconds}) => cpuSeconds),
      memoryBytes: sum(({memoryBytes}) => memoryBytes),
    };
    return [
      {
        namespace,
        name,
        uid,
        startedAt: parseTime(pod.status?.startTime ?? '') ?? this.#startedAt,
        containers: measured,
        ...(sandbox?.cpu?.usageCoreNanoseconds === undefined ? total : this.#consumption(sandbox.id, sandbox)),
      },
    ];
  }

  #consumption(id: string, {cpu, memory}: Pick<ContainerUsage, 'cpu' | 'memory'>): Consumption {
    return {
      cpuMillis: cpu ? this.#rates.millis(id, cpu) : 0,
      cpuSeconds: Number(cpu?.usageCoreNanoseconds ?? 0n) / 1e9,
      memoryBytes: memory?.workingSetBytes ?? 0,
    };
  }
}
