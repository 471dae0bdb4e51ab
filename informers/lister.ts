import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Group, Grouping} from './groups.js';

export type {Group, Grouping};

/**
 * An index of cached objects by derived values. Created once, at module level; each cache builds it on first use, or
 * for `indexing`.
 */
export interface Index<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** Returns the index values of an object; an empty array leaves it out. */
  readonly values: (object: Frozen<T>) => readonly string[];
}

/** The read side of a cache: the last known state of the server. Never waits and never sends requests. */
export interface Lister<T extends KubeObject = KubeObject> {
  get(key: ObjectKey | string): Frozen<T> | undefined;
  /** Returns every object, of one namespace if given, in no particular order. */
  list(namespace?: string): readonly Frozen<T>[];
  /** Returns the objects with the index value `value`. */
  by(index: Index<T>, value: string): readonly Frozen<T>[];
  /** Returns the number of objects with the index value `value`, without copying them. */
  count(index: Index<T>, value: string): number;
  /** Returns the groups of a grouping under `value`. A live view: iterate it before the cache changes. */
  groups(grouping: Grouping<T>, value: string): Iterable<Group<T>>;
  readonly size: number;
}

/**
 * Creates indexes in a cache that is still empty, and returns it: later they would have to visit all objects at once
 * (`SharedInformer.whenIndexed` does it in slices).
 */
export const indexing = <T extends KubeObject, L extends Pick<Lister<T>, 'count'>>(lister: L, ...indexes: readonly Index<T>[]): L => {
  for (const index of indexes) lister.count(index, '');
  return lister;
};
