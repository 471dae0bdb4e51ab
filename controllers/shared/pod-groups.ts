import type {Group, Grouping, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {isActive, isReady, isTerminating} from '#src/model/pod/state.js';
import {controllerOf} from '#src/model/owners.js';

/** Pods of one parent that differ in nothing that is counted: their labels, and whether they are active, ready, on their way out or over. */
export interface PodsAlike {
  /** One of them, which speaks for all. */
  readonly like: Frozen<Pod>;
  readonly count: number;
  /** All of them. To be asked before anything is waited for: the cache goes on. */
  pods(): readonly Frozen<Pod>[];
}

const stateOf = (pod: Frozen<Pod>): string => {
  if (isActive(pod)) return isReady(pod) ? 'ready' : 'active';
  return isTerminating(pod) ? 'terminating' : 'over';
};

const alike: Grouping<Pod> = {
  name: 'pods alike',
  place: pod => [controllerOf(pod)?.uid ?? '', `${stateOf(pod)} ${JSON.stringify(pod.metadata?.labels ?? {})}`],
};

const asAlike = (group: Group<Pod>): PodsAlike => {
  const [like] = group.values();
  return {like: like!, count: group.size, pods: () => [...group.values()]};
};

/** Lets a cache that is still empty group its pods from the start: later it takes a look at all of them at once. */
export const groupPods = (lister: Lister<Pod>): void => void lister.groups(alike, '');

/** The pods that `parent` controls, group by group. */
export const podsUnder = (lister: Lister<Pod>, {metadata}: Frozen<KubeObject>): PodsAlike[] => Array.from(lister.groups(alike, metadata?.uid ?? ''), asAlike);

/** A list of pods, counted as groups are. */
export const countedAlone = (pods: readonly Frozen<Pod>[]): PodsAlike[] => pods.map(pod => ({like: pod, count: 1, pods: () => [pod]}));
