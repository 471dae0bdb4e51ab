// Allocates the devices of plugins to containers.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {Eventually} from '#src/base/eventually.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import type {ContainerOptions} from '#src/platlet/inputs/container-options.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {AllocationError, type HintProvider, type ResourceHints, type TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {formatDeviceCheckpoint, type AllocatedDevices, type DeviceCheckpoint} from './checkpoint.js';
import {chooseDevices} from '#src/platlet/pod/devices/choice.js';
import {containerOptions} from './container-options.js';
import type {DeviceCapacity} from '#src/platlet/node/capacity.js';
import type {DevicePlugins} from './device-plugins.js';
import {byNode, isAligned, type Devices} from '#src/platlet/pod/devices/devices.js';
import {resourceHealth} from '#src/platlet/pod/devices/health.js';
import {isMet} from '#src/platlet/pod/devices/needs.js';
import {noteReuse, type ReusableDevices} from '#src/platlet/pod/devices/reuse.js';
import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import {deviceHints} from './hints.js';
import {PodDevices, type ContainerDevices} from '#src/platlet/pod/devices/pod-devices.js';
import {containerDeviceRequests, podDeviceRequests} from '#src/platlet/pod/devices/requests.js';

export interface DeviceManagerParts {
  readonly plugins: DevicePlugins;
  /** The NUMA nodes of the machine. */
  readonly nodes: readonly number[];
  /** What an earlier agent process has left. */
  readonly checkpoint: DeviceCheckpoint;
  readonly file: Pick<CheckpointFile, 'write'>;
  readonly pods: {
    /** Whether all pods of the node are known. */
    readonly isReady: boolean;
    /** Whether a container runs. */
    isRunning(uid: string, container: string): boolean;
    /** Whether a pod is admitted and has not finished. */
    isActive(uid: string): boolean;
  };
  readonly clock: Clock;
  readonly metrics: Pick<AgentMetrics, 'deviceAllocationDuration'>;
}

type Ids = ReadonlySet<string>;

const noIds: Ids = new Set();
const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';

/** Allocates devices. */
export class DeviceManager implements HintProvider {
  readonly #parts: DeviceManagerParts;
  readonly #assigned = new PodDevices<AllocatedDevices>();
  /** The devices that are being allocated, by resource. */
  readonly #chosen = new Map<string, Ids>();
  /** The devices that the containers of the pod that is being admitted may reuse, by resource. */
  #reusable: {readonly uid: string; readonly devices: ReusableDevices} = {uid: '', devices: new Map()};
  #healthChanged: (uids: Ids) => void = () => {};

  constructor(parts: DeviceManagerParts) {
    const {plugins, checkpoint} = parts;
    this.#parts = parts;
    for (const {uid, container, resource, devices, response} of checkpoint.entries)
      this.#assigned.insert(uid, container, resource, {devices, response});
    plugins.restore(checkpoint.registered.keys());
    plugins.follow((resource, before) => this.#reported(resource, before));
  }

  /** Calls `changed` with the uids of pods that have devices whose health has changed. */
  followHealth(changed: (uids: Ids) => void): void {
    this.#healthChanged = changed;
  }

  #reported(resource: string, before: Devices): void {
    const changed = new Set<string>();
    for (const [id, {health}] of this.#parts.plugins.devicesOf(resource)) {
      const uid = before.get(id)?.health === health ? undefined : this.#assigned.podWith(id);
      if (uid !== undefined) changed.add(uid);
    }
    if (changed.size > 0) this.#healthChanged(changed);
    this.#save();
  }

  /** Counts the devices for the Node. */
  count(): DeviceCapacity {
    const counted = this.#parts.plugins.count();
    if (counted.removed.length > 0) this.#save();
    return counted;
  }

  /** The numbers of devices that count as allocatable for a pod that has devices, by resource. */
  heldBeside(pod: Frozen<Pod>): ReadonlyMap<string, number> {
    return this.#assigned.heldBeside(uidOf(pod));
  }

