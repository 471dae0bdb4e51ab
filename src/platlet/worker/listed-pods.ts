// The pods of the runtime's last list, with what its events have told since.

import {emptyRuntimePod, type ContainerEvent, type RuntimePod} from '#src/platlet/runtime/state.js';

/** Whether an event may call for work. Only the agent itself creates containers, and it is about to start them. */
export const concernsWork = ({type}: Pick<ContainerEvent, 'type'>): boolean => type !== 'created';

/** Returns the pods after an event. Those of which nothing is left are dropped. */
export const afterEvent = (pods: readonly RuntimePod[], event: ContainerEvent): readonly RuntimePod[] => {
  const {pod} = event.sandbox;
  const before = pods.find(each => each.pod.uid === pod.uid);
  const after = podAfter(before ?? emptyRuntimePod(pod), event);
  const isGone = after.sandboxes.length + after.containers.length === 0;
  if (before) return pods.flatMap(each => (each !== before ? [each] : isGone ? [] : [after]));
  return isGone ? pods : [...pods, after];
};

const podAfter = ({pod, sandboxes, containers}: RuntimePod, {id, type, sandbox, containers: told}: ContainerEvent): RuntimePod => {
  const isLeft = (each: {readonly id: string}): boolean => type !== 'deleted' || each.id !== id;
  return {
    pod,
    sandboxes: replaced(sandboxes, [sandbox], each => each.id === sandbox.id).filter(isLeft),
    containers: replaced(containers, told, each => each.sandbox === sandbox.id).filter(isLeft),
  };
};

/** Returns the items, newest first, with those that are told of instead of those that match. */
const replaced = <T extends {readonly attempt: number; readonly createdAt: number}>(
  items: readonly T[],
  told: readonly T[],
  matches: (item: T) => boolean,
): readonly T[] =>
  [...told, ...items.filter(item => !matches(item))].sort((one, other) => other.createdAt - one.createdAt || other.attempt - one.attempt);
