import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {configMapNamesOf} from '#src/model/pod/config-map-names.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';

/** The kinds that nodes may need to read. */
export type ReadableKind =
  | 'configmaps'
  | 'secrets'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'resourceclaims'
  | 'serviceaccounts'
  | 'pods'
  | 'volumeattachments'
  | 'resourceslices'
  | 'podcertificaterequests';

/** The key of one object. */
export const referenceKey = (what: ReadableKind, namespace: string, name: string): string => `${what}/${namespace}/${name}`;

/** The name of the resource claim of a pod's entry; undefined until it is generated. */
const claimName = (
  {status}: Readonly<Pod>,
  {name, resourceClaimName}: {readonly name: string; readonly resourceClaimName?: string},
): string | undefined => resourceClaimName ?? status?.resourceClaimStatuses?.find(entry => entry.name === name)?.resourceClaimName;

/**
 * Returns the objects that the node of a pod may read: the pod and all it refers to. A mirror pod gives access to
 * nothing.
 */
export const referencesOf = (naming: Naming, pod: Readonly<Pod>): string[] => {
  const {namespace = '', name = '', annotations} = pod.metadata ?? {};
  const own = referenceKey('pods', namespace, name);
  const {spec} = pod;
  if (!spec || annotations?.[naming.key('config.mirror')] !== undefined) return [own];
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  const all = (what: ReadableKind, names: readonly (string | undefined)[]): string[] =>
    names.flatMap(each => (each ? [referenceKey(what, namespace, each)] : []));
  return [
    ...new Set([
      own,
      ...all('serviceaccounts', [spec.serviceAccountName]),
      ...all('secrets', secretNamesOf(spec)),
      ...all('configmaps', configMapNamesOf(spec)),
      ...all(
        'persistentvolumeclaims',
        (spec.volumes ?? []).map(
          volume => volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${name}-${volume.name}` : undefined),
        ),
      ),
      ...all('resourceclaims', [...(spec.resourceClaims ?? []).map(claim => claimName(pod, claim)), extended]),
    ]),
  ];
};

type PersistentVolume = ObjectOf<typeof kinds.persistentVolumes>;

/** The secrets that a node needs to mount a volume; those without a namespace are in the claim's. */
export const volumeSecrets = ({spec}: Readonly<PersistentVolume>): string[] => {
  if (!spec?.claimRef) return [];
  const {namespace: home = ''} = spec.claimRef;
  const {azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd, scaleIO, storageos} = spec;
  const references = [
    azureFile && {name: azureFile.secretName, namespace: azureFile.secretNamespace},
    ...[cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos].map(source => source?.secretRef),
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ];
  return references.flatMap(reference => (reference?.name ? [referenceKey('secrets', reference.namespace || home, reference.name)] : []));
};
