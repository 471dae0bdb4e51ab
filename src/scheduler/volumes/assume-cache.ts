import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Lister} from '#informers/lister.js';

/** Objects of a cache as they will be once what was decided is written. What the server says later wins. */
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

  /** An object of the cache as it is taken to be. */
  assumedOr(cached: Frozen<T>): Frozen<T> {
    const key = keyText(keyOf(cached));
    const assumed = this.#assumed.get(key);
    if (!assumed) return cached;
    if (assumed.metadata?.resourceVersion === cached.metadata?.resourceVersion) return assumed;
    this.#assumed.delete(key);
    return cached;
  }

  /** The object of the cache, whatever was assumed. */
  cached(key: string): Frozen<T> | undefined {
    return this.#lister().get(key);
  }

  /** Takes an object to be like this from now on, as long as the server holds the version it was made from. */
  assume(object: Frozen<T>): void {
    this.#assumed.set(keyText(keyOf(object)), object);
  }

  /** Takes it back. */
  restore(object: Frozen<T>): void {
    this.#assumed.delete(keyText(keyOf(object)));
  }
}
