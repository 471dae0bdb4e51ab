// Work that costs do not count, such as elements of lists that one operation compares or copies: an evaluation is
// stopped when an operation does too much of it.

import {CostLimitExceeded} from './frame.js';

/** The work of one evaluation since its last step. */
export class Work {
  readonly most: number;
  done = 0;
  /** The keys of objects whose keys were listed. */
  keys: WeakMap<object, readonly string[]> | undefined;

  constructor(most: number) {
    this.most = most;
  }
}

/** Outside of evaluations nothing is counted. */
const uncounted = new Work(Infinity);
let current = uncounted;

/** Calls a function whose work is that of an evaluation. */
export const working = <T>(work: Work, act: () => T): T => {
  const before = current;
  current = work;
  try {
    return act();
  } finally {
    current = before;
  }
};

/**
 * Counts elements that an operation compares or copies. Throws `CostLimitExceeded` when it is too much for one
 * operation.
 */
export const spend = (elements: number): void => {
  if (current === uncounted) return;
  current.done += elements;
  if (current.done > current.most) throw new CostLimitExceeded();
};

/** How much was done since the last step. */
export const workSoFar = (): number => current.done;

/**
 * Returns the keys of a JSON object, which are listed once in an evaluation. The object must not change while one
 * lasts.
 */
export const keysOfJson = (raw: object): readonly string[] => {
  if (current === uncounted) return Object.keys(raw);
  const known = (current.keys ??= new WeakMap()).get(raw);
  if (known) return known;
  const keys = Object.keys(raw);
  spend(keys.length);
  current.keys.set(raw, keys);
  return keys;
};
