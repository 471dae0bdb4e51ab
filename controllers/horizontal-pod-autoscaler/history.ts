import {keyText, type ObjectKey} from '#src/api/key.js';

/** A recommendation or a scale event, with its monotonic time. */
interface Entry {
  readonly count: number;
  readonly at: number;
}

/** The recommendations and scale events of one target, as far back as they are needed. */
export class History {
  #recommendations: Entry[] = [];
  #added: Entry[] = [];
  #removed: Entry[] = [];

  /** Sets the current size as the first recommendation. */
  begin(replicas: number, at: number): void {
    if (this.#recommendations.length === 0) this.#recommendations.push({count: replicas, at});
  }

  /** Returns the recommendations since then, inclusive. */
  recommendedFrom(at: number): readonly number[] {
    return this.#recommendations.filter(entry => entry.at >= at).map(({count}) => count);
  }

  /** Returns the recommendations after that. */
  recommendedAfter(at: number): readonly number[] {
    return this.#recommendations.filter(entry => entry.at > at).map(({count}) => count);
  }

  /** Records a recommendation; those before `since` are dropped. */
  recommend(replicas: number, at: number, since: number): void {
    this.#recommendations = [...this.#recommendations.filter(entry => entry.at >= since), {count: replicas, at}];
  }

  /** Records a scale event; those in its direction before `since` are dropped. */
  scaled(change: number, at: number, since: number): void {
    const noted = (entries: readonly Entry[]): Entry[] => [...entries.filter(entry => entry.at >= since), {count: Math.abs(change), at}];
    if (change > 0) this.#added = noted(this.#added);
    else this.#removed = noted(this.#removed);
  }

  /** Returns the net growth of the target since then. */
  grownAfter(at: number): number {
    const sum = (entries: readonly Entry[]) => entries.reduce((total, entry) => (entry.at > at ? total + entry.count : total), 0);
    return sum(this.#added) - sum(this.#removed);
  }
}

/** The histories of autoscalers. One of the same name with another uid starts anew. */
export class Histories {
  readonly #histories = new Map<string, {readonly uid: string; readonly history: History}>();

  of(key: ObjectKey, uid: string): History {
    const found = this.#histories.get(keyText(key));
    if (found?.uid === uid) return found.history;
    const history = new History();
    this.#histories.set(keyText(key), {uid, history});
    return history;
  }

  forget(key: ObjectKey): void {
    this.#histories.delete(keyText(key));
  }
}
