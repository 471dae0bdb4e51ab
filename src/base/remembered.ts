/** What was worked out lately, by key: at most `capacity` entries, the oldest forgotten first. */
export class Remembered<V> {
  readonly #capacity: number;
  readonly #values = new Map<string, V>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: V): V {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size > this.#capacity) this.#values.delete(this.#values.keys().next().value!);
    return value;
  }
}
