import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** The objects of one value, by key. */
type Shelf<T extends KubeObject> = Map<string, Frozen<T>>;

/** Objects by derived values. What is filled in at once is kept as arrays, which take a fifth of the time of maps; a value's map is made when one of its objects changes. */
export class Shelves<T extends KubeObject> {
  readonly #shelves = new Map<string, Shelf<T> | Frozen<T>[]>();

  /** Adds an object that is not there yet. */
  fill(value: string, object: Frozen<T>): void {
    const shelf = this.#shelves.get(value);
    if (!shelf) this.#shelves.set(value, [object]);
    else if (shelf instanceof Map) shelf.set(keyText(keyOf(object)), object);
    else if (shelf.at(-1) !== object) shelf.push(object);
  }

  put(value: string, key: string, object: Frozen<T>): void {
    const shelf = this.#changeable(value);
    if (shelf) shelf.set(key, object);
    else this.#shelves.set(value, new Map([[key, object]]));
  }

  take(value: string, key: string): void {
    const shelf = this.#changeable(value);
    if (shelf?.delete(key) && shelf.size === 0) this.#shelves.delete(value);
  }

  /** Returns a copy of the objects of a value. */
  of(value: string): Frozen<T>[] {
    return [...(this.#shelves.get(value)?.values() ?? [])];
  }

  count(value: string): number {
    const shelf = this.#shelves.get(value);
    return (shelf instanceof Map ? shelf.size : shelf?.length) ?? 0;
  }

  #changeable(value: string): Shelf<T> | undefined {
    const shelf = this.#shelves.get(value);
    if (!Array.isArray(shelf)) return shelf;
    const changeable: Shelf<T> = new Map(shelf.map(object => [keyText(keyOf(object)), object]));
    this.#shelves.set(value, changeable);
    return changeable;
  }
}
