import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {maxSurge, maxUnavailable} from './kinds.js';
import {isServing, podPairOf, type PodsByNode, type DaemonSetSync, type PodChanges} from './sync.js';

/** Returns the old pods to delete without exceeding maxUnavailable; their replacements are created afterwards. */
const withoutSurge = (sync: DaemonSetSync, pods: PodsByNode, max: number): PodChanges => {
  // A node without its pod is unavailable too.
  let missing = sync.placements.filter(({name, shouldRun}) => shouldRun && !pods.has(name)).length;
  const unavailablePods: Frozen<Pod>[] = [];
  const candidates: Frozen<Pod>[] = [];
  for (const nodePods of pods.values()) {
    const pair = podPairOf(nodePods, sync);
    if (!pair || Boolean(pair.fresh) === Boolean(pair.old)) missing++;
    else if (pair.fresh) missing += isServing(pair.fresh, sync) ? 0 : 1;
    else if (isServing(pair.old!, sync)) candidates.push(pair.old!);
    else {
      unavailablePods.push(pair.old!);
      missing++;
    }
  }
  return {create: [], delete: [...unavailablePods, ...candidates.slice(0, Math.max(0, max - missing))]};
};

/**
 * Returns the new pods to create within maxSurge, and the old pods whose replacements are available. Pods on nodes
 * where the set should not run any more are deleted only as far as enough others are available.
 */
const withSurge = (sync: DaemonSetSync, pods: PodsByNode, max: number, desired: number): PodChanges => {
  const runsOn = new Map(sync.placements.map(({name, shouldRun}) => [name, shouldRun]));
  let surging = 0;
  let serving = 0;
  const deletions: Frozen<Pod>[] = [];
  const unscheduled: Frozen<Pod>[] = [];
  const allowed: string[] = [];
  const candidates: string[] = [];
  for (const [node, nodePods] of pods) {
    const pair = podPairOf(nodePods, sync);
    if (!pair) {
      surging++;
      continue;
    }
    const {fresh, old} = pair;
    const pod = old ?? fresh;
    if (pod && isServing(pod, sync)) serving++;
    if (!old) continue;
    if (fresh) {
      if (isServing(fresh, sync)) deletions.push(old);
      else surging++;
    } else if (runsOn.get(node)) (isServing(old, sync) ? candidates : allowed).push(node);
    // Differs from upstream: a deleted node gets no pod; upstream waits until its pod is deleted.
    else (isServing(old, sync) ? unscheduled : deletions).push(old);
  }
  return {
    create: [...allowed, ...candidates.slice(0, Math.max(0, max - surging))],
    delete: [...deletions, ...unscheduled.slice(0, Math.max(0, serving - desired))],
  };
};

/** Returns the changes of the next step of a rolling update. */
export const rollingUpdate = (sync: DaemonSetSync, pods: PodsByNode): PodChanges => {
  const desired = sync.placements.filter(({shouldRun}) => shouldRun).length;
  const surge = maxSurge(sync.set, desired);
  // Without either limit no update could progress.
  const unavailable = maxUnavailable(sync.set, desired) || (surge === 0 ? 1 : 0);
  return surge === 0 ? withoutSurge(sync, pods, unavailable) : withSurge(sync, pods, surge, desired);
};
