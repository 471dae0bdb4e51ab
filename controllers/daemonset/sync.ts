import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {isAvailable, isTerminal} from '#src/model/pod/state.js';
import {isUpdated, type DaemonSet} from './kinds.js';
import {nodeOf, type Placement} from './placement.js';

/** A node with the set's placement on it. */
export interface NodePlacement extends Placement {
  readonly node: Frozen<Node>;
  readonly name: string;
}

/** The state of one sync: the placements on all nodes, and the hash of the current template. */
export interface DaemonSetSync {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly placements: readonly NodePlacement[];
  readonly now: number;
}

/** The pods to create and delete. */
export interface PodChanges {
  /** Names of nodes, one for each pod to create. */
  readonly create: readonly string[];
  readonly delete: readonly Frozen<Pod>[];
}

/** The pods of a set by node. */
export type PodsByNode = ReadonlyMap<string, readonly Frozen<Pod>[]>;

/** Terminal pods that are being deleted are left out: nothing is to be done about them. */
export const podsByNode = (pods: readonly Frozen<Pod>[]): PodsByNode => {
  const found = new Map<string, Frozen<Pod>[]>();
  for (const pod of pods) {
    if (isTerminal(pod) && pod.metadata?.deletionTimestamp) continue;
    const node = nodeOf(pod);
    if (node === undefined) continue;
    const nodePods = found.get(node);
    if (nodePods) nodePods.push(pod);
    else found.set(node, [pod]);
  }
  return found;
};

export const isServing = (pod: Frozen<Pod>, {set, now}: DaemonSetSync): boolean => isAvailable(pod, set.spec?.minReadySeconds ?? 0, now);

/** The pod of the current template, and the one of an older. */
export interface PodPair {
  readonly fresh: Frozen<Pod> | undefined;
  readonly old: Frozen<Pod> | undefined;
}

/** Returns the live pods of a node by template; undefined when there are several of one. */
export const podPairOf = (pods: readonly Frozen<Pod>[], {set, hash}: DaemonSetSync): PodPair | undefined => {
  const live = pods.filter(({metadata}) => !metadata?.deletionTimestamp);
  const updated = live.filter(pod => isUpdated(pod, set, hash));
  const old = live.filter(pod => !isUpdated(pod, set, hash));
  return updated.length > 1 || old.length > 1 ? undefined : {fresh: updated[0], old: old[0]};
};
