import type {Toleration} from '#src/api/pod.js';

const isEqualing = (operator: string): boolean => operator === '' || operator === 'Equal';

const textOf = ({key, operator, value, effect, tolerationSeconds}: Toleration): string =>
  JSON.stringify([key, operator, value, effect, tolerationSeconds]);

/** Tolerations that are the same but for their seconds. */
const groupOf = (key: string, operator: string, value: string, effect: string): string =>
  JSON.stringify(operator === 'Exists' ? [key, effect] : [key, effect, operator, value]);

/** A toleration of a group: what it covers depends on its seconds only. */
interface Covering {
  readonly seconds: number;
  readonly text: string;
}

/** The tolerations of a group with the most seconds: the first, and of those with another text the second. */
interface Longest {
  readonly first: Covering;
  readonly second: Covering | undefined;
}

const withOne = (longest: Longest | undefined, one: Covering): Longest => {
  if (!longest) return {first: one, second: undefined};
  const {first, second} = longest;
  if (one.text === first.text) return longest;
  if (one.seconds > first.seconds) return {first: one, second: first};
  return second && second.seconds >= one.seconds ? longest : {first, second: one};
};

/** Finds out whether one of many tolerations covers another: tolerates all taints that it tolerates. */
class Coverage {
  readonly #groups = new Map<string, Longest>();
  readonly #texts = new Set<string>();

  add(toleration: Toleration): void {
    const {key = '', operator = '', value = '', effect = '', tolerationSeconds} = toleration;
    const text = textOf(toleration);
    this.#texts.add(text);
    if (operator !== 'Exists' && !isEqualing(operator)) return; // Covers only what is the same.
    const group = groupOf(key, operator, value, effect);
    const seconds = effect === 'NoExecute' ? (tolerationSeconds ?? Infinity) : Infinity;
    this.#groups.set(group, withOne(this.#groups.get(group), {seconds, text}));
  }

  has(toleration: Toleration): boolean {
    return this.#texts.has(textOf(toleration));
  }

  /** Whether one that is not the same covers the toleration. */
  covers(toleration: Toleration): boolean {
    const {key = '', operator = '', value = '', effect = '', tolerationSeconds = Infinity} = toleration;
    const text = textOf(toleration);
    const isIn = (group: string): boolean => {
      const longest = this.#groups.get(group);
      const other = longest?.first.text === text ? longest.second : longest?.first;
      return other !== undefined && tolerationSeconds <= other.seconds;
    };
    return [effect, ''].some(
      of => isIn(groupOf(key, 'Exists', '', of)) || isIn(groupOf('', 'Exists', '', of)) || isIn(groupOf(key, operator, value, of)),
    );
  }
}

/** Merges two lists, without tolerations that another one covers. */
export const mergedTolerations = (first: readonly Toleration[], second: readonly Toleration[]): Toleration[] => {
  const all = [...first, ...second];
  const later = new Coverage();
  const isCoveredLater = all.toReversed().map(one => {
    const isCovered = later.covers(one);
    later.add(one);
    return isCovered;
  });
  const known = new Coverage();
  return all.filter((one, at) => {
    if (known.has(one) || known.covers(one) || isCoveredLater.at(-1 - at)) return false;
    known.add(one);
    return true;
  });
};

/** Whether each toleration is covered by one of the list. An empty list allows all. */
export const areAllowed = (tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean => {
  if (allowed.length === 0) return true;
  const coverage = new Coverage();
  for (const one of allowed) coverage.add(one);
  return tolerations.every(one => coverage.has(one) || coverage.covers(one));
};
