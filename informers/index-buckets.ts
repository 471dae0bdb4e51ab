import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** The objects of one value, by key. */
type Bucket<T extends KubeObject> = Map<string, Frozen<T>>;

/**
 * Objects by derived values. What is filled in at once is kept as arrays, which take a fifth of the time of maps; a
 * value's map is made when one of its objects changes.
 */
export class IndexBuckets<T extends KubeObject> {
  readonly #buckets = new Map<string, Bucket<T> | Frozen<T>[]>();

  /** Adds an object that is not there yet. */
  fill(value: string, object: Frozen<T>): void {
    const bucket = this.#buckets.get(value);
    if (!bucket) this.#buckets.set(value, [object]);
    else if (bucket instanceof Map) bucket.set(keyText(keyOf(object)), object);
    else if (bucket.at(-1) !== object) bucket.push(object);
  }

  put(value: string, key: string, object: Frozen<T>): void {
    const bucket = this.#changeable(value);
    if (bucket) bucket.set(key, object);
    else this.#buckets.set(value, new Map([[key, object]]));
  }

  take(value: string, key: string): void {
    const bucket = this.#changeable(value);
    if (bucket?.delete(key) && bucket.size === 0) this.#buckets.delete(value);
  }

  /** Returns a copy of the objects of a value. */
  of(value: string): Frozen<T>[] {
    return [...(this.#buckets.get(value)?.values() ?? [])];
  }

  count(value: string): number {
    const bucket = this.#buckets.get(value);
    return (bucket instanceof Map ? bucket.size : bucket?.length) ?? 0;
  }

  #changeable(value: string): Bucket<T> | undefined {
    const bucket = this.#buckets.get(value);
    if (!Array.isArray(bucket)) return bucket;
    const changeable: Bucket<T> = new Map(bucket.map(object => [keyText(keyOf(object)), object]));
    this.#buckets.set(value, changeable);
    return changeable;
  }
}
