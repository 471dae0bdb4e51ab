import {ownTurn, type Pieces} from './turn.js';

/** Work in small steps. Whoever does it may rest after each of them, and gets the result with the last. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does all the work at once. */
export const runSteps = <T>(work: Steps<T>): T => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
  }
};

/** Does the work in pieces, with a turn of the event loop for everybody else in between. */
export const runStepsInPieces = async <T>(work: Steps<T>, pieces: Pieces): Promise<T> => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
    const pause = pieces.pause();
    if (pause) await pause;
  }
};

/** Does each step in a turn of the event loop of its own. */
export const runStepsInTurns = async <T>(work: Steps<T>): Promise<T> => {
  for (;;) {
    const {done, value} = work.next();
    if (done) return value;
    await ownTurn();
  }
};

/** What may be done in steps, or be there already. */
export type Stepwise<T> = T | Steps<T>;

const isSteps = <T>(work: Stepwise<T>): work is Steps<T> => typeof work === 'object' && work !== null && Symbol.iterator in work && 'next' in work;

/** Does what may be done in steps in those steps. */
export const stepping = function* <T>(work: Stepwise<T>): Steps<T> {
  return isSteps(work) ? yield* work : work;
};
