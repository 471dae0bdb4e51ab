import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {compareQuantities, parseQuantity, quantityOf} from '#src/api/quantity.js';
import {classOf, type Claim} from '#src/model/volumes.js';
import {resourceList, type QuotaEvaluator} from './evaluator.js';
import {selectorMatches} from './scopes.js';

const claimResources = ['persistentvolumeclaims', 'requests.storage'];

/** Returns the volume attributes classes that a claim has, is being modified to, or requests. */
const attributes = ({spec, status}: Frozen<Claim>): string[] =>
  [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter(name => Boolean(name)) as string[];

/** Evaluates persistent volume claims: number and storage, in total and by storage class. */
export const claimEvaluator = (naming: Naming): QuotaEvaluator => {
  const ofClass = (storageClass: string, name: string) => `${storageClass}.storageclass.${naming.group('storage')}/${name}`;
  return {
    group: '',
    resource: 'persistentvolumeclaims',
    kind: kinds.persistentVolumeClaims,
    handles: (operation, subresource) =>
      operation === 'UPDATE' ? subresource === '' || subresource === 'status' : operation === 'CREATE' && subresource === '',
    matchesResource: name =>
      name === 'count/persistentvolumeclaims' ||
      claimResources.includes(name) ||
      claimResources.some(each => name.endsWith(ofClass('', each))),
    usage(object) {
      const claim = object as Frozen<Claim>;
      const [requested, allocated] = [claim.spec?.resources?.requests?.['storage'], claim.status?.allocatedResources?.['storage']].map(
        text => (text === undefined ? undefined : parseQuantity(text)),
      );
      const storage = requested && allocated && compareQuantities(allocated, requested) > 0 ? allocated : requested;
      const used = resourceList(['count/persistentvolumeclaims', quantityOf(1)], ['persistentvolumeclaims', quantityOf(1)]);
      const storageClass = classOf(claim, naming);
      if (storageClass) used.set(ofClass(storageClass, 'persistentvolumeclaims'), quantityOf(1));
      if (!storage) return used;
      used.set('requests.storage', storage);
      if (storageClass) used.set(ofClass(storageClass, 'requests.storage'), storage);
      return used;
    },
    scopedBy: object => attributes(object as Frozen<Claim>).join(),
    matchesScope(scope, object) {
      if (scope.scopeName !== 'VolumeAttributesClass') return false;
      const names = attributes(object as Frozen<Claim>);
      return names.length === 0 ? selectorMatches(scope, undefined) : names.some(name => selectorMatches(scope, name));
    },
  };
};
