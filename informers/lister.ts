import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Group, Grouping} from './groups.js';

export type {Group, Grouping};

/** A way to find cached objects by derived values. Made once, at module level; every cache that is asked by it builds it on first use. */
export interface Index<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** The values under which an object is found; none leaves it out. */
  readonly values: (object: Frozen<T>) => readonly string[];
}

/** The read side of a cache: what the server was last known to hold. Never waits, never asks the server. */
export interface Lister<T extends KubeObject = KubeObject> {
  get(key: ObjectKey | string): Frozen<T> | undefined;
  /** Every object, of one namespace if given. In no particular order. */
  list(namespace?: string): readonly Frozen<T>[];
  /** The objects an index files under `value`. */
  by(index: Index<T>, value: string): readonly Frozen<T>[];
  /** How many objects an index files under `value`, without a list of them. */
  count(index: Index<T>, value: string): number;
  /** The objects a grouping files under `value`, group by group. To be looked through at once: it follows the cache. */
  groups(grouping: Grouping<T>, value: string): Iterable<Group<T>>;
  readonly size: number;
}
