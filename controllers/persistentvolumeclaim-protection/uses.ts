import type {Change} from '#informers/change.js';
import {claimsOfPod, podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {controllerOf} from '#src/model/owners.js';
import {isTerminal} from '#src/model/pod/state.js';
import type {Claim} from '#src/model/volumes.js';

export type PodsByClaim = ReadonlyMap<string, readonly Frozen<Pod>[]>;

/** Indexes listed pods by the claims they refer to. */
export const groupedByClaim = (pods: readonly Frozen<Pod>[]): PodsByClaim => {
  const found = new Map<string, Frozen<Pod>[]>();
  for (const pod of pods) {
    for (const key of podsByClaim.values(pod)) {
      const there = found.get(key);
      if (there) there.push(pod);
      else found.set(key, [pod]);
    }
  }
  return found;
};

/** Whether a pod has terminated: it was deleted without a grace period. */
const isShutDown = ({metadata}: Frozen<Pod>): boolean => Boolean(metadata?.deletionTimestamp) && metadata?.deletionGracePeriodSeconds === 0;

/** Whether a pod on a node uses a claim. A terminal pod that still exists does. */
export const uses = (pod: Frozen<Pod>, {metadata}: Frozen<Claim>): boolean => {
  if (!pod.spec?.nodeName) return false;
  return (pod.spec.volumes ?? []).some(({name, persistentVolumeClaim, ephemeral}) => {
    if (persistentVolumeClaim) return persistentVolumeClaim.claimName === metadata?.name;
    return (
      Boolean(ephemeral) &&
      metadata?.name === `${pod.metadata?.name}-${name}` &&
      controllerOf({metadata: metadata ?? {}})?.uid === pod.metadata?.uid &&
      !isShutDown(pod)
    );
  });
};

/** Returns the claims that a change of a pod may have released. */
export const releasedClaims = (change: Change<Pod>): readonly ObjectKey[] => {
  const {type, object} = change;
  const isAway = type === 'deleted' || isTerminal(object) || !object.spec?.nodeName;
  const replaced = type === 'updated' && change.old.metadata?.uid !== object.metadata?.uid ? claimsOfPod(change.old) : [];
  return [...(isAway ? claimsOfPod(object) : []), ...replaced];
};
