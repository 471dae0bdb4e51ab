/** A map that forgets what was not used for longest once it holds more than `limit` entries. */
export class Lru<K, V> {
  readonly #limit: number;
  readonly #forgotten: ((value: V) => void) | undefined;
  readonly #entries = new Map<K, V>();

  /** `forgotten` is given what is dropped for want of room, or cleared away. */
  constructor(limit: number, forgotten?: (value: V) => void) {
    this.#limit = limit;
    this.#forgotten = forgotten;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    for (const [oldest, dropped] of this.#entries) {
      this.#entries.delete(oldest);
      this.#forgotten?.(dropped);
      return;
    }
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  /** Forgets everything. */
  clear(): void {
    const all = [...this.#entries.values()];
    this.#entries.clear();
    for (const value of all) this.#forgotten?.(value);
  }
}
