/** Why a text is not a list of indexes. */
export class IndexesError extends Error {}

interface Interval {
  readonly first: number;
  readonly last: number;
}

const indexOf = (text: string, completions: number): number => {
  if (!/^[+-]?\d+$/.test(text)) throw new IndexesError(`cannot convert string to integer for index: ${JSON.stringify(text)}`);
  const index = Number(text);
  if (index >= completions) throw new IndexesError(`too large index: ${JSON.stringify(text)}`);
  return index;
};

const intervalOf = (text: string, completions: number): Interval => {
  const [low = '', high, ...rest] = text.split('-');
  if (rest.length > 0) {
    throw new IndexesError(
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    );
  }
  const first = indexOf(low, completions);
  if (high === undefined) return {first, last: first};
  const last = indexOf(high, completions);
  if (first >= last) throw new IndexesError(`non-increasing order, previous: ${first}, current: ${last}`);
  return {first, last};
};

/** Counts the indexes of a text like `1,3-5`. Throws `IndexesError` for one that is out of order or out of range. */
export const countIndexes = (text: string, completions: number): number => {
  if (text === '') return 0;
  let previous: number | undefined;
  let total = 0;
  for (const part of text.split(',')) {
    const {first, last} = intervalOf(part, completions);
    if (previous !== undefined && previous >= first)
      throw new IndexesError(`non-increasing order, previous: ${previous}, current: ${first}`);
    total += last - first + 1;
    previous = last;
  }
  return total;
};

/** Returns the valid intervals of a text; invalid ones are reported by its own validation. */
const readable = (text: string, completions: number): Interval[] =>
  text.split(',').flatMap(part => {
    try {
      return [intervalOf(part, completions)];
    } catch {
      return [];
    }
  });

/** Returns the first index that is in both texts. */
export const overlap = (one: string, other: string, completions: number): number | undefined => {
  if (one === '' || other === '') return undefined;
  const others = readable(other, completions);
  for (const {first, last} of readable(one, completions)) {
    const met = others.find(interval => first <= interval.last && interval.first <= last);
    if (met) return Math.max(first, met.first);
  }
  return undefined;
};
