// The exponential backoff of container restarts.

import type {Frozen} from '#src/api/key.js';
import {keyOf} from '#src/api/key.js';
import {formatDuration} from '#src/api/duration.js';
import type {Pod} from '#src/api/pod.js';

/** The initial and the maximum delay. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const crashLoopLimits: BackoffLimits = {firstMs: 10_000, maxMs: 300_000};

/** The limits of the gate ReduceDefaultCrashLoopBackOffDecay. */
export const reducedCrashLoopLimits: BackoffLimits = {firstMs: 1_000, maxMs: 60_000};

/** A backoff: the current delay, and the time of its last increase. */
export interface Backoff {
  readonly delayMs: number;
  readonly since: number;
}

const isOver = ({since}: Backoff, at: number, {maxMs}: BackoffLimits): boolean => at - since > 2 * maxMs;

/**
 * Whether a restart at `now` has to wait after an exit at `endedAt`. A backoff resets after a long time without
 * failures.
 */
export const isBackingOff = (
  backoff: Backoff | undefined,
  endedAt: number,
  now: number,
  limits: BackoffLimits = crashLoopLimits,
): backoff is Backoff => backoff !== undefined && !isOver(backoff, endedAt, limits) && now - endedAt < backoff.delayMs;

/** Returns the backoff after an exit at `endedAt` and a restart at `now`. */
export const nextBackoff = (
  before: Backoff | undefined,
  endedAt: number,
  now: number = endedAt,
  limits: BackoffLimits = crashLoopLimits,
): Backoff =>
  before && !isOver(before, endedAt, limits)
    ? {delayMs: Math.min(before.delayMs * 2, limits.maxMs), since: now}
    : {delayMs: Math.min(limits.firstMs, limits.maxMs), since: now};

/** Formats a pod as in messages: `name_namespace(uid)`. */
export const podText = (pod: Frozen<Pod>): string => {
  const {name, namespace} = keyOf(pod);
  return `${name}_${namespace}(${pod.metadata?.uid ?? ''})`;
};

/** Returns the messages of the event and of the waiting state of a container in backoff. */
export const backoffTexts = (
  pod: Frozen<Pod>,
  container: string,
  {delayMs}: Pick<Backoff, 'delayMs'>,
): {readonly event: string; readonly message: string} => ({
  event: `Back-off restarting failed container ${container} in pod ${podText(pod)}`,
  message: `back-off ${formatDuration(delayMs)} restarting failed container=${container} pod=${podText(pod)}`,
});
