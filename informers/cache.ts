import {keyText, keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import type {KubeObject} from '#src/api/types.js';
import type {Change} from './change.js';
import type {Steps} from '#src/base/steps.js';
import {Contents, type IndexFailure} from './contents.js';
import type {Group, Grouping, Index, Lister} from './lister.js';

const versionOf = (object: Frozen<KubeObject>): string => object.metadata?.resourceVersion ?? '';

/** How many objects of a list are compared in one step. */
const objectsPerStep = 200;

/**
 * The most changes by a new list that are made in the present contents, in one step: more are made in a copy that takes
 * their place.
 */
const maxChangesInPlace = 200;

/**
 * The last known state of a collection with its indexes. Only the informer that owns it writes; each write returns the
 * changes it made.
 */
export class Cache<T extends KubeObject> implements Lister<T> {
  readonly #failed: IndexFailure<T>;
  #contents: Contents<T>;

  constructor(failed: IndexFailure<T> = () => undefined) {
    this.#failed = failed;
    this.#contents = new Contents(failed);
  }

  get size(): number {
    return this.#contents.size;
  }

  get(key: ObjectKey | string): Frozen<T> | undefined {
    return this.#contents.objects.get(typeof key === 'string' ? key : keyText(key));
  }

  list(namespace?: string): readonly Frozen<T>[] {
    return this.#contents.list(namespace);
  }

  by(index: Index<T>, value: string): readonly Frozen<T>[] {
    return this.#contents.index(index).of(value);
  }

  count(index: Index<T>, value: string): number {
    return this.#contents.index(index).count(value);
  }

  /** Builds indexes in steps, while the cache is read and written. */
  *indexing(indexes: readonly Index<T>[]): Steps<void> {
    for (const index of indexes) {
      // A new list may take the place of the contents meanwhile, without an index that was not finished.
      while (!this.#contents.has(index)) yield* this.#contents.indexing(index);
    }
  }

  groups(grouping: Grouping<T>, value: string): Iterable<Group<T>> {
    return this.#contents.groups(grouping, value);
  }

  /** Adds or updates an object. A version that is cached already, or older than that, changes nothing. */
  apply(object: Frozen<T>): readonly Change<T>[] {
    const key = keyText(keyOf(object));
    const old = this.#contents.objects.get(key);
    if (old && sameObject(old, object) && (versionOf(old) === versionOf(object) || isOlderVersion(versionOf(object), versionOf(old))))
      return [];
    this.#contents.put(key, object, old);
    return changesBetween(old, object);
  }

  /** Adds objects of the first list. */
  addListed(objects: readonly Frozen<T>[]): readonly Change<T>[] {
    const changes: Change<T>[] = [];
    for (const object of objects) {
      const key = keyText(keyOf(object));
      if (this.#contents.objects.has(key)) {
        changes.push(...this.apply(object)); // Pages of a list may have an object twice.
        continue;
      }
      this.#contents.put(key, object, undefined);
      changes.push({type: 'added', object, initial: true});
    }
    return changes;
  }

  /** Removes an object; `object` is its last state. */
  remove(object: Frozen<T>): readonly Change<T>[] {
    const key = keyText(keyOf(object));
    const old = this.#contents.objects.get(key);
    // The deletion of an earlier object of that name does not concern the present one.
    if (!old || !sameObject(old, object)) return [];
    this.#contents.drop(key, old);
    return [{type: 'deleted', object, tombstone: false}];
  }

  /**
   * Replaces the whole collection in steps: objects that are not in `objects` are deleted. Readers see all of it with
   * the last step, and nothing of it before. No other write may be made meanwhile.
   */
  *replacing(objects: Iterable<Frozen<T>>): Steps<readonly Change<T>[]> {
    const listed = yield* keyed(objects);
    const changes: Change<T>[] = [];
    const differences = yield* this.#differences(listed, changes);
    if (differences.length <= maxChangesInPlace) {
      for (const {key, object, old} of differences) {
        if (object) this.#contents.put(key, object, old);
        else if (old) this.#contents.drop(key, old);
      }
    } else {
      const contents = new Contents<T>(this.#failed);
      yield* contents.fill(listed, this.#contents);
      this.#contents = contents;
    }
    return changes;
  }

  /**
   * Compares the cache with a new list, in which objects that are cached already are replaced by the cached ones.
   * Deletions come first. Adds the changes to `changes`.
   */
  *#differences(listed: Map<string, Frozen<T>>, changes: Change<T>[]): Steps<Difference<T>[]> {
    const differences: Difference<T>[] = [];
    const differs = (difference: Difference<T>): void => {
      differences.push(difference);
      changes.push(...changesBetween(difference.old, difference.object));
    };
    let count = 0;
    for (const [key, old] of this.#contents.objects) {
      if (!listed.has(key)) differs({key, old});
      if (++count % objectsPerStep === 0) yield;
    }
    for (const [key, object] of listed) {
      const old = this.#contents.objects.get(key);
      if (old && sameObject(old, object) && versionOf(old) === versionOf(object)) listed.set(key, old);
      else differs({key, object, old});
      if (++count % objectsPerStep === 0) yield;
    }
    return differences;
  }
}

/** What a new list says of one key: `object` is missing if it is deleted, `old` if it is new. */
interface Difference<T extends KubeObject> {
  readonly key: string;
  readonly object?: Frozen<T>;
  readonly old: Frozen<T> | undefined;
}

const keyed = function* <T extends KubeObject>(objects: Iterable<Frozen<T>>): Steps<Map<string, Frozen<T>>> {
  const byKey = new Map<string, Frozen<T>>();
  let count = 0;
  for (const object of objects) {
    byKey.set(keyText(keyOf(object)), object);
    if (++count % objectsPerStep === 0) yield;
  }
  return byKey;
};

const sameObject = (a: Frozen<KubeObject>, b: Frozen<KubeObject>): boolean => a.metadata?.uid === b.metadata?.uid;

/** Returns the changes from `old` to `object`. Another uid under the same name is a deletion and an addition. */
const changesBetween = <T extends KubeObject>(old: Frozen<T> | undefined, object: Frozen<T> | undefined): readonly Change<T>[] => {
  const deleted: readonly Change<T>[] = old ? [{type: 'deleted', object: old, tombstone: true}] : [];
  if (!object) return deleted;
  if (old && sameObject(old, object)) return [{type: 'updated', object, old}];
  return [...deleted, {type: 'added', object, initial: false}];
};
