import type {PodSpec, Volume} from '#src/api/pod.js';
import {containersOf} from './containers.js';

/** The secrets that volumes of the drivers name, in whatever way each of them does. */
const ofVolume = ({azureFile, cephfs, cinder, flexVolume, iscsi, projected, rbd, scaleIO, secret, storageos, csi}: Volume): (string | undefined)[] => [
  azureFile?.secretName,
  cephfs?.secretRef?.name,
  cinder?.secretRef?.name,
  flexVolume?.secretRef?.name,
  iscsi?.secretRef?.name,
  ...(projected?.sources ?? []).map(source => source.secret?.name),
  rbd?.secretRef?.name,
  scaleIO?.secretRef?.name,
  secret?.secretName,
  storageos?.secretRef?.name,
  csi?.nodePublishSecretRef?.name,
];

/** The names of all secrets that a pod uses, with repetitions. */
export const secretNamesOf = (spec: Readonly<PodSpec>): string[] =>
  [
    ...(spec.imagePullSecrets ?? []).map(({name}) => name),
    ...containersOf(spec).flatMap(({env = [], envFrom = []}) => [...envFrom.map(({secretRef}) => secretRef?.name), ...env.map(({valueFrom}) => valueFrom?.secretKeyRef?.name)]),
    ...(spec.volumes ?? []).flatMap(ofVolume),
  ].filter(name => name !== undefined);