  /** The healthy devices, by resource and id. */
  get usable(): ReadonlyMap<string, Devices> {
    const {plugins} = this.#parts;
    return new Map(
      [...plugins.resources].map(resource => {
        const usable = plugins.healthyOf(resource) ?? noIds;
        return [resource, new Map([...plugins.devicesOf(resource)].filter(([id]) => usable.has(id)))];
      }),
    );
  }

  /** Returns the devices of a container, by resource. */
  devicesOf(uid: string, container: string): ContainerDevices<AllocatedDevices> {
    return this.#assigned.ofContainer(uid, container);
  }

  /** Returns the health of the devices of a container, by resource. */
  healthOf(uid: string, container: string): readonly ResourceStatus[] {
    return resourceHealth(this.devicesOf(uid, container), resource => this.#parts.plugins.devicesOf(resource));
  }

  containerHints(pod: Frozen<Pod>, container: Frozen<AnyContainer>): ResourceHints {
    const requests = containerDeviceRequests(pod, container, resource => this.#isDevice(resource));
    const reusable = this.#reusable.uid === uidOf(pod) ? this.#reusable.devices : new Map<string, Ids>();
    return this.#hints(requests, resource => ({
      assigned: this.#assigned.idsOf(uidOf(pod), container.name, resource) ?? noIds,
      reusable: reusable.get(resource) ?? noIds,
    }));
  }

  podHints(pod: Frozen<Pod>): ResourceHints {
    const requests = podDeviceRequests(pod, resource => this.#isDevice(resource));
    return this.#hints(requests, resource => ({assigned: this.#assigned.idsOfPod(uidOf(pod), resource), reusable: noIds}));
  }

  #hints(
    requests: ReadonlyMap<string, number>,
    heldOf: (resource: string) => {readonly assigned: Ids; readonly reusable: Ids},
  ): ResourceHints {
    const {nodes, plugins} = this.#parts;
    const hints: Record<string, readonly TopologyHint[]> = {};
    for (const [resource, count] of requests) {
      const devices = plugins.devicesOf(resource);
      if (!isAligned(devices)) continue;
      const {assigned, reusable} = heldOf(resource);
      const isAssigned = assigned.size > 0;
      const available = isAssigned ? assigned : this.#availableOf(resource);
      const isPossible = isAssigned ? assigned.size === count : new Set([...available, ...reusable]).size >= count;
      hints[resource] = isPossible ? deviceHints(nodes, {devices, available, reusable: isAssigned ? noIds : reusable, count}) : [];
    }
    return hints;
  }

  /** Whether a resource is that of a plugin, now or when its devices were allocated. */
  #isDevice(resource: string): boolean {
    return this.#parts.plugins.healthyOf(resource) !== undefined || this.#assigned.all().has(resource);
  }

  #availableOf(resource: string): Ids {
    const held = this.#assigned.all().get(resource) ?? noIds;
    const chosen = this.#chosen.get(resource) ?? noIds;
    return new Set([...(this.#parts.plugins.healthyOf(resource) ?? noIds)].filter(id => !held.has(id) && !chosen.has(id)));
  }

  /** Waits for the plugins only if there is something to allocate. */
  allocate(pod: Frozen<Pod>, container: Frozen<AnyContainer>, hint: TopologyHint): Eventually<void> {
    if (this.#reusable.uid !== uidOf(pod)) this.#reusable = {uid: uidOf(pod), devices: new Map()};
    const requests = [...containerDeviceRequests(pod, container, resource => this.#isDevice(resource))];
    const first = requests.findIndex(([resource, count]) => !this.#isMet(pod, container, resource, count));
    if (first >= 0) return this.#allocateAll(pod, container, requests.slice(first), hint);
    this.#noteReuse(pod, container);
  }

  async #allocateAll(
    pod: Frozen<Pod>,
    container: Frozen<AnyContainer>,
    requests: readonly (readonly [string, number])[],
    {affinity}: TopologyHint,
  ): Promise<void> {
    for (const [resource, count] of requests) {
      if (this.#isMet(pod, container, resource, count)) continue;
      try {
        await this.#allocateOne(pod, container, resource, count, affinity);
      } catch (error) {
        throw failed(messageOf(error), error);
      }
    }
    this.#noteReuse(pod, container);
    this.#save();
  }

  /** Whether nothing is to be allocated. Throws `AllocationError`. */
  #isMet(pod: Frozen<Pod>, {name: container}: Frozen<AnyContainer>, resource: string, count: number): boolean {
    const {plugins, pods} = this.#parts;
    const uid = uidOf(pod);
    const assigned = this.#assigned.idsOf(uid, container, resource);
    const isKept = !pods.isReady && pods.isRunning(uid, container);
    try {
      return isMet({uid, container, resource, count, assigned, usable: plugins.healthyOf(resource), isKept});
    } catch (error) {
      throw failed(messageOf(error), error);
    }
  }

  async #allocateOne(
    pod: Frozen<Pod>,
    {name}: Frozen<AnyContainer>,
    resource: string,
    count: number,
    affinity: TopologyHint['affinity'],
  ): Promise<void> {
    const {plugins, clock, metrics} = this.#parts;
    const devices = plugins.devicesOf(resource);
    const reusable = this.#reusable.devices.get(resource) ?? noIds;
    const choice = chooseDevices({resource, count, devices, available: this.#availableOf(resource), reusable, affinity});
    let step = choice.next();
    while (!step.done) step = choice.next(await plugins.preferred(resource, step.value));
    const ids = [...step.value];
    this.#chosen.set(resource, new Set([...(this.#chosen.get(resource) ?? noIds), ...ids]));
    const begun = clock.monotonic();
    try {
      const response = await plugins.allocate(resource, ids);
      this.#assigned.insert(uidOf(pod), name, resource, {devices: byNode(devices, ids), response});
    } finally {
      metrics.deviceAllocationDuration.observe((clock.monotonic() - begun) / 1000, {resource_name: resource});
      this.#chosen.set(resource, new Set([...(this.#chosen.get(resource) ?? noIds)].filter(id => !step.value.has(id))));
    }
  }

  #noteReuse(pod: Frozen<Pod>, container: Frozen<AnyContainer>): void {
    noteReuse(this.#reusable.devices, {pod, container}, this.devicesOf(uidOf(pod), container.name));
  }

  retain(pods: readonly Frozen<Pod>[]): void {
    if (this.#assigned.retain(new Set(pods.map(uidOf)))) this.#save();
  }

  /**
   * Returns what a container gets with its devices. Tells the plugins that ask for it that the container is to start.
   */
  async optionsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Promise<ContainerOptions> {
    const {plugins, pods} = this.#parts;
    const uid = uidOf(pod);
    const requests = [...containerDeviceRequests(pod, container, resource => this.#isDevice(resource))].filter(([, count]) => count > 0);
    for (const [resource] of requests) {
      if (!plugins.wantsPreStart(resource)) continue;
      const ids = this.#assigned.idsOf(uid, container.name, resource);
      if (!ids)
        throw new Error(`no devices found allocated in local cache for pod ${uid}, container ${container.name}, resource ${resource}`);
      await plugins.preStart(resource, [...ids]);
    }
    // The devices of a pod that was admitted before its plugin was known.
    const isMissing = requests.some(([resource]) => this.#assigned.idsOf(uid, container.name, resource) === undefined);
    if (isMissing && pods.isActive(uid)) await this.allocate(pod, container, {affinity: undefined, isPreferred: false});
    return containerOptions([...this.devicesOf(uid, container.name).values()].map(({response}) => response));
  }

  #save(): void {
    const {plugins, file} = this.#parts;
    file.write(
      formatDeviceCheckpoint({
        entries: [...this.#assigned.entries()].map(([uid, container, resource, assigned]) => ({uid, container, resource, ...assigned})),
        registered: new Map([...plugins.resources].map(resource => [resource, [...(plugins.healthyOf(resource) ?? noIds)]])),
      }),
    );
  }
}

const failed = (error: string, cause?: unknown): AllocationError => {
  const refusal = new AllocationError({is: 'failed', error});
  if (cause !== undefined) refusal.cause = cause;
  return refusal;
};
