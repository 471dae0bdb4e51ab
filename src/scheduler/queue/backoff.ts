import {exponential} from '#src/base/backoff.js';
import type {QueuedPod} from './queued-pod.js';

export interface BackoffTimes {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The time until which a pod that did not fit, or met a fault, is not tried again: it doubles each time. */
export const backoffEnd = ({initialMs, maxMs}: BackoffTimes) => {
  const delay = exponential(initialMs, maxMs);
  return ({unschedulableCount, errors, since}: QueuedPod): number => {
    const count = errors > 0 ? errors : unschedulableCount;
    return count === 0 ? since : since + delay(count - 1);
  };
};
