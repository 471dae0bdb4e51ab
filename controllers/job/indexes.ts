/** Indexes from `first` to `last`. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

/** Sorted, non-adjacent intervals of indexes. */
export type Indexes = readonly Run[];

const runOf = (text: string, completions: number): Run | undefined => {
  const [first, last = first] = text.split('-').map(part => (/^\d+$/.test(part) ? Number(part) : NaN));
  if (first === undefined || last === undefined || Number.isNaN(first) || Number.isNaN(last)) return undefined;
  return {first, last: Math.min(last, completions - 1)};
};

/** Returns the union of both sets. */
export const union = (one: Indexes, other: Indexes): Indexes => {
  const result: {first: number; last: number}[] = [];
  for (const {first, last} of [...one, ...other].sort((a, b) => a.first - b.first)) {
    const previous = result.at(-1);
    if (!previous || first > previous.last + 1) result.push({first, last});
    else previous.last = Math.max(previous.last, last);
  }
  return result;
};

export const indexesOf = (numbers: Iterable<number>): Indexes =>
  union(
    [],
    Array.from(numbers, number => ({first: number, last: number})),
  );

/** Parses the indexes of a status, limited to those of the job. Invalid parts are skipped. */
export const parseIndexes = (text: string, completions: number): Indexes =>
  union(
    [],
    text === ''
      ? []
      : (text
          .split(',')
          .map(part => runOf(part, completions))
          .filter(run => run !== undefined && run.first < completions) as Run[]),
  );

/** `1,3-5,7,8`: intervals of three or more use a hyphen. */
export const formatIndexes = (indexes: Indexes): string =>
  indexes.map(({first, last}) => (last === first ? String(first) : `${first}${last === first + 1 ? ',' : '-'}${last}`)).join(',');

export const countIndexes = (indexes: Indexes): number => indexes.reduce((sum, {first, last}) => sum + last - first + 1, 0);

export const hasIndex = (indexes: Indexes, index: number): boolean => {
  let [low, high] = [0, indexes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (indexes[middle]!.last >= index) high = middle;
    else low = middle + 1;
  }
  return low < indexes.length && indexes[low]!.first <= index;
};

/** Returns the number of indexes in both sets. */
export const countCommon = (one: Indexes, other: Indexes): number => {
  let count = 0;
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    const [a, b] = [one[i]!, other[j]!];
    count += Math.max(0, Math.min(a.last, b.last) - Math.max(a.first, b.first) + 1);
    if (a.last < b.last) i++;
    else j++;
  }
  return count;
};

/** Returns the lowest `count` free indexes below `completions`. */
export const lowestFree = (taken: Indexes, count: number, completions: number): number[] => {
  const free: number[] = [];
  let next = 0;
  for (const {first, last} of [...taken, {first: completions, last: completions}]) {
    for (; next < Math.min(first, completions) && free.length < count; next++) free.push(next);
    next = Math.max(next, last + 1);
  }
  return free;
};
