import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';

/** Whether the pod's work is over, one way or the other. */
export const isTerminal = ({status}: Frozen<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Whether the pod works or may come to: a controller counts it among those it has. */
export const isActive = (pod: Frozen<Pod>): boolean => !isTerminal(pod) && !pod.metadata?.deletionTimestamp;

/** Whether the pod is being deleted and still at work. */
export const isTerminating = (pod: Frozen<Pod>): boolean => !isTerminal(pod) && Boolean(pod.metadata?.deletionTimestamp);

const readyCondition = ({status}: Frozen<Pod>): Frozen<PodCondition> | undefined => status?.conditions?.find(({type}) => type === 'Ready');

export const isReady = (pod: Frozen<Pod>): boolean => readyCondition(pod)?.status === 'True';

/** Since when the pod is ready, in ms; undefined when it is not, or does not say. */
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

/** In how many ms the first of the ready pods that are not available yet becomes so; undefined when none will by waiting. */
export const nextAvailability = (pods: readonly Frozen<Pod>[], minReadySeconds: number, now: number): number | undefined => {
  let next: number | undefined;
  for (const pod of pods) {
    const since = readySince(pod);
    const afterMs = since === undefined ? 0 : since + minReadySeconds * 1000 - now;
    if (afterMs > 0 && (next === undefined || afterMs < next)) next = afterMs;
  }
  return next;
};
