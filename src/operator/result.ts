import {parseDuration} from '#src/api/duration.js';
import {requeueAfter, type Result} from '#src/runtime/result.js';

export {Expected, Terminal, type Result} from '#src/runtime/result.js';

/** A duration: milliseconds, or text such as `30s`, `1m30s` or `2h`. */
export type Duration = number | string;

/** Returns a duration in ms. Throws a `TypeError` for invalid text. */
export const msOf = (duration: Duration): number => {
  const ms = typeof duration === 'number' ? duration : parseDuration(duration);
  if (ms === undefined || Number.isNaN(ms)) throw new TypeError(`"${duration}" is not a duration such as 30s, 1m30s or 2h`);
  return ms;
};

/** Returned by a reconcile to be called again for the same key after that time, or earlier on a change. */
export const againAfter = (duration: Duration): Result => requeueAfter(msOf(duration));
