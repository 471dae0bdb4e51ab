import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {Groups, type Group, type Grouping} from './groups.js';
import type {Index} from './lister.js';
import {IndexBuckets} from './index-buckets.js';

/** Called when an index or grouping throws for an object, which is then missing from that index only. */
export type IndexFailure<T extends KubeObject> = (error: unknown, object: Frozen<T>) => void;

/** How many objects are indexed in one step. */
const objectsPerStep = 200;

/** More values than this are looked up in a set. */
const fewValues = 8;

/** Takes an object from the shelves of values that it no longer has. */
const takeOthers = <T extends KubeObject>(
  shelves: IndexBuckets<T>,
  key: string,
  before: readonly string[],
  now: readonly string[],
): void => {
  const kept = now.length > fewValues ? new Set(now) : undefined;
  for (const value of before) if (!(kept ? kept.has(value) : now.includes(value))) shelves.take(value, key);
};

/** The objects of a cache by key, with their indexes, which are built on first use. */
export class Contents<T extends KubeObject> {
  readonly #objects = new Map<string, Frozen<T>>();
  readonly #namespaces = new IndexBuckets<T>();
  readonly #indexes = new Map<Index<T>, IndexBuckets<T>>();
  readonly #groupings = new Map<Grouping<T>, Groups<T>>();
  /**
   * Indexes that are being built in steps. Each write changes them as well, so that the objects that were visited
   * already stay right.
   */
  readonly #unfinished = new Map<Index<T>, IndexBuckets<T>>();
  readonly #failed: IndexFailure<T>;

  constructor(failed: IndexFailure<T>) {
    this.#failed = failed;
  }

  get size(): number {
    return this.#objects.size;
  }

  get objects(): ReadonlyMap<string, Frozen<T>> {
    return this.#objects;
  }

  list(namespace?: string): Frozen<T>[] {
    return namespace ? this.#namespaces.of(namespace) : [...this.#objects.values()];
  }

  has(index: Index<T>): boolean {
    return this.#indexes.has(index);
  }

  /**
   * Builds an index in steps, between which objects may be added, replaced and dropped. A reader that needs it before
   * the end builds it at once.
   */
  *indexing(index: Index<T>): Steps<void> {
    if (this.#indexes.has(index)) return;
    const shelves = new IndexBuckets<T>();
    this.#unfinished.set(index, shelves);
    try {
      yield* this.#fillAll(index, shelves);
      if (!this.#indexes.has(index)) this.#indexes.set(index, shelves);
    } finally {
      if (this.#unfinished.get(index) === shelves) this.#unfinished.delete(index);
    }
  }

  index(index: Index<T>): IndexBuckets<T> {
    if (!this.#indexes.has(index)) runSteps(this.#build(index));
    return this.#indexes.get(index)!;
  }

  groups(grouping: Grouping<T>, value: string): Iterable<Group<T>> {
    if (!this.#groupings.has(grouping)) runSteps(this.#buildGroups(grouping));
    return this.#groupings.get(grouping)!.of(value);
  }

  /** Adds or replaces an object; `old` is the present one. */
  put(key: string, object: Frozen<T>, old: Frozen<T> | undefined): void {
    this.#objects.set(key, object);
    this.#namespaces.put(object.metadata?.namespace ?? '', key, object);
    for (const indexes of this.#allIndexes) {
      for (const [index, shelves] of indexes) {
        const values = this.#valuesOf(index, object);
        // In most changes an object stays on its shelves.
        if (old) takeOthers(shelves, key, this.#valuesOf(index, old), values);
        for (const value of values) shelves.put(value, key, object);
      }
    }
    for (const groups of this.#groupings.values()) {
      if (old) this.#tried(old, () => groups.take(key, old));
      this.#group(groups, key, object);
    }
  }

  drop(key: string, old: Frozen<T>): void {
    this.#unfile(key, old);
    this.#objects.delete(key);
  }

  /** Adds objects to empty contents, and builds all indexes that `model` has, in steps. */
  *fill(objects: Iterable<readonly [string, Frozen<T>]>, model: Contents<T>): Steps<void> {
    let count = 0;
    for (const [key, object] of objects) {
      this.#objects.set(key, object);
      this.#namespaces.fill(object.metadata?.namespace ?? '', object);
      if (++count % objectsPerStep === 0) yield;
    }
    // Readers of `model` may make it build one more while these are built.
    while (this.#indexes.size < model.#indexes.size || this.#groupings.size < model.#groupings.size) {
      for (const index of model.#indexes.keys()) if (!this.#indexes.has(index)) yield* this.#build(index);
      for (const grouping of model.#groupings.keys()) if (!this.#groupings.has(grouping)) yield* this.#buildGroups(grouping);
    }
  }

  *#build(index: Index<T>): Steps<void> {
    const shelves = new IndexBuckets<T>();
    yield* this.#fillAll(index, shelves);
    this.#indexes.set(index, shelves);
  }

  *#fillAll(index: Index<T>, shelves: IndexBuckets<T>): Steps<void> {
    let count = 0;
    for (const object of this.#objects.values()) {
      this.#fill(index, shelves, object);
      if (++count % objectsPerStep === 0) yield;
    }
  }

  get #allIndexes(): readonly ReadonlyMap<Index<T>, IndexBuckets<T>>[] {
    return this.#unfinished.size > 0 ? [this.#indexes, this.#unfinished] : [this.#indexes];
  }

  *#buildGroups(grouping: Grouping<T>): Steps<void> {
    const groups = new Groups(grouping);
    let count = 0;
    for (const [key, object] of this.#objects) {
      this.#group(groups, key, object);
      if (++count % objectsPerStep === 0) yield;
    }
    this.#groupings.set(grouping, groups);
  }

  #unfile(key: string, old: Frozen<T>): void {
    this.#namespaces.take(old.metadata?.namespace ?? '', key);
    for (const indexes of this.#allIndexes)
      for (const [index, shelves] of indexes) for (const value of this.#valuesOf(index, old)) shelves.take(value, key);
    for (const groups of this.#groupings.values()) this.#tried(old, () => groups.take(key, old));
  }

  #fill(index: Index<T>, shelves: IndexBuckets<T>, object: Frozen<T>): void {
    for (const value of this.#valuesOf(index, object)) shelves.fill(value, object);
  }

  #group(groups: Groups<T>, key: string, object: Frozen<T>): void {
    this.#tried(object, () => groups.put(key, object));
  }

  #valuesOf(index: Index<T>, object: Frozen<T>): readonly string[] {
    try {
      return index.values(object);
    } catch (error) {
      this.#failed(error, object);
      return [];
    }
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
