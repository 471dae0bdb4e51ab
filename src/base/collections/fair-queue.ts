interface Item<T> {
  readonly value: T;
  /** When the item would be done if all flows were served at the same time, in units of cost. */
  readonly due: number;
}

/**
 * Items that wait for one worker, by flow. Flows share the worker by the cost of their items: one with large items,
 * however many, delays the small ones of another by the item in progress at most. Those of one flow stay in order.
 */
export class FairQueue<T> {
  readonly #most: number;
  readonly #flows = new Map<string, Item<T>[]>();
  #size = 0;
  #now = 0;

  /** At most so many items wait. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Returns the item that has to leave a full queue, if any: the last one of the flow with the most, which may be the
   * new one.
   */
  add(flow: string, cost: number, value: T): T | undefined {
    const items = this.#flows.get(flow) ?? [];
    const leaving = this.#size < this.#most ? undefined : this.#longest();
    if (leaving && leaving.length <= items.length + 1) return value;
    items.push({value, due: Math.max(this.#now, items.at(-1)?.due ?? 0) + cost});
    this.#flows.set(flow, items);
    this.#size++;
    return leaving && this.#remove(leaving, leaving.length - 1);
  }

  /** Removes the item that is next. */
  take(): T | undefined {
    let next: Item<T>[] | undefined;
    for (const items of this.#flows.values()) if (!next || items[0]!.due < next[0]!.due) next = items;
    if (!next) return undefined;
    this.#now = next[0]!.due;
    return this.#remove(next, 0);
  }

  #longest(): Item<T>[] {
    let longest: Item<T>[] = [];
    for (const items of this.#flows.values()) if (items.length > longest.length) longest = items;
    return longest;
  }

  #remove(items: Item<T>[], at: number): T {
    const [{value}] = items.splice(at, 1) as [Item<T>];
    this.#size--;
    if (items.length === 0) for (const [flow, each] of this.#flows) if (each === items) this.#flows.delete(flow);
    return value;
  }
}
