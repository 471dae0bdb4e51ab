/**
 * A layer this many times larger than the one above it is not merged with it, so that a map of n entries has about log
 * n layers.
 */
const growth = 2;

const gone = Symbol('gone');

/**
 * A map whose copies share their entries: `copy` takes time that depends on the entries written since the last copy at
 * most. Without copies it is one `Map`. Values are shared as they are, so one that is changed in place must be this
 * map's own (`isOwn`).
 */
export class LayeredMap<K, V> {
  /** Shared with copies and never changed, the oldest first. */
  #layers: readonly ReadonlyMap<K, V | typeof gone>[];
  #own = new Map<K, V | typeof gone>();

  constructor(layers: readonly ReadonlyMap<K, V | typeof gone>[] = []) {
    this.#layers = layers;
  }

  get(key: K): V | undefined {
    let found = this.#own.get(key);
    for (let at = this.#layers.length - 1; found === undefined && at >= 0; at--) found = this.#layers[at]!.get(key);
    return found === gone ? undefined : found;
  }

  /** Whether the value of a key was set here since the last copy. */
  isOwn(key: K): boolean {
    return this.#own.has(key);
  }

  set(key: K, value: V): void {
    this.#own.set(key, value);
  }

  delete(key: K): void {
    if (this.#layers.length === 0) this.#own.delete(key);
    else this.#own.set(key, gone);
  }

  clear(): void {
    this.#layers = [];
    this.#own = new Map();
  }

  copy(): LayeredMap<K, V> {
    if (this.#own.size > 0) {
      this.#layers = merged([...this.#layers, this.#own]);
      this.#own = new Map();
    }
    return new LayeredMap(this.#layers);
  }
}

/**
 * Merges the newest layers until each is large enough beside the one above it. The oldest needs no marks of deleted
 * keys.
 */
const merged = <K, V>(layers: readonly ReadonlyMap<K, V | typeof gone>[]): readonly ReadonlyMap<K, V | typeof gone>[] => {
  const result = [...layers];
  while (result.length > 1 && result.at(-2)!.size <= growth * result.at(-1)!.size) {
    const newest = result.pop()!;
    const union = new Map(result.pop());
    for (const [key, value] of newest) {
      if (value === gone && result.length === 0) union.delete(key);
      else union.set(key, value);
    }
    result.push(union);
  }
  return result;
};
