import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * A way to see cached objects by what they have in common: under a value, in groups of those that are alike. Who only counts looks at one of each
 * group, however many there are. Made once, at module level; every cache that is asked by it builds it on first use.
 */
export interface Grouping<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** The value and the group an object is found under. */
  readonly place: (object: Frozen<T>) => readonly [value: string, group: string];
}

/** Objects that are alike: never none. */
export type Group<T extends KubeObject = KubeObject> = ReadonlyMap<string, Frozen<T>>;

/** The objects of one cache by one grouping. */
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
