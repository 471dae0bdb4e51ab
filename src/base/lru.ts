import type {Bounded, CacheBound, Share} from './cache-bound.js';
import {LinkedQueue, type Linked} from './collections/linked-queue.js';

/** How entries are sized, and how many are allowed. */
export interface LruOptions<K, V> {
  /** Returns the approximate size of a value in bytes. */
  readonly bytesOf: (value: V, key: K) => number;
  /** The maximum number of entries, where memory is not the only limit. */
  readonly maxEntries?: number;
  /** Called with each value that is evicted or cleared. */
  readonly onEvict?: (value: V) => void;
}

interface Entry<K, V> extends Linked<Entry<K, V>> {
  readonly key: K;
  readonly value: V;
  readonly bytes: number;
  usedAt: number;
}

/** Approximate overhead of an entry besides its key and value. */
const entryBytes = 120;

/** A larger fraction of the bound is not cached: it would evict too many other entries. */
const largestPart = 1 / 8;

/** A map that evicts its least recently used entries when its bound is reached. */
export class Lru<K, V> implements Bounded {
  readonly #bound: CacheBound;
  readonly #options: LruOptions<K, V>;
  readonly #share: Share;
  readonly #entries = new Map<K, Entry<K, V>>();
  /**
   * The least recently used entry first. In a map, finding the first entry takes longer the more were removed before
   * it.
   */
  readonly #order = new LinkedQueue<Entry<K, V>>();

  constructor(bound: CacheBound, options: LruOptions<K, V>) {
    this.#bound = bound;
    this.#options = options;
    this.#share = bound.join(this);
  }

  get size(): number {
    return this.#entries.size;
  }

  get oldestUse(): number | undefined {
    return this.#order.first?.usedAt;
  }

  /** Returns the value and marks it as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.usedAt = this.#bound.use();
    this.#order.remove(entry);
    this.#order.push(entry);
    return entry.value;
  }

  /** Returns the value without marking it as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The values, the least recently used one first, without marking them as used. */
  *values(): Iterable<V> {
    for (const {value} of this.#order) yield value;
  }

  set(key: K, value: V): void {
    const {bytesOf, maxEntries = Infinity} = this.#options;
    const before = this.#entries.get(key);
    if (before) this.#remove(before);
    const bytes = entryBytes + (typeof key === 'string' ? key.length : 0) + bytesOf(value, key);
    if (bytes > this.#bound.maxBytes * largestPart) {
      if (before) this.#bound.account(this.#share, -before.bytes);
      return;
    }
    const entry: Entry<K, V> = {key, value, bytes, usedAt: this.#bound.use(), previous: undefined, next: undefined};
    this.#entries.set(key, entry);
    this.#order.push(entry);
    if (this.#entries.size > maxEntries) this.dropOldest();
    this.#bound.account(this.#share, bytes - (before?.bytes ?? 0));
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#remove(entry);
    this.#bound.account(this.#share, -entry.bytes);
  }

  dropOldest(): boolean {
    const oldest = this.#order.first;
    if (!oldest) return false;
    this.delete(oldest.key);
    this.#options.onEvict?.(oldest.value);
    return true;
  }

  /** Removes all entries. */
  clear(): void {
    const all = [...this.#order];
    this.#entries.clear();
    this.#order.clear();
    this.#bound.account(this.#share, -this.#share.bytes);
    for (const {value} of all) this.#options.onEvict?.(value);
  }

  #remove(entry: Entry<K, V>): void {
    this.#entries.delete(entry.key);
    this.#order.remove(entry);
  }
}
