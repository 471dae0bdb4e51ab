/** Counts by topology key and value, for example pods per zone. */
export class TopologyCounts {
  readonly #counts = new Map<string, Map<string, number>>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  keys(): Iterable<string> {
    return this.#counts.keys();
  }

  get(key: string, value: string | undefined): number {
    return value === undefined ? 0 : (this.#counts.get(key)?.get(value) ?? 0);
  }

  /** Adds to the count of the domain given by the labels, if they have the key. Counts of zero are dropped. */
  add(key: string, labels: Readonly<Record<string, string>>, by: number): void {
    const value = labels[key];
    if (value === undefined) return;
    const values = this.#counts.get(key) ?? new Map<string, number>();
    const now = (values.get(value) ?? 0) + by;
    if (now !== 0) values.set(value, now);
    else values.delete(value);
    if (values.size > 0) this.#counts.set(key, values);
    else this.#counts.delete(key);
  }
}
