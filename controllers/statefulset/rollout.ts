import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {resolveIntOrPercent} from '#src/model/int-or-percent.js';
import {isTerminating, isUnavailable, revisionOfPod, type StatefulSet} from './kinds.js';
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

/** How many pods may be unavailable at once. */
const maxUnavailable = (set: StatefulSet): number => Math.max(1, resolveIntOrPercent(set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, sizeOf(set), 'down'));

const isOld = (pod: Frozen<Pod>, revision: string): boolean => revisionOfPod(pod) !== revision && !isTerminating(pod);

/** The one pod to be replaced now: the last of an older template, once all behind it are available. */
export const nextToReplace = ({set, replicas, revision, now}: Rollout): readonly Frozen<Pod>[] => {
  for (const {pod} of replicas.slice(partitionOf(set)).toReversed()) {
    if (pod && isOld(pod, revision)) return [pod];
    if (isUnavailable(pod, set, now)) return [];
  }
  return [];
};

/**
 * The pods of an older template to be replaced now, the last first, so that no more pods are unavailable than the strategy allows. Pods that are unavailable already
 * count, whatever template they are of.
 */
export const podsToReplace = ({set, replicas, revision, now}: Rollout): readonly Frozen<Pod>[] => {
  const unavailable = replicas.filter(({pod}) => isUnavailable(pod, set, now)).length;
  return replicas
    .slice(partitionOf(set))
    .toReversed()
    .flatMap(({pod}) => (pod && isOld(pod, revision) ? [pod] : []))
    .slice(0, Math.max(0, maxUnavailable(set) - unavailable));
};
