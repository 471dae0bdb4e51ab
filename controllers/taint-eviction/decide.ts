import type {Frozen} from '#src/api/key.js';
import type {Toleration} from '#src/api/pod.js';
import type {Taint} from '#src/model/taints.js';
import {toleratedSeconds} from './toleration.js';

/** What becomes of the pending eviction of a pod: it may be cancelled, and another one scheduled. */
export interface EvictionPlan {
  readonly isCancelled: boolean;
  /** The delay of the eviction to schedule, in ms; undefined: none is. */
  readonly delayMs?: number;
}

/** Decides when a pod on a node with these NoExecute taints is evicted. */
export const decideEviction = (
  taints: readonly Taint[],
  tolerations: readonly Frozen<Toleration>[] | undefined,
  isPending: boolean,
): EvictionPlan => {
  const seconds = toleratedSeconds(taints, tolerations);
  if (seconds === Infinity) return {isCancelled: true};
  // A scheduled time is kept when taints change, unless the eviction is due at once.
  if (seconds > 0) return isPending ? {isCancelled: false} : {isCancelled: false, delayMs: seconds * 1000};
  return {isCancelled: isPending, delayMs: 0};
};
