/** What a reconcile says when it has not failed. Failure is a throw. */
export type Result = {readonly kind: 'settled'} | {readonly kind: 'requeue'; readonly afterMs: number};

/** Nothing more to do until something changes. */
export const settled: Result = {kind: 'settled'};

/** Look again after that time, or earlier if something changes. */
export const requeueAfter = (ms: number): Result => ({kind: 'requeue', afterMs: Math.max(0, ms)});

/** Thrown to say that trying again is useless until something changes. */
export class Terminal extends Error {
  override readonly name = 'Terminal';
}

/** Thrown for what is expected to happen and heals by trying again: retried like any error, told only to those who ask for detail. */
export class Expected extends Error {
  override readonly name = 'Expected';
}
