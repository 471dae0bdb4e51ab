import {parseDuration} from '#src/api/duration.js';
import {requeueAfter, type Result} from '#src/runtime/result.js';

export {Expected, Terminal, type Result} from '#src/runtime/result.js';

type Hours = `${number}h`;
type Minutes = `${number}m`;
type Seconds = `${number}s`;
type Milliseconds = `${number}ms`;

/** A duration: milliseconds, or text such as `500ms`, `30s`, `1m30s` or `2h`. */
export type Duration =
  | number
  | Hours
  | Minutes
  | Seconds
  | Milliseconds
  | `${Hours}${Minutes}`
  | `${Hours}${Minutes}${Seconds}`
  | `${Hours}${Seconds}`
  | `${Minutes}${Seconds}`
  | `${Seconds}${Milliseconds}`;

/** Returns a duration in ms. Throws a `TypeError` for invalid text. */
export const msOf = (duration: Duration): number => (typeof duration === 'number' ? checkedMs(duration, duration) : durationOf(duration));

/**
 * Reads a duration from text that is known only at run time, such as a setting; in ms. Throws a `TypeError` for others.
 */
export const durationOf = (text: string): number => checkedMs(parseDuration(text), text);

const checkedMs = (ms: number | undefined, given: Duration | string): number => {
  if (ms === undefined || Number.isNaN(ms)) throw new TypeError(`"${given}" is not a duration such as 30s, 1m30s or 2h`);
  return ms;
};

/** Returned by a reconcile to be called again for the same key after that time, or earlier on a change. */
export const againAfter = (duration: Duration): Result => requeueAfter(msOf(duration));
