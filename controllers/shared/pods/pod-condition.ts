import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';

/** Returns the conditions of a pod with one set; undefined if it is up to date. Its time changes with its status. */
export const withPodCondition = ({status}: Frozen<Pod>, next: Frozen<PodCondition>, now: number): Frozen<PodCondition>[] | undefined => {
  const conditions = status?.conditions ?? [];
  const before = conditions.find(({type}) => type === next.type);
  const {lastTransitionTime = wireTime(now)} = before?.status === next.status ? before : {};
  const updated: Frozen<PodCondition> = {...next, lastTransitionTime};
  if (!before) return [...conditions, updated];
  return sameJson(before, updated) ? undefined : conditions.map(condition => (condition === before ? updated : condition));
};
