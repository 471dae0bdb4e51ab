// Writes cgroups of a node, and skips those that exist with the same limits.

import {join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';
import {plainNames, type GroupNames} from './driver.js';
import {removeGroup, type CgroupHierarchy} from './hierarchy.js';
import type {ActualResources, CgroupLimits} from '#src/platlet/runtime/limits.js';
import {groupUsage} from './usage.js';

/** Creates and limits cgroups, and remembers the limits that it wrote. */
export class CgroupWriter {
  readonly #host: Host;
  readonly #hierarchy: CgroupHierarchy;
  /** The limits written last, by cgroup. */
  readonly #written = new Map<string, string>();

  constructor(host: Host, hierarchy: CgroupHierarchy) {
    this.#host = host;
    this.#hierarchy = hierarchy;
  }

  /** Returns what a cgroup that others have to create lacks; undefined if nothing. */
  problemOf(group: string): Promise<string | undefined> {
    return this.#hierarchy.problemOf(group);
  }

  /** How the cgroups are named in the hierarchies. */
  get names(): GroupNames {
    return this.#hierarchy.names ?? plainNames;
  }

  /** Creates a cgroup in the hierarchies that lack it. */
  async create(group: string): Promise<void> {
    for (const folder of this.#hierarchy.foldersOf(group))
      if (!(await this.#host.status(folder))) {
        this.#written.delete(group);
        return this.#hierarchy.create(group);
      }
  }

  /** Writes the limits that differ from those written last. */
  async apply(group: string, limits: CgroupLimits): Promise<void> {
    const text = JSON.stringify(limits);
    if (this.#written.get(group) === text) return;
    await this.#hierarchy.apply(group, limits);
    this.#written.set(group, text);
  }

  /** Writes some limits of a group, whatever was written last. */
  async change(group: string, limits: CgroupLimits): Promise<void> {
    this.#written.delete(group);
    await this.#hierarchy.apply(group, limits);
  }

  /** Returns what a group is limited to; undefined if it is not there. */
  limitsOf(group: string): Promise<ActualResources | undefined> {
    return this.#hierarchy.limitsOf(group);
  }

  /** Returns how much memory a group uses; undefined if it is not there. */
  async memoryOf(group: string): Promise<number | undefined> {
    return (await groupUsage(this.#host, this.#hierarchy, group))?.memoryBytes;
  }

  /** Returns the content of a file of a group in the unified hierarchy; undefined if it is not there. */
  async read(group: string, file: string): Promise<string | undefined> {
    const [folder = ''] = this.#hierarchy.foldersOf(group);
    return this.#hierarchy.version === 2 ? (await this.#host.read(join(folder, file)))?.toString() : undefined;
  }

  /** Whether a cgroup exists in all hierarchies. */
  async exists(group: string): Promise<boolean> {
    const found = await Promise.all(this.#hierarchy.foldersOf(group).map(folder => this.#host.status(folder)));
    return found.every(Boolean);
  }

  /** Whether a cgroup that is managed by others exists, in the first hierarchy. */
  async isMade(group: string): Promise<boolean> {
    const [folder = ''] = this.#hierarchy.foldersOf(group);
    return (await this.#host.status(folder)) !== undefined;
  }

  /** Returns the names of the children of a cgroup, in any hierarchy. */
  async namesIn(group: string): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    for (const folder of this.#hierarchy.foldersOf(group)) for (const name of await this.#host.list(folder)) names.add(name);
    return names;
  }

  /** Kills the processes in a cgroup and removes it. Returns whether it was removed. */
  remove(group: string): Promise<boolean> {
    this.#written.delete(group);
    return removeGroup(this.#host, this.#hierarchy, group);
  }
}
