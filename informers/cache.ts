import {keyText, keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import type {KubeObject} from '#src/api/types.js';
import type {Change} from './change.js';
import {Groups, type Group, type Grouping} from './groups.js';
import type {Index, Lister} from './lister.js';

/** The objects of one index value, by key. */
type Shelf<T extends KubeObject> = Map<string, Frozen<T>>;

const versionOf = (object: Frozen<KubeObject>): string => object.metadata?.resourceVersion ?? '';

type IndexFailure<T extends KubeObject> = (error: unknown, object: Frozen<T>) => void;

/** The last known state of a collection with its indexes. Only the informer that owns it writes; each write returns the changes it made. */
export class Cache<T extends KubeObject> implements Lister<T> {
  #objects = new Map<string, Frozen<T>>();
  readonly #namespaces = new Map<string, Shelf<T>>();
  readonly #indexes = new Map<Index<T>, Map<string, Shelf<T>>>();
  readonly #groupings = new Map<Grouping<T>, Groups<T>>();
  readonly #failed: IndexFailure<T>;

  /** `failed` is called when an index or grouping throws for an object, which is then missing from that index only. */
  constructor(failed: IndexFailure<T> = () => undefined) {
    this.#failed = failed;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey | string): Frozen<T> | undefined {
    return this.#objects.get(typeof key === 'string' ? key : keyText(key));
  }

  list(namespace?: string): readonly Frozen<T>[] {
    return [...((namespace ? this.#namespaces.get(namespace) : this.#objects)?.values() ?? [])];
  }

  by(index: Index<T>, value: string): readonly Frozen<T>[] {
    return [...(this.#shelf(index, value)?.values() ?? [])];
  }

  count(index: Index<T>, value: string): number {
    return this.#shelf(index, value)?.size ?? 0;
  }

  groups(grouping: Grouping<T>, value: string): Iterable<Group<T>> {
    let groups = this.#groupings.get(grouping);
    if (!groups) {
      this.#groupings.set(grouping, (groups = new Groups(grouping)));
      for (const [key, object] of this.#objects) this.#group(groups, key, object);
    }
    return groups.of(value);
  }

  #shelf(index: Index<T>, value: string): Shelf<T> | undefined {
    let shelves = this.#indexes.get(index);
    if (!shelves) {
      shelves = new Map();
      this.#indexes.set(index, shelves);
      for (const [key, object] of this.#objects) for (const each of this.#valuesOf(index, object)) put(shelves, each, key, object);
    }
    return shelves.get(value);
  }

  /** Adds or updates an object. A version that is cached already, or older than that, changes nothing. */
  apply(object: Frozen<T>): readonly Change<T>[] {
    const key = keyText(keyOf(object));
    const old = this.#objects.get(key);
    if (old && sameObject(old, object) && (versionOf(old) === versionOf(object) || isOlderVersion(versionOf(object), versionOf(old))))
      return [];
    this.#put(key, object, old);
    return changesBetween(old, object);
  }

  /** Removes an object; `object` is its last state. */
  remove(object: Frozen<T>): readonly Change<T>[] {
    const key = keyText(keyOf(object));
    const old = this.#objects.get(key);
    // The deletion of an earlier object of that name does not concern the present one.
    if (!old || !sameObject(old, object)) return [];
    this.#drop(key, old);
    return [{type: 'deleted', object, tombstone: false}];
  }

  /** Replaces the whole collection: objects that are not in `objects` are deleted. */
  replace(objects: readonly Frozen<T>[]): readonly Change<T>[] {
    const listed = new Map(objects.map(object => [keyText(keyOf(object)), object]));
    const changes: Change<T>[] = [];
    for (const [key, old] of this.#objects) {
      if (listed.has(key)) continue;
      this.#drop(key, old);
      changes.push({type: 'deleted', object: old, tombstone: true});
    }
    for (const [key, object] of listed) {
      const old = this.#objects.get(key);
      if (old && sameObject(old, object) && versionOf(old) === versionOf(object)) continue;
      this.#put(key, object, old);
      changes.push(...changesBetween(old, object));
    }
    return changes;
  }

  #put(key: string, object: Frozen<T>, old: Frozen<T> | undefined): void {
    if (old) this.#unfile(key, old);
    this.#objects.set(key, object);
    put(this.#namespaces, object.metadata?.namespace ?? '', key, object);
    for (const [index, shelves] of this.#indexes) for (const value of this.#valuesOf(index, object)) put(shelves, value, key, object);
    for (const groups of this.#groupings.values()) this.#group(groups, key, object);
  }

  #drop(key: string, old: Frozen<T>): void {
    this.#unfile(key, old);
    this.#objects.delete(key);
  }

  #unfile(key: string, old: Frozen<T>): void {
    take(this.#namespaces, old.metadata?.namespace ?? '', key);
    for (const [index, shelves] of this.#indexes) for (const value of this.#valuesOf(index, old)) take(shelves, value, key);
    for (const groups of this.#groupings.values()) this.#tried(old, () => groups.take(key, old));
  }

  #group(groups: Groups<T>, key: string, object: Frozen<T>): void {
    this.#tried(object, () => groups.put(key, object));
  }

  #valuesOf(index: Index<T>, object: Frozen<T>): readonly string[] {
    return this.#tried(object, () => index.values(object)) ?? [];
  }

  #tried<R>(object: Frozen<T>, act: () => R): R | undefined {
    try {
      return act();
    } catch (error) {
      this.#failed(error, object);
      return undefined;
    }
  }
}

const sameObject = (a: Frozen<KubeObject>, b: Frozen<KubeObject>): boolean => a.metadata?.uid === b.metadata?.uid;

/** Returns the changes from `old` to `object`. Another uid under the same name is a deletion and an addition. */
const changesBetween = <T extends KubeObject>(old: Frozen<T> | undefined, object: Frozen<T>): readonly Change<T>[] => {
  if (!old) return [{type: 'added', object, initial: false}];
  if (sameObject(old, object)) return [{type: 'updated', object, old}];
  return [
    {type: 'deleted', object: old, tombstone: true},
    {type: 'added', object, initial: false},
  ];
};

const put = <T extends KubeObject>(shelves: Map<string, Shelf<T>>, value: string, key: string, object: Frozen<T>): void => {
  const shelf = shelves.get(value);
  if (shelf) shelf.set(key, object);
  else shelves.set(value, new Map([[key, object]]));
};

const take = <T extends KubeObject>(shelves: Map<string, Shelf<T>>, value: string, key: string): void => {
  const shelf = shelves.get(value);
  if (shelf?.delete(key) && shelf.size === 0) shelves.delete(value);
};
