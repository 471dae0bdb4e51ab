import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {resolveIntOrPercent} from '#src/model/int-or-percent.js';
import {isTerminating, isUnavailable, revisionOfPod, type StatefulSet} from './kinds.js';
import {sizeOf, type Slot} from './ordinals.js';

export interface Rollout {
  readonly set: StatefulSet;
  /** All ordinals of the set, ascending. */
  readonly replicas: readonly Slot[];
  /** The name of the update revision. */
  readonly revision: string;
  readonly now: number;
}

/** Returns the partition: ordinals below it keep the current revision. */
export const partitionOf = ({spec}: StatefulSet): number => spec?.updateStrategy?.rollingUpdate?.partition ?? 0;

/** Returns how many pods may be unavailable. */
const maxUnavailable = (set: StatefulSet): number =>
  Math.max(1, resolveIntOrPercent(set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, sizeOf(set), 'down'));

const isOld = (pod: Frozen<Pod>, revision: string): boolean => revisionOfPod(pod) !== revision && !isTerminating(pod);

/** Returns the pod to replace now: the last one of an older revision, once all after it are available. */
export const nextToReplace = ({set, replicas, revision, now}: Rollout): readonly Frozen<Pod>[] => {
  for (const {pod} of replicas.slice(partitionOf(set)).toReversed()) {
    if (pod && isOld(pod, revision)) return [pod];
    if (isUnavailable(pod, set, now)) return [];
  }
  return [];
};

/**
 * Returns the pods of an older revision to replace now, the last first, within maxUnavailable. Pods that are
 * unavailable already count, whatever their revision.
 */
export const podsToReplace = ({set, replicas, revision, now}: Rollout): readonly Frozen<Pod>[] => {
  const unavailable = replicas.filter(({pod}) => isUnavailable(pod, set, now)).length;
  return replicas
    .slice(partitionOf(set))
    .toReversed()
    .flatMap(({pod}) => (pod && isOld(pod, revision) ? [pod] : []))
    .slice(0, Math.max(0, maxUnavailable(set) - unavailable));
};
