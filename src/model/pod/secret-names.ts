import type {PodSpec, Volume} from '#src/api/pod.js';
import {containersOf} from './containers.js';

/** Called with the name of each secret that a volume refers to, by volume type. */
const eachOfVolume = (volume: Volume, found: (name: string | undefined) => void): void => {
  found(volume.azureFile?.secretName);
  found(volume.cephfs?.secretRef?.name);
  found(volume.cinder?.secretRef?.name);
  found(volume.flexVolume?.secretRef?.name);
  found(volume.iscsi?.secretRef?.name);
  for (const {secret} of volume.projected?.sources ?? []) found(secret?.name);
  found(volume.rbd?.secretRef?.name);
  found(volume.scaleIO?.secretRef?.name);
  found(volume.secret?.secretName);
  found(volume.storageos?.secretRef?.name);
  found(volume.csi?.nodePublishSecretRef?.name);
};

/**
 * Returns the names of all secrets that a pod uses. They may repeat. Called with each change of a pod, and in one turn:
 * it keeps no list but that of the names.
 */
export const secretNamesOf = (spec: Readonly<PodSpec>): string[] => {
  const names: string[] = [];
  const found = (name: string | undefined): void => {
    if (name !== undefined) names.push(name);
  };
  for (const {name} of spec.imagePullSecrets ?? []) found(name);
  for (const {env, envFrom} of containersOf(spec)) {
    for (const {secretRef} of envFrom ?? []) found(secretRef?.name);
    for (const {valueFrom} of env ?? []) found(valueFrom?.secretKeyRef?.name);
  }
  for (const volume of spec.volumes ?? []) eachOfVolume(volume, found);
  return names;
};
