// The states of a pod as controllers count them. Pure functions over its status and deletion timestamp.

import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';

/** Whether the pod has succeeded or failed. */
export const isTerminal = ({status}: Frozen<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Whether the pod is neither terminal nor being deleted; controllers count active pods as replicas. */
export const isActive = (pod: Frozen<Pod>): boolean => !isTerminal(pod) && !pod.metadata?.deletionTimestamp;

/** Whether the pod is being deleted and not terminal yet. */
export const isTerminating = (pod: Frozen<Pod>): boolean => !isTerminal(pod) && Boolean(pod.metadata?.deletionTimestamp);

const readyCondition = ({status}: Frozen<Pod>): Frozen<PodCondition> | undefined => status?.conditions?.find(({type}) => type === 'Ready');

export const isReady = (pod: Frozen<Pod>): boolean => readyCondition(pod)?.status === 'True';

/** Returns the time in ms since when the pod is ready; undefined if it is not ready or the time is missing. */
export const readySince = (pod: Frozen<Pod>): number | undefined => {
  const condition = readyCondition(pod);
  return condition?.status === 'True' ? parseTime(condition.lastTransitionTime) : undefined;
};

/** Whether the pod has been ready for `minReadySeconds`. */
export const isAvailable = (pod: Frozen<Pod>, minReadySeconds: number, now: number): boolean => {
  if (!isReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= now;
};

/** Returns the time in ms until the next ready pod becomes available; undefined if none will. */
export const nextAvailability = (pods: readonly Frozen<Pod>[], minReadySeconds: number, now: number): number | undefined => {
  let next: number | undefined;
  for (const pod of pods) {
    const since = readySince(pod);
    const afterMs = since === undefined ? 0 : since + minReadySeconds * 1000 - now;
    if (afterMs > 0 && (next === undefined || afterMs < next)) next = afterMs;
  }
  return next;
};
