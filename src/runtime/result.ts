/** The result of a reconcile that has not failed. Failure is a throw. */
export type Result = {readonly kind: 'settled'} | {readonly kind: 'requeue'; readonly afterMs: number};

/** Nothing more to do until something changes. */
export const settled: Result = {kind: 'settled'};

/** Requeue after that time, or earlier if something changes. */
export const requeueAfter = (ms: number): Result => ({kind: 'requeue', afterMs: Math.max(0, ms)});

/** Thrown when a retry is useless until something changes. */
export class Terminal extends Error {
  override readonly name = 'Terminal';
}

/** Thrown for an expected, transient failure: retried like any error, but logged only at high verbosity. */
export class Expected extends Error {
  override readonly name = 'Expected';
}
