// Long work as a generator, which the caller may run at once or in pieces, so that one computation never blocks the
// event loop.

import {yieldInTurn, type Yielder} from './turn.js';

/** Work in small steps: the caller may pause after each; the last returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps synchronously. */
export const runSteps = <T>(work: Steps<T>): T => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
  }
};

/** Runs the steps in pieces and yields to the event loop between them. */
export const runStepsYielding = async <T>(work: Steps<T>, pieces: Yielder): Promise<T> => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
    const pause = pieces.pause();
    if (pause) await pause;
  }
};

/** Runs the steps at once until `pause` returns a promise, which is awaited before the next, and then in pieces. */
export const runStepsWithPauses = <T>(work: Steps<T>, pause: () => Promise<void> | undefined): T | Promise<T> => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
    const pausing = pause();
    if (pausing) return afterPause(work, pause, pausing);
  }
};

const afterPause = async <T>(work: Steps<T>, pause: () => Promise<void> | undefined, first: Promise<void>): Promise<T> => {
  await first;
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
    const pausing = pause();
    if (pausing) await pausing;
  }
};

/** Does each step in a turn of the event loop of its own. */
export const runStepsOnePerTurn = async <T>(work: Steps<T>): Promise<T> => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
    await yieldInTurn();
  }
};

/** Counts work that comes in amounts, for a step after each so much of it. */
export class StepCount {
  readonly #perStep: number;
  #since = 0;

  constructor(perStep: number) {
    this.#perStep = perStep;
  }

  /** Returns whether it is time for a step. */
  add(amount: number): boolean {
    this.#since += amount;
    if (this.#since < this.#perStep) return false;
    this.#since = 0;
    return true;
  }
}

/** So many items are mapped in one step. */
const mappedAtOnce = 500;

/** Returns what a function makes of each item, in steps. */
export const mapInSteps = function* <T, U>(items: readonly T[], of: (item: T) => U): Steps<U[]> {
  const results: U[] = [];
  for (let from = 0; from < items.length; from += mappedAtOnce) {
    for (const item of items.slice(from, from + mappedAtOnce)) results.push(of(item));
    yield;
  }
  return results;
};

/** Returns steps for each of several callers of work that is done once: whoever has its turn does the next step. */
export const shareSteps = <T>(work: Steps<T>): (() => Steps<T>) => {
  type Result = {readonly value: T} | {readonly error: unknown};
  let result: Result | undefined;
  const advance = (): Result | undefined => {
    try {
      const {done, value} = work.next();
      return done ? {value} : undefined;
    } catch (error) {
      return {error};
    }
  };
  return function* () {
    for (;;) {
      const ended = (result ??= advance());
      if (!ended) yield;
      else if ('error' in ended) throw ended.error;
      else return ended.value;
    }
  };
};

/** A value, or the steps that compute it. */
export type MaybeSteps<T> = T | Steps<T>;

/** Whether a value that may need steps does. */
export const isSteps = <T>(work: MaybeSteps<T>): work is Steps<T> =>
  typeof work === 'object' && work !== null && !Array.isArray(work) && Symbol.iterator in work && 'next' in work;

/** Yields the steps of a value that may need some. */
export const stepsOf = function* <T>(work: MaybeSteps<T>): Steps<T> {
  return isSteps(work) ? yield* work : work;
};
