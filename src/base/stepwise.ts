// Work that seldom waits: it is done at once as far as it does not.

import {isPending, type Eventually} from './eventually.js';

/** Work that yields the promises that it waits for. */
export type Stepwise<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits for a value if it is a promise. */
export const settled = function* <T>(value: Eventually<T>): Stepwise<T> {
  return isPending(value) ? ((yield value) as T) : value;
};

/** Does the work. Returns its result, or a promise of it if it waits for something. */
export const runStepwise = <T>(work: Stepwise<T>): Eventually<T> => {
  const step = work.next();
  return step.done ? step.value : goOn(work, step.value);
};

const goOn = async <T>(work: Stepwise<T>, first: Promise<unknown>): Promise<T> => {
  for (let waiting = first; ;) {
    const step = await waiting.then(
      value => work.next(value),
      (error: unknown) => work.throw(error),
    );
    if (step.done) return step.value;
    waiting = step.value;
  }
};
