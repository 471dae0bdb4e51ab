import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {isActive} from '#src/model/pod/state.js';

/** How long a pod that is marked may stay before the mark is taken back. */
const staleAfterMs = 120_000;

/** Nodes mark pods that they end themselves: those do go. */
const isSetByNode = (reason: string | undefined): boolean => /^TerminationBy(Platlet|Kubelet)$/.test(reason ?? '');

/** When the mark of a pod that is about to be disrupted has grown stale, in ms since the epoch; undefined for a pod without one, or on its way out. */
export const expiryOf = (pod: Frozen<Pod>): number | undefined => {
  if (!isActive(pod)) return undefined;
  const mark = pod.status?.conditions?.find(({type}) => type === 'DisruptionTarget');
  if (mark?.status !== 'True' || isSetByNode(mark.reason)) return undefined;
  return (parseTime(mark.lastTransitionTime) ?? 0) + staleAfterMs;
};
