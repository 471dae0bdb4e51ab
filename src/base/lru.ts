import type {Bounded, CacheBound, Share} from './cache-bound.js';

/** How entries are counted, and how many there may be. */
export interface LruOptions<K, V> {
  /** About what a value takes, in bytes. */
  readonly bytesOf: (value: V, key: K) => number;
  /** So many entries and no more, where there is a reason besides memory. */
  readonly maxEntries?: number;
  /** Given what is dropped for want of room, or cleared away. */
  readonly onEvict?: (value: V) => void;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
}

/** What an entry takes besides its key and value, about. */
const entryBytes = 120;

/** An entry that would take more than this part of the bound is not kept: it would drive out too many others. */
const largestPart = 1 / 8;

/** A map that forgets what was not used for longest once its bound holds no more. */
export class Lru<K, V> implements Bounded {
  readonly #bound: CacheBound;
  readonly #options: LruOptions<K, V>;
  readonly #share: Share;
  readonly #entries = new Map<K, Entry<V>>();

  constructor(bound: CacheBound, options: LruOptions<K, V>) {
    this.#bound = bound;
    this.#options = options;
    this.#share = bound.join(this);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** The value, where finding one must cost nothing: what was set first is forgotten first then. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: K, value: V): void {
    const {bytesOf, maxEntries = Infinity} = this.#options;
    const before = this.#entries.get(key);
    if (before) this.#entries.delete(key);
    const bytes = entryBytes + (typeof key === 'string' ? key.length : 0) + bytesOf(value, key);
    if (bytes > this.#bound.maxBytes * largestPart) {
      if (before) this.#bound.account(this.#share, -before.bytes);
      return;
    }
    this.#entries.set(key, {value, bytes});
    if (this.#entries.size > maxEntries) this.dropOldest();
    this.#bound.account(this.#share, bytes - (before?.bytes ?? 0));
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#bound.account(this.#share, -entry.bytes);
  }

  dropOldest(): boolean {
    for (const [key, {value}] of this.#entries) {
      this.delete(key);
      this.#options.onEvict?.(value);
      return true;
    }
    return false;
  }

  /** Forgets everything. */
  clear(): void {
    const all = [...this.#entries.values()];
    this.#entries.clear();
    this.#bound.account(this.#share, -this.#share.bytes);
    for (const {value} of all) this.#options.onEvict?.(value);
  }
}
