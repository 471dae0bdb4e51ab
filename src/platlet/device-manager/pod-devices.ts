// The devices that containers have.

import {idsOf, type DevicesByNode} from './devices.js';
import type {ContainerAllocation} from './messages.js';

/** The devices of a resource that a container has, and what it gets with them. */
export interface AssignedDevices {
  readonly devices: DevicesByNode;
  readonly response: ContainerAllocation;
}

/** The devices of a container, by resource. */
export type ContainerDevices = ReadonlyMap<string, AssignedDevices>;

/** The assignments of devices, by pod uid and container name. */
export class PodDevices {
  readonly #pods = new Map<string, Map<string, Map<string, AssignedDevices>>>();

  /** All assignments. */
  *entries(): Generator<readonly [uid: string, container: string, resource: string, assigned: AssignedDevices]> {
    for (const [uid, containers] of this.#pods)
      for (const [name, resources] of containers) for (const [resource, assigned] of resources) yield [uid, name, resource, assigned];
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  insert(uid: string, container: string, resource: string, assigned: AssignedDevices): void {
    const containers = this.#pods.get(uid) ?? new Map<string, Map<string, AssignedDevices>>();
    this.#pods.set(uid, containers);
    containers.set(container, (containers.get(container) ?? new Map<string, AssignedDevices>()).set(resource, assigned));
  }

  /** Forgets all other pods than these. Returns whether there were any. */
  retain(uids: ReadonlySet<string>): boolean {
    const before = this.#pods.size;
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#pods.delete(uid);
    return this.#pods.size < before;
  }

  ofContainer(uid: string, container: string): ContainerDevices {
    return this.#pods.get(uid)?.get(container) ?? new Map();
  }

  /** Returns the devices of a resource that a container has; undefined if it has got none. */
  idsOf(uid: string, container: string, resource: string): ReadonlySet<string> | undefined {
    const assigned = this.ofContainer(uid, container).get(resource);
    return assigned && idsOf(assigned.devices);
  }

  /** Returns the devices of a resource that the containers of a pod have together. */
  idsOfPod(uid: string, resource: string): ReadonlySet<string> {
    return new Set([...(this.#pods.get(uid)?.keys() ?? [])].flatMap(name => [...(this.idsOf(uid, name, resource) ?? [])]));
  }

  /** Returns all devices that containers have, by resource. */
  all(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>();
    for (const [, , resource, {devices}] of this.entries()) {
      const ids = found.get(resource) ?? new Set();
      for (const id of idsOf(devices)) ids.add(id);
      found.set(resource, ids);
    }
    return found;
  }

  /** Returns the uid of the pod that has a device; undefined if none has. */
  podWith(id: string): string | undefined {
    for (const [uid, , , {devices}] of this.entries()) if (idsOf(devices).has(id)) return uid;
    return undefined;
  }
}
