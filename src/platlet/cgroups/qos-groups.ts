// The cgroups of the QoS classes, with the summed requests of their pods.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {podQosClass, type PodQosClass} from '#src/model/pod/qos.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import {burstableShares, leastShares, protectedMemory, reservedMemoryLimits} from './numbers.js';
import type {CgroupWriter} from './writer.js';

/** Memory reserved from lower QoS classes. */
export interface ReservedMemory {
  /** The allocatable memory of pods. */
  readonly allocatableBytes: number;
  /** The percentage of the requests of higher classes that is reserved. */
  readonly percent: number;
}

export interface QosGroupsParts {
  readonly writer: CgroupWriter;
  /** The parent of the cgroup of all pods: `/` for the root. */
  readonly root: string;
  /** Absent: no memory is reserved. */
  readonly memoryReserve?: ReservedMemory | undefined;
  /** Whether the requested memory of the classes is protected. */
  readonly protectsMemory?: boolean;
  /** The active pods of the node. */
  activePods(): readonly Frozen<Pod>[];
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** The cgroup names are the same in every naming, so that an agent of the other naming finds its pods again. */
export const podsGroup = 'kubepods';
const classFolders: Readonly<Record<PodQosClass, string>> = {Guaranteed: '', Burstable: 'burstable', BestEffort: 'besteffort'};
const updateMs = 60_000;

/** The cgroups of the QoS classes. That of Guaranteed pods is the cgroup of all pods. */
export class QosGroups {
  readonly #parts: QosGroupsParts;
  /** The pods with cgroups, by uid: they may not be among the active ones yet. */
  readonly #pods = new Map<string, Frozen<Pod>>();

  constructor(parts: QosGroupsParts) {
    this.#parts = parts;
  }

  groupOf(qos: PodQosClass): string {
    return join('/', this.#parts.root, podsGroup, classFolders[qos]);
  }

  /** The cgroups of all classes, parents first. */
  get all(): readonly string[] {
    return (Object.keys(classFolders) as PodQosClass[]).map(qos => this.groupOf(qos));
  }

  async create(): Promise<void> {
    for (const group of this.all) await this.#parts.writer.create(group);
  }

  /**
   * Updates the limits of the classes now and periodically until the signal aborts. Rejects if the first update fails.
   */
  async follow(): Promise<void> {
    const {clock, log, signal} = this.#parts;
    await this.#update();
    runEvery(clock, updateMs, signal, () =>
      this.#update().catch((error: unknown) => log.error({err: error}, 'failed to update the cgroups of QoS classes')),
    );
  }

  /** Updates the limits of the classes for an additional pod. */
  add(pod: Frozen<Pod>): Promise<void> {
    this.#pods.set(pod.metadata?.uid ?? '', pod);
    return this.#update();
  }

  remove(uid: string): void {
    this.#pods.delete(uid);
  }

  async #update(): Promise<void> {
    const {writer, memoryReserve, protectsMemory, activePods} = this.#parts;
    const pods = [...new Map([...this.#pods, ...activePods().map(pod => [pod.metadata?.uid ?? '', pod] as const)]).values()];
    const memory = memoryReserve && reservedMemoryLimits(pods, memoryReserve.allocatableBytes, memoryReserve.percent);
    const limitsOf = (qos: 'Burstable' | 'BestEffort', cpuShares: number): CgroupLimits => ({
      cpuShares,
      ...(memory ? {memoryBytes: Math.max(0, memory[qos])} : {}),
    });
    const burstable = pods.filter(pod => podQosClass(pod as Pod) === 'Burstable');
    const all = pods.filter(pod => podQosClass(pod as Pod) !== 'BestEffort');
    if (protectsMemory) await writer.apply(this.groupOf('Guaranteed'), protectedMemory(all));
    await writer.apply(this.groupOf('Burstable'), {
      ...limitsOf('Burstable', burstableShares(pods)),
      ...(protectsMemory ? protectedMemory(burstable) : {}),
    });
    await writer.apply(this.groupOf('BestEffort'), limitsOf('BestEffort', leastShares));
  }
}
