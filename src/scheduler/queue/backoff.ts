import {exponential} from '#src/base/backoff.js';
import type {QueuedPod} from './queued-pod.js';

export interface BackoffTimes {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** Returns the end of a pod's backoff, which doubles with each unschedulable or failed attempt. */
export const backoffEnd = ({initialMs, maxMs}: BackoffTimes) => {
  const delay = exponential(initialMs, maxMs);
  return ({unschedulableCount, errors, since}: QueuedPod): number => {
    const count = errors > 0 ? errors : unschedulableCount;
    return count === 0 ? since : since + delay(count - 1);
  };
};
