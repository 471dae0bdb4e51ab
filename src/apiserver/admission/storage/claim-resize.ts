import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {compareQuantities, parseQuantity} from '#src/api/quantity.js';
import type {Reader} from '#src/api/reader.js';
import {classOf} from '#src/model/volumes.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

/** Allows expansion only of bound claims whose storage class allows it. */
export const persistentVolumeClaimResize = ({naming, reader}: {readonly naming: Naming; readonly reader: Reader}): AdmissionPlugin => {
  const sizeOf = ({spec}: Readonly<Claim>) => parseQuantity(spec?.resources?.requests?.['storage'] ?? '0');
  return {
    name: 'PersistentVolumeClaimResize',
    handles: {operations: ['UPDATE'], targets: targetsOf(naming, kinds.persistentVolumeClaims)},
    async validate(attributes) {
      const [now, before] = [attributes.object as Claim, attributes.oldObject as Claim];
      if (compareQuantities(sizeOf(now), sizeOf(before)) <= 0) return;
      if (before.status?.phase !== 'Bound') throw refuse(attributes, 'only bound persistent volume claims can be expanded');
      const name = classOf(now, naming);
      const found = name && name === classOf(before, naming) ? await reader.get(kinds.storageClasses, '', name) : undefined;
      if (found?.allowVolumeExpansion) return;
      throw refuse(
        attributes,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      );
    },
  };
};
