import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Lister} from '#informers/lister.js';

/** Cached objects with assumed changes that are not written yet. A later state from the server wins. */
export class AssumeCache<T extends KubeObject> {
  readonly #lister: () => Lister<T>;
  readonly #assumed = new Map<string, Frozen<T>>();

  constructor(lister: () => Lister<T>) {
    this.#lister = lister;
  }

  get(key: string): Frozen<T> | undefined {
    const cached = this.#lister().get(key);
    return cached && this.assumedOr(cached);
  }

  /** Returns the assumed state of a cached object, if there is one. */
  assumedOr(cached: Frozen<T>): Frozen<T> {
    const key = keyText(keyOf(cached));
    const assumed = this.#assumed.get(key);
    if (!assumed) return cached;
    if (assumed.metadata?.resourceVersion === cached.metadata?.resourceVersion) return assumed;
    this.#assumed.delete(key);
    return cached;
  }

  /** The cached object, without assumed changes. */
  cached(key: string): Frozen<T> | undefined {
    return this.#lister().get(key);
  }

  /** Assumes this state of an object, as long as the cache holds the version it was made from. */
  assume(object: Frozen<T>): void {
    this.#assumed.set(keyText(keyOf(object)), object);
  }

  /** Drops the assumed state. */
  restore(object: Frozen<T>): void {
    this.#assumed.delete(keyText(keyOf(object)));
  }
}
