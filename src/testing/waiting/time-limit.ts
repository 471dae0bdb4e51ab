import {formatDuration} from '#src/api/duration.js';
import {systemClock} from '#src/base/clock.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {msOf, type Duration} from '#src/operator/result.js';

/** What took more real time than it may. */
export class TimeLimitExceeded extends Error {
  override readonly name = 'TimeLimitExceeded';
}

/**
 * Acts with a signal that is aborted after some real time, if there is a limit, or with the given signal. `doing`
 * returns what is going on then, for the message of the `TimeLimitExceeded` that is its reason.
 */
export const limited = async <T>(
  limit: Duration | undefined,
  doing: () => string,
  act: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> => {
  const ending = new AbortController();
  const end = (): void => ending.abort(outer?.reason);
  if (outer?.aborted) end();
  outer?.addEventListener('abort', end, {once: true});
  const timer =
    limit === undefined
      ? undefined
      : systemClock.schedule(msOf(limit), () =>
          ending.abort(new TimeLimitExceeded(`${doing()}: more than ${formatDuration(msOf(limit))} of real time`)),
        );
  try {
    return await act(ending.signal);
  } finally {
    timer?.[Symbol.dispose]();
    outer?.removeEventListener('abort', end);
  }
};

/** Returns what keeps the time of a virtual clock from moving on. */
export const atWork = ({holds}: VirtualClock): string =>
  holds > 0 ? `time is held by work that has not ended (${holds})` : 'work goes on without an end at one moment, or at many';
