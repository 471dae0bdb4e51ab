import type {Index} from '#informers/lister.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {claimOfVolume} from '#src/model/volumes.js';

/** Returns the keys of the claims that a pod refers to, including those of its ephemeral volumes. */
export const claimsOfPod = (pod: Frozen<Pod>): ObjectKey[] =>
  (pod.spec?.volumes ?? []).flatMap(volume => {
    const name = claimOfVolume(pod, volume);
    return name === undefined ? [] : [{namespace: pod.metadata?.namespace ?? '', name}];
  });

/** Pods by the claims that they refer to. */
export const podsByClaim: Index<Pod> = {name: 'claim', values: pod => claimsOfPod(pod).map(keyText)};
