// The devices that containers have.

import {idsOf, type DevicesByNode} from './devices.js';

/** The devices of a resource that a container has. */
export interface AssignedDevices {
  readonly devices: DevicesByNode;
}

/** The devices of a container, by resource. */
export type ContainerDevices<T extends AssignedDevices = AssignedDevices> = ReadonlyMap<string, T>;

/** The assignments of devices, by pod uid and container name. */
export class PodDevices<T extends AssignedDevices = AssignedDevices> {
  readonly #pods = new Map<string, Map<string, Map<string, T>>>();

  /** All assignments. */
  *entries(): Generator<readonly [uid: string, container: string, resource: string, assigned: T]> {
    for (const [uid, containers] of this.#pods)
      for (const [name, resources] of containers) for (const [resource, assigned] of resources) yield [uid, name, resource, assigned];
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  insert(uid: string, container: string, resource: string, assigned: T): void {
    const containers = this.#pods.get(uid) ?? new Map<string, Map<string, T>>();
    this.#pods.set(uid, containers);
    containers.set(container, (containers.get(container) ?? new Map<string, T>()).set(resource, assigned));
  }

  /** Forgets a pod. */
  release(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Forgets all other pods than these. Returns whether there were any. */
  retain(uids: ReadonlySet<string>): boolean {
    const before = this.#pods.size;
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#pods.delete(uid);
    return this.#pods.size < before;
  }

  ofContainer(uid: string, container: string): ContainerDevices<T> {
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

  /**
   * Returns the numbers of devices that pods have, which count as allocatable for a pod that has devices, whatever
   * became of their plugins.
   */
  heldBeside(uid: string): ReadonlyMap<string, number> {
    if (!this.has(uid)) return new Map();
    return new Map([...this.all()].map(([resource, ids]) => [resource, ids.size]));
  }

  /** Returns the uid of the pod that has a device; undefined if none has. */
  podWith(id: string): string | undefined {
    for (const [uid, , , {devices}] of this.entries()) if (idsOf(devices).has(id)) return uid;
    return undefined;
  }
}
