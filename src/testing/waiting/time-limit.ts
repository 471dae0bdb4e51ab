import {formatDuration} from '#src/api/duration.js';
import {systemClock} from '#src/base/clock.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {msOf, type Duration} from '#src/operator/result.js';

/** An operation exceeded its limit of real time. */
export class TimeLimitExceeded extends Error {
  override readonly name = 'TimeLimitExceeded';
}

/**
 * Runs an operation with a signal that aborts after a limit of real time, or with the given signal if there is no
 * limit. The reason is a `TimeLimitExceeded`, with the current activity that `doing` returns in its message.
 */
export const withTimeLimit = async <T>(
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

/** Returns what prevents a virtual clock from advancing. */
export const currentActivity = ({holds}: VirtualClock): string =>
  holds > 0 ? `time is held by work that has not ended (${holds})` : 'work goes on without an end at one moment, or at many';
