import type {Happening} from './happenings.js';

/** The same thing that happens to an object again and again. */
export interface Folded {
  readonly object: string;
  readonly what: string;
  /** Why it happens the first time. */
  readonly because: string;
  readonly first: number;
  /** The second time, if there is one. */
  readonly next?: number;
  readonly last: number;
  readonly count: number;
}

/** The most different things that are told apart. */
const mostFolded = 5_000;

/** Folds what happens, in the order of its first time. */
export class Timeline {
  readonly #byKey = new Map<string, Folded>(); // At most `mostFolded`.
  /** How many things were not told apart any more. */
  more = 0;

  add({at, object, what, because}: Happening): void {
    const key = `${object} ${what}`;
    const known = this.#byKey.get(key);
    if (known) this.#byKey.set(key, {...known, next: known.next ?? at, last: at, count: known.count + 1});
    else if (this.#byKey.size >= mostFolded) this.more++;
    else this.#byKey.set(key, {object, what, because, first: at, last: at, count: 1});
  }

  get all(): readonly Folded[] {
    return [...this.#byKey.values()].sort((a, b) => a.first - b.first);
  }
}

/** What differs between two forecasts: what only one has, and what happens more or less often, or at another time. */
export interface Difference {
  readonly onlyWith: readonly Folded[];
  readonly onlyWithout: readonly Folded[];
  readonly changed: readonly {readonly without: Folded; readonly with: Folded}[];
}

/** The names of pods and jobs have random parts or times: they are compared by what made them. */
const generalName = (object: string): string => object.replace(/(?:-[a-z0-9]{5,10}){1,2}$/, '-*');

const keyed = (timeline: readonly Folded[]): ReadonlyMap<string, Folded> => {
  const byKey = new Map<string, Folded>();
  for (const each of timeline) {
    const key = `${generalName(each.object)} ${each.what}`;
    const known = byKey.get(key);
    byKey.set(key, known ? {...known, count: known.count + each.count, last: Math.max(known.last, each.last)} : each);
  }
  return byKey;
};

/** Compares two forecasts of the same objects. */
export const difference = (without: readonly Folded[], changed: readonly Folded[]): Difference => {
  const [before, after] = [keyed(without), keyed(changed)];
  const both = [...before].flatMap(([key, one]) => {
    const other = after.get(key);
    return other ? [{without: one, with: other}] : [];
  });
  return {
    onlyWith: [...after].filter(([key]) => !before.has(key)).map(([, each]) => each),
    onlyWithout: [...before].filter(([key]) => !after.has(key)).map(([, each]) => each),
    changed: both.filter(({without: a, with: b}) => a.count !== b.count || a.first !== b.first),
  };
};
