import type {Frozen} from '#src/api/key.js';
import type {Toleration} from '#src/api/pod.js';
import {tolerates, type Taint} from '#src/model/taints.js';

/**
 * For how long, in seconds, a pod puts up with all of a node's taints: 0 or less not at all, `Infinity` for ever. Of all tolerations that match any of
 * the taints the shortest counts.
 */
export const toleratedSeconds = (taints: readonly Taint[], tolerations: readonly Frozen<Toleration>[] = []): number => {
  if (taints.some(taint => !tolerations.some(toleration => tolerates(toleration, taint)))) return 0;
  const used = taints.map(taint => tolerations.find(toleration => tolerates(toleration, taint))!);
  return Math.min(Infinity, ...used.map(({tolerationSeconds}) => Math.max(0, tolerationSeconds ?? Infinity)));
};
