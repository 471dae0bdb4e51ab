// The cgroups of a node's pods: one for all, one for each class of them, and one for each pod.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {every, held, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {podQosClass, type PodQosClass} from '#src/model/pod/qos.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {Host} from '#src/platlet/host/host.js';
import type {PodCgroups} from '#src/platlet/pod/ports.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';
import {podsLimits, reservedLimits, type Reservation} from './allocatable.js';
import {removeGroup, type CgroupHierarchy} from './hierarchy.js';
import {burstableShares, leastShares, podCgroupLimits, reservedMemoryLimits, type CgroupLimits, type PodCgroupSettings} from './numbers.js';

export interface NodeCgroupSettings extends PodCgroupSettings {
  /** The group in which that of all pods is: `/` for the topmost. */
  readonly root: string;
  /** The sizes of huge pages of the machine, such as `2MB`. */
  readonly pageSizes: readonly string[];
  /** Whether pods have groups of their own; if not, their containers are in the root. */
  readonly perPod: boolean;
  /** What is enforced, of `--enforce-node-allocatable`. */
  readonly enforced: ReadonlySet<string>;
  readonly agentGroup: string;
  readonly systemGroup: string;
  /** The percentage of requested memory that pods of lower classes cannot use; absent: none is kept. */
  readonly reservedMemoryPercent?: number;
}

export interface NodeCgroupsParts {
  readonly naming: Naming;
  readonly host: Host;
  readonly hierarchy: CgroupHierarchy;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** The Node that events are about. */
  readonly node: Regarding;
  /** The pods of the node that have not ended. */
  activePods(): readonly Frozen<Pod>[];
  readonly capacity: ResourceList;
  readonly reservation: Reservation;
  readonly settings: NodeCgroupSettings;
  readonly signal: AbortSignal;
}

/** The names of groups are the same in every naming, so that an agent of the other naming finds its pods again. */
export const podsGroup = 'kubepods';
const classFolders: Readonly<Record<PodQosClass, string>> = {Guaranteed: '', Burstable: 'burstable', BestEffort: 'besteffort'};
const podPrefix = 'pod';
const updateMs = 60_000;

/** The cgroups of a node's pods. */
export class NodeCgroups implements PodCgroups {
  readonly #parts: NodeCgroupsParts;
  /** What was written last, by group. */
  readonly #written = new Map<string, string>();
  readonly #seen = new Map<string, Frozen<Pod>>();

  constructor(parts: NodeCgroupsParts) {
    this.#parts = parts;
  }

  /** Creates the groups of all pods, limits what is reserved, and keeps them up to date until the signal aborts. Rejects if that fails. */
  async start(): Promise<void> {
    const {clock, signal, log, settings} = this.#parts;
    if (!settings.perPod) return;
    for (const qos of Object.keys(classFolders) as PodQosClass[]) await this.#create(this.#classGroup(qos));
    await this.#limitReserved();
    await this.#limitPods();
    await this.#updateClasses();
    every(clock, updateMs, signal, () =>
      this.#updateClasses().catch((error: unknown) => log.error({err: error}, 'failed to update the cgroups of QoS classes')),
    );
  }

  async ensure(pod: Frozen<Pod>): Promise<string> {
    const {settings, clock} = this.#parts;
    if (!settings.perPod) return settings.root;
    const group = this.#groupOf(pod);
    this.#seen.set(pod.metadata?.uid ?? '', pod);
    await held(clock, async () => {
      await this.#updateClasses();
      await this.#create(group);
      await this.#apply(group, podCgroupLimits(pod, settings, settings.pageSizes));
    });
    return group;
  }

