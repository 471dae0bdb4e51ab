import type {Group, Grouping, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {isActive, isReady, isTerminating} from '#src/model/pod/state.js';
import {controllerOf} from '#src/model/owners.js';

/**
 * Pods of one parent that are equal in everything that is counted: labels, and whether they are active, ready,
 * terminating or terminal.
 */
export interface PodGroup {
  /** One of them. */
  readonly representative: Frozen<Pod>;
  readonly count: number;
  /** Returns all of them. To be called before any await, as the cache changes. */
  pods(): readonly Frozen<Pod>[];
}

const stateOf = (pod: Frozen<Pod>): string => {
  if (isActive(pod)) return isReady(pod) ? 'ready' : 'active';
  return isTerminating(pod) ? 'terminating' : 'over';
};

const podGrouping: Grouping<Pod> = {
  name: 'pods alike',
  place: pod => [controllerOf(pod)?.uid ?? '', `${stateOf(pod)} ${JSON.stringify(pod.metadata?.labels ?? {})}`],
};

const podGroupOf = (group: Group<Pod>): PodGroup => {
  const [like] = group.values();
  return {representative: like!, count: group.size, pods: () => [...group.values()]};
};

/** Creates the grouping in a cache that is still empty: later it would have to visit all pods. */
export const groupPods = (lister: Lister<Pod>): void => void lister.groups(podGrouping, '');

/** Returns the groups of pods that `parent` controls. */
export const podGroupsOf = (lister: Lister<Pod>, {metadata}: Frozen<KubeObject>): PodGroup[] =>
  Array.from(lister.groups(podGrouping, metadata?.uid ?? ''), podGroupOf);

/** Returns a group for each pod. */
export const singlePodGroups = (pods: readonly Frozen<Pod>[]): PodGroup[] =>
  pods.map(pod => ({representative: pod, count: 1, pods: () => [pod]}));
