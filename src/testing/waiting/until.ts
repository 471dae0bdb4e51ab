import {formatDuration} from '#src/api/duration.js';
import {isNotFound} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {unlessAborted} from '#src/base/signals.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {msOf, type Duration} from '#src/operator/result.js';
import type {Plane} from '#src/plane/index.js';
import {ReadObjects} from './read-objects.js';
import {currentActivity, withTimeLimit} from './time-limit.js';

export interface UntilOptions {
  /**
   * The virtual time within which the condition must hold. It is checked before time advances, and a last time at the
   * end.
   */
  readonly within: Duration;
  /** The step by which time advances between two checks. Timers due within it run at their exact times. Default 1 s. */
  readonly step?: Duration;
  /** The awaited condition in the message of the rejection. By default the source text of the condition. */
  readonly what?: string;
  /**
   * The limit of real time: waiting for something that never happens rejects, with the current activity in the error.
   * Unlimited by default.
   */
  readonly timeLimit?: Duration;
  /** Rejects with the reason of the signal when it aborts. */
  readonly signal?: AbortSignal;
}

/** The maximum length of a condition in a message. */
const mostText = 160;

/**
 * Runs everything that is due and advances the plane's virtual clock step by step, until the condition resolves to a
 * truthy value, which is returned. A `NotFound` error of the condition means that it does not hold yet; any other error
 * rejects at once. Rejects if the condition does not hold within the given virtual time; the message says what happened
 * to the objects that the condition gets, if the plane records. Time does not advance while the condition is evaluated,
 * so it must not wait for time itself.
 */
export const until = async <T>(
  plane: {readonly clock: Clock} & Partial<Pick<Plane, 'intercept' | 'recorder'>>,
  condition: () => T | Promise<T>,
  {within, step = '1s', what = textOf(condition), timeLimit, signal}: UntilOptions,
): Promise<NonNullable<T>> => {
  const {clock} = plane;
  if (!(clock instanceof VirtualClock)) throw new TypeError('until needs a virtual clock: startPlane({clock: new VirtualClock()})');
  const [withinMs, stepMs] = [msOf(within), msOf(step)];
  if (!(stepMs > 0)) throw new RangeError(`a step of ${step} does not move time`);
  const start = clock.monotonic();
  let isChecking = false;
  const wait = async (ending: AbortSignal): Promise<NonNullable<T>> => {
    for (;;) {
      await clock.drain(ending);
      const passedMs = clock.monotonic() - start;
      const isLast = passedMs >= withinMs;
      using read = isLast ? new ReadObjects(plane) : undefined;
      isChecking = true;
      const {value, error} = await checked(condition);
      isChecking = false;
      if (value) return value;
      if (isLast) throw notReached({what, passedMs, value, error, history: await read!.history()});
      await clock.advance(Math.min(stepMs, withinMs - passedMs), ending);
    }
  };
  const tooLong = (): string => {
    const doing = isChecking ? 'the condition has not resolved' : currentActivity(clock);
    return `${what}: ${doing}, ${formatDuration(clock.monotonic() - start)} of virtual time after the start`;
  };
  return withTimeLimit(timeLimit, tooLong, ending => unlessAborted(wait(ending), ending), signal);
};

/** Returns the value of a condition, or the error if an object does not exist yet. */
const checked = async <T>(condition: () => T | Promise<T>): Promise<{readonly value?: T; readonly error?: Error}> => {
  try {
    return {value: await condition()};
  } catch (error) {
    if (isNotFound(error)) return {error};
    throw error;
  }
};

interface NotReached {
  readonly what: string;
  readonly passedMs: number;
  readonly value: unknown;
  readonly error: Error | undefined;
  readonly history: string;
}

const notReached = ({what, passedMs, value, error, history}: NotReached): Error =>
  new Error(
    `${what}: still not so after ${formatDuration(passedMs)} of virtual time, at last ${error ? error.message : String(value)}${history}`,
    error && {cause: error},
  );

/** Returns the source of a condition on one line. */
const textOf = (condition: () => unknown): string => {
  const text = String(condition).replaceAll(/\s+/g, ' ');
  return text.length > mostText ? `${text.slice(0, mostText)}...` : text;
};
