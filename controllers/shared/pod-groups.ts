import type {Group, Grouping, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {isActive, isReady, isTerminating} from '#src/model/pod/state.js';
import {controllerOf} from '#src/model/owners.js';

/** Pods of one parent that differ in nothing that is counted: their labels, and whether they are active, ready, on their way out or over. */
export interface PodGroup {
  /** One of them, which speaks for all. */
  readonly representative: Frozen<Pod>;
  readonly count: number;
  /** All of them. To be asked before anything is waited for: the cache goes on. */
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

/** Lets a cache that is still empty group its pods from the start: later it takes a look at all of them at once. */
export const groupPods = (lister: Lister<Pod>): void => void lister.groups(podGrouping, '');

/** The pods that `parent` controls, group by group. */
export const podGroupsOf = (lister: Lister<Pod>, {metadata}: Frozen<KubeObject>): PodGroup[] => Array.from(lister.groups(podGrouping, metadata?.uid ?? ''), podGroupOf);

/** A list of pods, counted as groups are. */
export const singlePodGroups = (pods: readonly Frozen<Pod>[]): PodGroup[] => pods.map(pod => ({representative: pod, count: 1, pods: () => [pod]}));