  async exists(pod: Frozen<Pod>): Promise<boolean> {
    const {settings, host, hierarchy} = this.#parts;
    if (!settings.perPod) return true;
    const found = await Promise.all(hierarchy.foldersOf(this.#groupOf(pod)).map(folder => host.status(folder)));
    return found.every(Boolean);
  }

  #groupOf(pod: Frozen<Pod>): string {
    return join(this.#classGroup(podQosClass(pod as Pod)), `${podPrefix}${pod.metadata?.uid ?? ''}`);
  }

  async remove(uid: string): Promise<boolean> {
    const {host, hierarchy, settings} = this.#parts;
    this.#seen.delete(uid);
    if (!settings.perPod) return true;
    let isGone = true;
    for (const qos of Object.keys(classFolders) as PodQosClass[]) {
      const group = join(this.#classGroup(qos), `${podPrefix}${uid}`);
      this.#written.delete(group);
      isGone = (await removeGroup(host, hierarchy, group)) && isGone;
    }
    return isGone;
  }

  /** Removes the groups of pods that are not known. */
  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const {host, hierarchy} = this.#parts;
    const uids = new Set<string>();
    for (const qos of Object.keys(classFolders) as PodQosClass[])
      for (const folder of hierarchy.foldersOf(this.#classGroup(qos)))
        for (const name of await host.list(folder)) if (name.startsWith(podPrefix)) uids.add(name.slice(podPrefix.length));
    for (const uid of uids) if (!isKnown(uid)) await this.remove(uid);
  }

  #classGroup(qos: PodQosClass): string {
    return join('/', this.#parts.settings.root, podsGroup, classFolders[qos]);
  }

  async #create(group: string): Promise<void> {
    const {host, hierarchy} = this.#parts;
    for (const folder of hierarchy.foldersOf(group))
      if (!(await host.status(folder))) {
        this.#written.delete(group);
        return hierarchy.create(group);
      }
  }

  /** Writes limits that differ from those written last. */
  async #apply(group: string, limits: CgroupLimits): Promise<void> {
    const text = JSON.stringify(limits);
    if (this.#written.get(group) === text) return;
    await this.#parts.hierarchy.apply(group, limits);
    this.#written.set(group, text);
  }

  /** Gives the classes what their pods request together. */
  async #updateClasses(): Promise<void> {
    const {settings, capacity, reservation, activePods} = this.#parts;
    const pods = new Map([...this.#seen, ...activePods().map(pod => [pod.metadata?.uid ?? '', pod] as const)]);
    const all = [...pods.values()];
    const percent = settings.reservedMemoryPercent;
    const allocatable = podsLimits(capacity, reservation, settings.enforced.has('pods')).memoryBytes ?? 0;
    const memory = percent === undefined ? undefined : reservedMemoryLimits(all, allocatable, percent);
    const limitsOf = (qos: 'Burstable' | 'BestEffort', cpuShares: number): CgroupLimits => ({
      cpuShares,
      ...(memory ? {memoryBytes: Math.max(0, memory[qos])} : {}),
    });
    await this.#apply(this.#classGroup('Burstable'), limitsOf('Burstable', burstableShares(all)));
    await this.#apply(this.#classGroup('BestEffort'), limitsOf('BestEffort', leastShares));
  }

  /** Limits all pods together. A failure is tried again. */
  async #limitPods(): Promise<void> {
    const {capacity, reservation, settings, events, node, clock, signal, log} = this.#parts;
    try {
      await this.#apply(this.#classGroup('Guaranteed'), podsLimits(capacity, reservation, settings.enforced.has('pods')));
      if (settings.enforced.has('pods')) events.normal(node, 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
    } catch (error) {
      events.warning(
        node,
        'FailedNodeAllocatableEnforcement',
        `Failed to update Node Allocatable Limits ${JSON.stringify(this.#classGroup('Guaranteed'))}: ${messageOf(error)}`,
      );
      log.error({err: error}, 'failed to update the limits of all pods');
      if (!signal.aborted) clock.schedule(updateMs, () => this.#limitPods());
    }
  }

  async #limitReserved(): Promise<void> {
    const {reservation, settings, naming} = this.#parts;
    const {prefix} = naming;
    const all = [
      {flag: 'system-reserved', name: 'system', title: 'System', group: settings.systemGroup, reserved: reservation.system},
      {
        flag: `${prefix}-reserved`,
        name: prefix,
        title: `${prefix.charAt(0).toUpperCase()}${prefix.slice(1)}`,
        group: settings.agentGroup,
        reserved: reservation.agent,
      },
    ];
    for (const {flag, name, title, group, reserved} of all)
      for (const part of ['all', 'compressible'] as const) {
        if (!settings.enforced.has(part === 'all' ? flag : `${flag}-compressible`)) continue;
        await this.#limitOne({title, name, group}, reservedLimits(reserved, part));
      }
  }

  async #limitOne({title, name, group}: {title: string; name: string; group: string}, limits: CgroupLimits): Promise<void> {
    const {events, node, host, hierarchy} = this.#parts;
    try {
      const [folder = ''] = hierarchy.foldersOf(group);
      if (!(await host.status(folder))) throw new Error(`${group} cgroup does not exist`);
      await this.#apply(group, limits);
    } catch (error) {
      const message = `Failed to enforce ${title} Reserved Cgroup Limits on ${JSON.stringify(group)}: ${messageOf(error)}`;
      events.warning(node, 'FailedNodeAllocatableEnforcement', message);
      throw new Error(message, {cause: error});
    }
    events.normal(node, 'NodeAllocatableEnforced', `Updated limits on ${name} reserved cgroup ${group}`);
  }
}
