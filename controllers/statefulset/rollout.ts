import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {resolvedIntOrPercent} from '#src/model/int-or-percent.js';
import {isHealthy, isLeaving, isParallel, isServing, revisionOfPod, type StatefulSet} from './kinds.js';
import {sizeOf, type Slot} from './ordinals.js';

export interface Rollout {
  readonly set: StatefulSet;
  /** Every place of the set, ascending. */
  readonly replicas: readonly Slot[];
  /** The name of the revision that pods are to be of. */
  readonly revision: string;
  readonly now: number;
}

/** How many of the set's first places keep the template they were at. */
export const partitionOf = ({spec}: StatefulSet): number => spec?.updateStrategy?.rollingUpdate?.partition ?? 0;

/** How many pods may be missing at once. */
const mostUnavailable = (set: StatefulSet): number => Math.max(1, resolvedIntOrPercent(set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, sizeOf(set), 'down'));

const isOld = (pod: Frozen<Pod>, revision: string): boolean => revisionOfPod(pod) !== revision && !isLeaving(pod);

/** The one pod to be replaced now: the last of an older template, once all behind it work. */
export const nextToReplace = ({set, replicas, revision}: Rollout): readonly Frozen<Pod>[] => {
  for (const {pod} of replicas.slice(partitionOf(set)).toReversed()) {
    if (pod && isOld(pod, revision)) return [pod];
    if (!pod || !isHealthy(pod)) return [];
  }
  return [];
};

/**
 * The pods to be replaced now, so that no more than the strategy allows are missing, the last first. Where order does not matter, pods of an older template that do
 * not serve go whatever the bound: nothing is lost with them, and a template that never worked could not be mended otherwise.
 */
export const podsToReplace = ({set, replicas, revision, now}: Rollout): readonly Frozen<Pod>[] => {
  const serves = (pod: Frozen<Pod>) => isServing(pod, set, now) && !isLeaving(pod);
  const missing = replicas.filter(({pod}) => !pod || !serves(pod)).length;
  const allowed = Math.max(0, mostUnavailable(set) - missing);
  const old = replicas
    .slice(partitionOf(set))
    .toReversed()
    .flatMap(({pod}) => (pod && isOld(pod, revision) ? [pod] : []));
  if (!isParallel(set)) return old.slice(0, allowed);
  return [...old.filter(pod => !serves(pod)), ...old.filter(serves).slice(0, allowed)];
};
