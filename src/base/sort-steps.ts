import type {Steps} from './steps.js';

/** How many texts are sorted or merged in one step. */
const textsPerStep = 2_000;

/** Sorts texts by their UTF-16 code units, in steps. */
export const sortedInSteps = function* (texts: readonly string[]): Steps<string[]> {
  let runs: string[][] = [];
  for (let from = 0; from < texts.length; from += textsPerStep) {
    runs.push(texts.slice(from, from + textsPerStep).sort());
    yield;
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergedInSteps(runs[at]!, runs[at + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
};

const mergedInSteps = function* (left: readonly string[], right: readonly string[]): Steps<string[]> {
  const merged: string[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft = r === right.length || (l < left.length && left[l]! <= right[r]!);
    merged.push(isLeft ? left[l++]! : right[r++]!);
    if (merged.length % textsPerStep === 0) yield;
  }
  return merged;
};
