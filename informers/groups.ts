import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * An index of cached objects with two levels: an index value, and within it groups of equal objects. A reader that only
 * counts looks at one object of each group, regardless of its size. Created once, at module level; each cache builds
 * the index on first use.
 */
export interface Grouping<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** Returns the index value and the group of an object. */
  readonly place: (object: Frozen<T>) => readonly [value: string, group: string];
}

/** The objects of one group by key; never empty. */
export type Group<T extends KubeObject = KubeObject> = ReadonlyMap<string, Frozen<T>>;

/** The index of one cache by one grouping. */
export class Groups<T extends KubeObject> {
  readonly #place: Grouping<T>['place'];
  readonly #values = new Map<string, Map<string, Map<string, Frozen<T>>>>();

  constructor({place}: Grouping<T>) {
    this.#place = place;
  }

  of(value: string): Iterable<Group<T>> {
    return this.#values.get(value)?.values() ?? [];
  }

  put(key: string, object: Frozen<T>): void {
    const [value, name] = this.#place(object);
    let groups = this.#values.get(value);
    if (!groups) this.#values.set(value, (groups = new Map()));
    const group = groups.get(name);
    if (group) group.set(key, object);
    else groups.set(name, new Map([[key, object]]));
  }

  take(key: string, object: Frozen<T>): void {
    const [value, name] = this.#place(object);
    const groups = this.#values.get(value);
    const group = groups?.get(name);
    if (!groups || !group?.delete(key) || group.size > 0) return;
    groups.delete(name);
    if (groups.size === 0) this.#values.delete(value);
  }
}
