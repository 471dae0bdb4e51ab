import type {Frozen} from '#src/api/key.js';
import type {Toleration} from '#src/api/pod.js';
import {tolerationOf, type Taint} from '#src/model/taints.js';

/**
 * Returns for how many seconds a pod tolerates all of a node's taints: 0 or less not at all, `Infinity` for ever. The
 * shortest time of the matching tolerations applies.
 */
export const toleratedSeconds = (taints: readonly Taint[], tolerations: readonly Frozen<Toleration>[] = []): number => {
  let shortest = Infinity;
  for (const taint of taints) {
    const toleration = tolerationOf(taint, tolerations);
    if (!toleration) return 0;
    shortest = Math.min(shortest, Math.max(0, toleration.tolerationSeconds ?? Infinity));
  }
  return shortest;
};
