import type {Change} from '#informers/change.js';
import type {Index} from '#informers/lister.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {controllerOf} from '#src/model/owners.js';
import {isTerminal} from '#src/model/pod/state.js';
import {claimOfVolume, type Claim} from '#src/model/volumes.js';

/** Returns the names of the claims that a pod refers to, including ephemeral ones. */
const claimNames = (pod: Frozen<Pod>): readonly string[] => (pod.spec?.volumes ?? []).flatMap(volume => claimOfVolume(pod, volume) ?? []);

const keysOf = (pod: Frozen<Pod>): ObjectKey[] => claimNames(pod).map(name => ({namespace: pod.metadata?.namespace ?? '', name}));

/** Pods by the claims they refer to. */
export const byClaim: Index<Pod> = {name: 'claim', values: pod => keysOf(pod).map(keyText)};

export type PodsByClaim = ReadonlyMap<string, readonly Frozen<Pod>[]>;

/** Indexes listed pods by the claims they refer to. */
export const podsByClaim = (pods: readonly Frozen<Pod>[]): PodsByClaim => {
  const found = new Map<string, Frozen<Pod>[]>();
  for (const pod of pods) {
    for (const key of byClaim.values(pod)) {
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
  const replaced = type === 'updated' && change.old.metadata?.uid !== object.metadata?.uid ? keysOf(change.old) : [];
  return [...(isAway ? keysOf(object) : []), ...replaced];
};
