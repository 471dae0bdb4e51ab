import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {classAnnotation} from '#src/model/volumes.js';
import type {AdmissionPlugin} from './admission.js';
import {targetsOf} from './handles.js';

interface Parts {
  readonly naming: Naming;
  readonly reader: Reader;
}

/**
 * The name of the default class, which one of the annotations marks: the newest, and of equally new ones the first by
 * name.
 */
const defaultOf = async (reader: Reader, kind: Kind, marks: readonly string[]): Promise<string | undefined> => {
  const marked = (await reader.list(kind)).filter(({metadata}) => marks.some(mark => metadata?.annotations?.[mark] === 'true'));
  const made = ({metadata}: Readonly<KubeObject>): number => parseTime(metadata?.creationTimestamp) ?? 0;
  const name = ({metadata}: Readonly<KubeObject>): string => metadata?.name ?? '';
  const [newest] = marked.sort((a, b) => made(b) - made(a) || (name(a) < name(b) ? -1 : 1));
  return newest && name(newest);
};

/** Sets the default class of claims without one. An empty name counts as one: it requests no class. */
export const defaultStorageClass = ({naming, reader}: Parts): AdmissionPlugin => {
  const marks = ['storageclass', 'storageclass.beta'].map(sub => naming.subKey(sub, 'is-default-class'));
  const older = classAnnotation(naming);
  return {
    name: 'DefaultStorageClass',
    handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.persistentVolumeClaims)},
    changes: ['spec.storageClassName'],
    async admit(attributes) {
      const claim = attributes.object as ObjectOf<typeof kinds.persistentVolumeClaims>;
      if (claim.spec?.storageClassName !== undefined || claim.metadata?.annotations?.[older] !== undefined) return;
      const name = await defaultOf(reader, kinds.storageClasses, marks);
      if (name === undefined) return;
      const spec = (claim.spec ??= {});
      spec.storageClassName = name;
    },
  };
};

/** Sets the default class of ingresses that have none, neither by the field nor by the older annotation. */
export const defaultIngressClass = ({naming, reader}: Parts): AdmissionPlugin => {
  const marks = [naming.subKey('ingressclass', 'is-default-class')];
  const older = naming.key('ingress.class');
  return {
    name: 'DefaultIngressClass',
    handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.ingresses)},
    changes: ['spec.ingressClassName'],
    async admit(attributes) {
      const ingress = attributes.object as ObjectOf<typeof kinds.ingresses>;
      if (ingress.spec?.ingressClassName !== undefined || ingress.metadata?.annotations?.[older] !== undefined) return;
      const name = await defaultOf(reader, kinds.ingressClasses, marks);
      if (name === undefined) return;
      const spec = (ingress.spec ??= {});
      spec.ingressClassName = name;
    },
  };
};
