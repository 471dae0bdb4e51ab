// Closes streams to containers that have been idle for too long.

import type {Clock} from '#src/base/clock.js';

/** The limits of streams to containers. */
export interface StreamLimits {
  readonly clock: Clock;
  /** How long a stream may be without bytes in either direction; 0 is not limited. */
  readonly idleMs: number;
}

/** A connection is looked at so many times within the limit. */
const looks = 8;

/**
 * Calls `close` once the count of what was moved stays the same for the limit, or an eighth of it longer. Ends when
 * disposed of.
 */
export const closeIdle = ({clock, idleMs}: StreamLimits, moved: () => number, close: () => void): Disposable => {
  if (idleMs <= 0) return {[Symbol.dispose]() {}};
  let last = moved();
  let since = clock.monotonic();
  const look = (): void => {
    const now = moved();
    if (now !== last) {
      last = now;
      since = clock.monotonic();
    } else if (clock.monotonic() - since >= idleMs) return close();
    timer = clock.schedule(idleMs / looks, look);
  };
  let timer = clock.schedule(idleMs / looks, look);
  return {[Symbol.dispose]: () => timer[Symbol.dispose]()};
};
