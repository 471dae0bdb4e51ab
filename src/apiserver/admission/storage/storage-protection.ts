import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {isForKind} from '#src/apiserver/admission/request-kind.js';

/** Adds the finalizers that keep storage objects while they are in use; controllers remove them. */
export const storageObjectInUseProtection = (naming: Naming): AdmissionPlugin => {
  const finalizers: readonly (readonly [kind: Kind, finalizer: string])[] = [
    [kinds.persistentVolumes, naming.key('pv-protection')],
    [kinds.persistentVolumeClaims, naming.key('pvc-protection')],
    [kinds.volumeAttributesClasses, naming.key('vac-protection')],
  ];
  return {
    name: 'StorageObjectInUseProtection',
    admit(attributes) {
      const {operation, object} = attributes;
      if (operation !== 'CREATE' || !object) return;
      const [, finalizer] = finalizers.find(([kind]) => isForKind(attributes, naming, kind)) ?? [];
      if (finalizer === undefined) return;
      const meta = (object.metadata ??= {});
      if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
    },
  };
};
