// The exponential backoff of containers that are started again.

import type {Frozen} from '#src/api/key.js';
import {keyOf} from '#src/api/key.js';
import {formatDuration} from '#src/api/duration.js';
import type {Pod} from '#src/api/pod.js';

/** The first and the longest delay. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const crashLoopLimits: BackoffLimits = {firstMs: 10_000, maxMs: 300_000};

/** The limits of the gate ReduceDefaultCrashLoopBackOffDecay. */
export const reducedCrashLoopLimits: BackoffLimits = {firstMs: 1_000, maxMs: 60_000};

/** A backoff: the current delay, and when it was last raised. */
export interface Backoff {
  readonly delayMs: number;
  readonly since: number;
}

const isOver = ({since}: Backoff, at: number, {maxMs}: BackoffLimits): boolean => at - since > 2 * maxMs;

/** Whether what ended at `endedAt` has to wait at `now`. A long time without failures resets a backoff. */
export const isBackingOff = (
  backoff: Backoff | undefined,
  endedAt: number,
  now: number,
  limits: BackoffLimits = crashLoopLimits,
): backoff is Backoff => backoff !== undefined && !isOver(backoff, endedAt, limits) && now - endedAt < backoff.delayMs;

/** Returns the backoff after a failure at `endedAt` from which a new attempt begins at `now`. */
export const nextBackoff = (
  before: Backoff | undefined,
  endedAt: number,
  now: number = endedAt,
  limits: BackoffLimits = crashLoopLimits,
): Backoff =>
  before && !isOver(before, endedAt, limits)
    ? {delayMs: Math.min(before.delayMs * 2, limits.maxMs), since: now}
    : {delayMs: Math.min(limits.firstMs, limits.maxMs), since: now};

/** How messages name a pod: `name_namespace(uid)`. */
export const podText = (pod: Frozen<Pod>): string => {
  const {name, namespace} = keyOf(pod);
  return `${name}_${namespace}(${pod.metadata?.uid ?? ''})`;
};

/** Returns the texts of the event and of the waiting state of a container that backs off. */
export const backoffTexts = (
  pod: Frozen<Pod>,
  container: string,
  {delayMs}: Pick<Backoff, 'delayMs'>,
): {readonly event: string; readonly message: string} => ({
  event: `Back-off restarting failed container ${container} in pod ${podText(pod)}`,
  message: `back-off ${formatDuration(delayMs)} restarting failed container=${container} pod=${podText(pod)}`,
});
