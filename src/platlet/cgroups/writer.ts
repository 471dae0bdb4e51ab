// Writes groups of a node: what is there and has its limits already is left alone.

import type {Host} from '#src/platlet/host/host.js';
import {removeGroup, type CgroupHierarchy} from './hierarchy.js';
import type {CgroupLimits} from './numbers.js';

/** Writes groups, and remembers which limits they have. */
export class CgroupWriter {
  readonly #host: Host;
  readonly #hierarchy: CgroupHierarchy;
  /** What was written last, by group. */
  readonly #written = new Map<string, string>();

  constructor(host: Host, hierarchy: CgroupHierarchy) {
    this.#host = host;
    this.#hierarchy = hierarchy;
  }

  /** Creates a group in the trees in which it is missing. */
  async create(group: string): Promise<void> {
    for (const folder of this.#hierarchy.foldersOf(group))
      if (!(await this.#host.status(folder))) {
        this.#written.delete(group);
        return this.#hierarchy.create(group);
      }
  }

  /** Writes limits that differ from those written last. */
  async apply(group: string, limits: CgroupLimits): Promise<void> {
    const text = JSON.stringify(limits);
    if (this.#written.get(group) === text) return;
    await this.#hierarchy.apply(group, limits);
    this.#written.set(group, text);
  }

  /** Whether a group is in all trees. */
  async exists(group: string): Promise<boolean> {
    const found = await Promise.all(this.#hierarchy.foldersOf(group).map(folder => this.#host.status(folder)));
    return found.every(Boolean);
  }

  /** Whether a group that others make is there, in the first of the trees. */
  async isMade(group: string): Promise<boolean> {
    const [folder = ''] = this.#hierarchy.foldersOf(group);
    return (await this.#host.status(folder)) !== undefined;
  }

  /** Returns the names of the groups in a group, in any tree. */
  async namesIn(group: string): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    for (const folder of this.#hierarchy.foldersOf(group)) for (const name of await this.#host.list(folder)) names.add(name);
    return names;
  }

  /** Ends what is left in a group and removes it. Returns whether it is gone. */
  remove(group: string): Promise<boolean> {
    this.#written.delete(group);
    return removeGroup(this.#host, this.#hierarchy, group);
  }
}
