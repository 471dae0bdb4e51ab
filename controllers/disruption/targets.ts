import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {isActive} from '#src/model/pod/state.js';

/** How long a pod may have the DisruptionTarget condition before it is stale. */
const staleAfterMs = 120_000;

/** Conditions set by nodes are not stale: nodes terminate these pods. */
const isSetByNode = (reason: string | undefined): boolean => /^TerminationBy(Platlet|Kubelet)$/.test(reason ?? '');

/** Returns when the DisruptionTarget condition of a pod becomes stale, in ms since the epoch; undefined if it has none or is being deleted. */
export const expiryOf = (pod: Frozen<Pod>): number | undefined => {
  if (!isActive(pod)) return undefined;
  const mark = pod.status?.conditions?.find(({type}) => type === 'DisruptionTarget');
  if (mark?.status !== 'True' || isSetByNode(mark.reason)) return undefined;
  return (parseTime(mark.lastTransitionTime) ?? 0) + staleAfterMs;
};
