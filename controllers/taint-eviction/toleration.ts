import type {Frozen} from '#src/api/key.js';
import type {Toleration} from '#src/api/pod.js';
import {tolerates, type Taint} from '#src/model/taints.js';

/**
 * Returns for how many seconds a pod tolerates all of a node's taints: 0 or less not at all, `Infinity` for ever. The
 * shortest time of the matching tolerations applies.
 */
export const toleratedSeconds = (taints: readonly Taint[], tolerations: readonly Frozen<Toleration>[] = []): number => {
  if (taints.some(taint => !tolerations.some(toleration => tolerates(toleration, taint)))) return 0;
  const used = taints.map(taint => tolerations.find(toleration => tolerates(toleration, taint))!);
  return Math.min(Infinity, ...used.map(({tolerationSeconds}) => Math.max(0, tolerationSeconds ?? Infinity)));
};
