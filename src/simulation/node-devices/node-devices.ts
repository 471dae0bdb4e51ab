// The devices of a simulated node by extended resources, as device plugins offer them, and the containers that have
// them.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {DeviceCapacity} from '#src/platlet/node/capacity.js';
import type {ManagerRefusal} from '#src/platlet/pod/admission/managers.js';
import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import {chooseDevices} from '#src/platlet/pod/devices/choice.js';
import {allocatedContainers} from '#src/platlet/pod/allocated-containers.js';
import {byNode, healthy, type Devices} from '#src/platlet/pod/devices/devices.js';
import {resourceHealth} from '#src/platlet/pod/devices/health.js';
import {isMet} from '#src/platlet/pod/devices/needs.js';
import {PodDevices} from '#src/platlet/pod/devices/pod-devices.js';
import {containerDeviceRequests} from '#src/platlet/pod/devices/requests.js';
import {noteReuse, type ReusableDevices} from '#src/platlet/pod/devices/reuse.js';
import {deviceKey, type DeviceFailures, type FailingDevice, type Health} from './health.js';
import type {OfferedDevices} from './offered.js';

type Ids = ReadonlySet<string>;

const noIds: Ids = new Set();

/** The devices of a simulated node. */
export class NodeDevices {
  /** The ids of devices by extended resource. */
  readonly #offered: ReadonlyMap<string, readonly string[]>;
  readonly #assigned = new PodDevices();
  /** All devices, those of drivers of claims included. */
  readonly all: readonly FailingDevice[];
  /** Those that are not healthy now. */
  failures: DeviceFailures = new Map();
  /** Whether the server stores the health of devices: it drops the field if its gate is off. */
  isHealthStored = true;

  constructor({resources, all}: OfferedDevices) {
    this.#offered = resources;
    this.all = all;
  }

  /** Counts the devices for the Node: the healthy ones are allocatable. */
  count(): Omit<DeviceCapacity, 'removed'> {
    const counts = [...this.#offered].map(([resource, {length}]) => [resource, length, this.#usable(resource)?.size ?? 0] as const);
    return {
      capacity: new Map(counts.map(([resource, all]) => [resource, all])),
      allocatable: new Map(counts.map(([resource, , healthyOnes]) => [resource, healthyOnes])),
    };
  }

  /** Allocates the devices that the containers of a pod request. Returns why that is not possible. */
  reserve(pod: Frozen<Pod>): ManagerRefusal | undefined {
    const reusable: ReusableDevices = new Map();
    try {
      for (const container of allocatedContainers(pod)) this.#allocate(pod, container, reusable);
      return undefined;
    } catch (error) {
      this.release(uidOf(pod));
      return {is: 'failed', error: messageOf(error)};
    }
  }

  /** Gives a pod that was admitted before the start its devices again: those that its status shows, if it shows any. */
  restore(pod: Frozen<Pod>): void {
    for (const container of allocatedContainers(pod)) {
      const shown = pod.status?.containerStatuses?.find(({name}) => name === container.name)?.allocatedResourcesStatus ?? [];
      for (const [resource, count] of this.#requestsOf(pod, container)) {
        const before = (shown.find(({name}) => name === resource)?.resources ?? []).map(({resourceID}) => resourceID);
        const free = this.#free(resource);
        const ids = new Set([...before.filter(id => free.has(id)), ...free]);
        this.#assign(pod, container, resource, [...ids].slice(0, count));
      }
    }
  }

  /** Releases the devices of a pod. */
  release(uid: string): void {
    this.#assigned.release(uid);
  }

  /** The numbers of devices that count as allocatable for a pod that has devices, by resource. */
  heldBeside(pod: Frozen<Pod>): ReadonlyMap<string, number> {
    return this.#assigned.heldBeside(uidOf(pod));
  }

  /** Returns the health of the devices of a container, by resource. */
  healthOf(pod: Frozen<Pod>, container: string): readonly ResourceStatus[] {
    return resourceHealth(this.#assigned.ofContainer(uidOf(pod), container), resource => this.#devicesOf(resource));
  }

  /** Returns the health of a device of a driver or an extended resource. */
  healthOfDevice(owner: string, name: string): Health {
    return this.failures.get(deviceKey(owner, name)) ?? healthy;
  }

  #allocate(pod: Frozen<Pod>, container: Frozen<AnyContainer>, reusable: ReusableDevices): void {
    const uid = uidOf(pod);
    for (const [resource, count] of this.#requestsOf(pod, container)) {
      const assigned = this.#assigned.idsOf(uid, container.name, resource);
      const need = {uid, container: container.name, resource, count, assigned, usable: this.#usable(resource), isKept: false};
      if (isMet(need)) continue;
      const choice = chooseDevices({
        resource,
        count,
        devices: this.#devicesOf(resource),
        available: this.#free(resource, this.#usable(resource)),
        reusable: reusable.get(resource) ?? noIds,
        affinity: undefined,
      });
      let step = choice.next();
      while (!step.done) step = choice.next(noIds); // No device is preferred.
      this.#assign(pod, container, resource, step.value);
    }
    noteReuse(reusable, {pod, container}, this.#assigned.ofContainer(uid, container.name));
  }

  #assign(pod: Frozen<Pod>, container: Frozen<AnyContainer>, resource: string, ids: Iterable<string>): void {
    this.#assigned.insert(uidOf(pod), container.name, resource, {devices: byNode(this.#devicesOf(resource), ids)});
  }

  #requestsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Iterable<readonly [string, number]> {
    return containerDeviceRequests(pod, container, resource => this.#offered.has(resource));
  }

  #devicesOf(resource: string): Devices {
    const ids = this.#offered.get(resource) ?? [];
    return new Map(ids.map(id => [id, {health: this.healthOfDevice(resource, id), nodes: undefined}]));
  }

  #usable(resource: string): Ids | undefined {
    if (!this.#offered.has(resource)) return undefined;
    return new Set([...this.#devicesOf(resource)].flatMap(([id, {health}]) => (health === healthy ? [id] : [])));
  }

  /** Returns the devices, or those of some, that no container has. */
  #free(resource: string, of: Iterable<string> = this.#offered.get(resource) ?? []): Ids {
    const held = this.#assigned.all().get(resource) ?? noIds;
    return new Set([...of].filter(id => !held.has(id)));
  }
}

const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';
