import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {volumeAnnotations, type Volume} from '#src/model/volumes.js';

/** The finalizer of volumes whose storage this controller deletes. */
export const deletionFinalizer = (naming: Naming): string => naming.key('pv-controller');

/** Whether a provisioner is part of this process, by its name. */
export const isInTree = (provisioner: string, naming: Naming): boolean => provisioner.startsWith(naming.key(''));

/**
 * Returns the finalizers that a provisioned volume should have, so that its storage is not left behind when it is
 * deleted; undefined if it has them. Those of external provisioners are up to these.
 */
export const finalizersOf = ({metadata, spec, status}: Frozen<Volume>, naming: Naming): readonly string[] | undefined => {
  const {annotations = {}, finalizers = [], deletionTimestamp} = metadata ?? {};
  const {provisionedBy, migratedTo} = volumeAnnotations(naming);
  const provisioner = annotations[provisionedBy];
  if (provisioner === undefined || annotations[migratedTo] || !isInTree(provisioner, naming)) return undefined;
  const own = deletionFinalizer(naming);
  const external = `external-provisioner.${naming.subKey('volume', 'finalizer')}`;
  const isDeleted = spec?.persistentVolumeReclaimPolicy === 'Delete';
  const kept = finalizers.filter(each => each !== external && (isDeleted || each !== own));
  // Of a released volume it may have been removed just now.
  const isMissing = isDeleted && status?.phase === 'Bound' && !deletionTimestamp && !kept.includes(own);
  const wanted = isMissing ? [...kept, own] : kept;
  return wanted.length === finalizers.length && wanted.every(each => finalizers.includes(each)) ? undefined : wanted;
};
