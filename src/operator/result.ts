import {parseDuration} from '#src/api/duration.js';
import {requeueAfter, type Result} from '#src/runtime/result.js';

export {Expected, Terminal, type Result} from '#src/runtime/result.js';

/** A length of time: milliseconds, or text such as `30s`, `1m30s` or `2h`. */
export type Duration = number | string;

/** Returns the milliseconds of a duration. Throws a `TypeError` for text that is none. */
export const msOf = (duration: Duration): number => {
  const ms = typeof duration === 'number' ? duration : parseDuration(duration);
  if (ms === undefined || Number.isNaN(ms)) throw new TypeError(`"${duration}" is not a duration such as 30s, 1m30s or 2h`);
  return ms;
};

/** What a reconcile returns to be called again for the same key after that time, or earlier if something changes. */
export const againAfter = (duration: Duration): Result => requeueAfter(msOf(duration));
