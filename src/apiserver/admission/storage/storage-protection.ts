import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
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
    handles: {operations: ['CREATE'], targets: finalizers.flatMap(([kind]) => targetsOf(naming, kind))},
    changes: ['metadata.finalizers'],
    admit(attributes) {
      const [, finalizer] = finalizers.find(([kind]) => isForKind(attributes, naming, kind)) ?? [];
      if (finalizer === undefined) return;
      const meta = (attributes.object!.metadata ??= {});
      if (!meta.finalizers?.includes(finalizer)) meta.finalizers = [...(meta.finalizers ?? []), finalizer];
    },
  };
};
