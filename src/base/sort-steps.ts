import type {Steps} from './steps.js';

/** How many items are sorted or merged in one step. */
const itemsPerStep = 2_000;

/** Orders two items: negative if the first comes first. */
type Compare<T> = (a: T, b: T) => number;

/** Sorts texts by their UTF-16 code units, in steps. */
export const sortedInSteps = (texts: readonly string[]): Steps<string[]> =>
  sortedByInSteps(
    texts,
    (a, b) => (a <= b ? -1 : 1),
    run => run.sort(),
  );

/** Sorts items in steps; equal ones keep their order. */
export const sortedByInSteps = function* <T>(
  items: readonly T[],
  compare: Compare<T>,
  sort: (run: T[]) => T[] = run => run.sort(compare),
): Steps<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += itemsPerStep) {
    runs.push(sort(items.slice(from, from + itemsPerStep)));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergedInSteps(runs[at]!, runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
};

const mergedInSteps = function* <T>(left: readonly T[], right: readonly T[], compare: Compare<T>): Steps<T[]> {
  const merged: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft = r === right.length || (l < left.length && compare(left[l]!, right[r]!) <= 0);
    merged.push(isLeft ? left[l++]! : right[r++]!);
    if (merged.length % itemsPerStep === 0) yield;
  }
  return merged;
};
