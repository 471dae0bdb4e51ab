/** Something that was recommended or done, with when by a clock that never goes back. */
interface Entry {
  readonly count: number;
  readonly at: number;
}

/** What was recommended for one target, and how it was scaled, as far back as somebody may still ask. */
export class History {
  #recommendations: Entry[] = [];
  #added: Entry[] = [];
  #removed: Entry[] = [];

  /** The first recommendation is what was found. */
  begin(replicas: number, at: number): void {
    if (this.#recommendations.length === 0) this.#recommendations.push({count: replicas, at});
  }

  /** What was recommended since then, then included. */
  recommendedFrom(at: number): readonly number[] {
    return this.#recommendations.filter(entry => entry.at >= at).map(({count}) => count);
  }

  /** What was recommended after that. */
  recommendedAfter(at: number): readonly number[] {
    return this.#recommendations.filter(entry => entry.at > at).map(({count}) => count);
  }

  /** Notes what was recommended now; what was before `since` is forgotten. */
  recommend(replicas: number, at: number, since: number): void {
    this.#recommendations = [...this.#recommendations.filter(entry => entry.at >= since), {count: replicas, at}];
  }

  /** Notes a change; those of its direction that were before `since` are forgotten. */
  scaled(change: number, at: number, since: number): void {
    const noted = (entries: readonly Entry[]): Entry[] => [...entries.filter(entry => entry.at >= since), {count: Math.abs(change), at}];
    if (change > 0) this.#added = noted(this.#added);
    else this.#removed = noted(this.#removed);
  }

  /** By how much the target has grown after that, less what it has shrunk by. */
  grownAfter(at: number): number {
    const sum = (entries: readonly Entry[]) => entries.reduce((total, entry) => (entry.at > at ? total + entry.count : total), 0);
    return sum(this.#added) - sum(this.#removed);
  }
}
