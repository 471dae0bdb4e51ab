import type {PodSpec, Volume} from '#src/api/pod.js';
import {containersOf} from './containers.js';

/** Returns the secrets that a volume refers to, by volume type. */
const ofVolume = ({
  azureFile,
  cephfs,
  cinder,
  flexVolume,
  iscsi,
  projected,
  rbd,
  scaleIO,
  secret,
  storageos,
  csi,
}: Volume): (string | undefined)[] => [
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

/** Returns the names of all secrets that a pod uses. They may repeat. */
export const secretNamesOf = (spec: Readonly<PodSpec>): string[] =>
  [
    ...(spec.imagePullSecrets ?? []).map(({name}) => name),
    ...containersOf(spec).flatMap(({env = [], envFrom = []}) => [
      ...envFrom.map(({secretRef}) => secretRef?.name),
      ...env.map(({valueFrom}) => valueFrom?.secretKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(ofVolume),
  ].filter(name => name !== undefined);
