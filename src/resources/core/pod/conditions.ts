import type {Pod, PodCondition} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {HookContext} from '#src/resources/definition.js';

/** Sets a condition of a pod; its transition time changes only with its status. */
export const setPodCondition = (pod: Pod, condition: PodCondition, {clock}: Pick<HookContext, 'clock'>): void => {
  const conditions = ((pod.status ??= {}).conditions ??= []);
  const at = conditions.findIndex(({type}) => type === condition.type);
  const before = conditions[at];
  const time = before && before.status === condition.status ? before.lastTransitionTime : wireTime(clock.now());
  const now = {...condition, lastProbeTime: null, lastTransitionTime: time ?? null} as unknown as PodCondition;
  if (before) conditions[at] = now;
  else conditions.push(now);
};
