// The cgroups of a node's pods: one for each pod, in the cgroup of its QoS class.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import {podQosClass} from '#src/model/pod/qos.js';
import type {PodCgroups} from '#src/platlet/pod/ports.js';
import type {NodeAllocatable} from './node-allocatable.js';
import type {ActualResources, CgroupLimits} from '#src/platlet/runtime/limits.js';
import {podCgroupLimits, type PodCgroupSettings} from './numbers.js';
import type {QosGroups} from './qos-groups.js';
import type {CgroupWriter} from './writer.js';

export interface NodeCgroupSettings extends PodCgroupSettings {
  /** The parent of the cgroup of all pods: `/` for the root. */
  readonly root: string;
  /** The sizes of huge pages of the machine, such as `2MB`. */
  readonly pageSizes: readonly string[];
  /** Whether pods have cgroups of their own; if not, their containers are in the root cgroup. */
  readonly perPod: boolean;
}

export interface NodeCgroupsParts {
  readonly writer: CgroupWriter;
  readonly classes: QosGroups;
  readonly allocatable: NodeAllocatable;
  readonly settings: NodeCgroupSettings;
  /** Whether the cpu limit of a pod is not enforced by a quota. Absent: all are. */
  isUnthrottled?(pod: Frozen<Pod>): boolean;
  readonly clock: Clock;
}

const podPrefix = 'pod';

/** The cgroups of a node's pods. */
export class NodeCgroups implements PodCgroups {
  readonly #parts: NodeCgroupsParts;

  constructor(parts: NodeCgroupsParts) {
    this.#parts = parts;
  }

  /**
   * Creates the parents of the pods' cgroups, limits the reserved ones, and keeps the limits up to date. Rejects if
   * that fails, or if the root, which others create, is not there.
   */
  async start(): Promise<void> {
    const {settings, classes, allocatable, writer} = this.#parts;
    if (!settings.perPod) return;
    const problem = await writer.problemOf(settings.root);
    if (problem !== undefined) throw new Error(`invalid configuration: ${problem}`);
    await classes.create();
    await allocatable.enforce();
    await classes.follow();
  }

  async ensure(pod: Frozen<Pod>, isRunning = false): Promise<string> {
    const {settings, classes, writer, clock} = this.#parts;
    if (!settings.perPod) return writer.names.pathOf(settings.root);
    const group = this.#groupOf(pod);
    await withClockHeld(clock, async () => {
      await classes.add(pod);
      await writer.create(group);
      // The limits of a pod that runs are changed together with those of its containers.
      if (!isRunning) await writer.change(group, this.limitsFor(pod));
    });
    return writer.names.pathOf(group);
  }

  get hasLimits(): boolean {
    return this.#parts.settings.perPod;
  }

  limitsFor(pod: Frozen<Pod>): CgroupLimits {
    const {settings} = this.#parts;
    const enforcesCpuLimits = settings.enforcesCpuLimits && !this.#parts.isUnthrottled?.(pod);
    return podCgroupLimits(pod, {...settings, enforcesCpuLimits}, settings.pageSizes);
  }

  limitsOf(pod: Frozen<Pod>, container = ''): Promise<ActualResources | undefined> {
    return this.#parts.writer.limitsOf(this.#groupWithin(pod, container));
  }

  memoryOf(pod: Frozen<Pod>, container = ''): Promise<number | undefined> {
    return this.#parts.writer.memoryOf(this.#groupWithin(pod, container));
  }

  read(pod: Frozen<Pod>, file: string, container = ''): Promise<string | undefined> {
    return this.#parts.writer.read(this.#groupWithin(pod, container), file);
  }

  async change(pod: Frozen<Pod>, limits: CgroupLimits): Promise<void> {
    await this.#parts.writer.change(this.#groupOf(pod), limits);
  }

  async exists(pod: Frozen<Pod>): Promise<boolean> {
    const {settings, writer} = this.#parts;
    return !settings.perPod || writer.exists(this.#groupOf(pod));
  }

  async remove(uid: string): Promise<boolean> {
    const {settings, classes, writer} = this.#parts;
    classes.remove(uid);
    if (!settings.perPod) return true;
    let isGone = true;
    for (const group of classes.all) isGone = (await writer.remove(join(group, `${podPrefix}${uid}`))) && isGone;
    return isGone;
  }

  /** Removes the cgroups of unknown pods. */
  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const {classes, writer} = this.#parts;
    const names = new Set<string>();
    for (const group of classes.all)
      for (const folder of await writer.namesIn(group)) {
        const name = writer.names.nameOf(folder);
        if (name.startsWith(podPrefix)) names.add(name);
      }
    for (const name of names) {
      const uid = name.slice(podPrefix.length);
      if (!isKnown(uid)) await this.remove(uid);
    }
  }

  /** The group of a container is in that of its pod; without pods' groups it is in the root. */
  #groupWithin(pod: Frozen<Pod>, container: string): string {
    const {writer, settings} = this.#parts;
    return writer.names.containerIn(settings.perPod ? this.#groupOf(pod) : settings.root, container);
  }

  #groupOf(pod: Frozen<Pod>): string {
    return join(this.#parts.classes.groupOf(podQosClass(pod as Pod)), `${podPrefix}${pod.metadata?.uid ?? ''}`);
  }
}
