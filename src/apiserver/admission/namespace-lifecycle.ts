import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {notFound} from '#src/api/status.js';
import type {Namespace} from '#src/api/types.js';
import {andThen} from '#src/base/eventually.js';
import {isNamespace, type AdmissionAttributes, type AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';

/** Returns the current namespace, or undefined. */
export type FindNamespace = (name: string) => Promise<Readonly<Namespace> | undefined> | Readonly<Namespace> | undefined;

const checkNamespace = (found: Readonly<Namespace> | undefined, attributes: AdmissionAttributes): void => {
  const {operation, namespace} = attributes;
  if (!found) throw notFound({group: '', resource: 'namespaces'}, namespace);
  if (operation !== 'CREATE' || found.status?.phase !== 'Terminating') return;
  throw refuse(attributes, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    {reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace'},
  ]);
};

/**
 * Refuses writes in namespaces that do not exist, creation in terminating ones, and deletion of the system's own.
 * Deletion of objects and access reviews are always allowed.
 */
export const namespaceLifecycle = (naming: Naming, reader: Pick<Reader, 'get'>): AdmissionPlugin => {
  const immortal = new Set(['default', naming.systemNamespace, naming.publicNamespace]);
  const isAccessReview = ({group, resource}: AdmissionAttributes): boolean =>
    group === naming.group('authorization') && resource === 'localsubjectaccessreviews';

  return {
    name: 'NamespaceLifecycle',
    handles: {operations: ['CREATE', 'UPDATE', 'DELETE']},
    admit(attributes) {
      const {operation, namespace, name} = attributes;
      if (isNamespace(attributes)) {
        if (operation === 'DELETE' && immortal.has(name)) throw refuse(attributes, 'this namespace may not be deleted');
        return undefined;
      }
      if (!namespace || operation === 'DELETE' || isAccessReview(attributes)) return undefined;
      return andThen(reader.get(kinds.namespaces, '', namespace), found => checkNamespace(found, attributes));
    },
  };
};
