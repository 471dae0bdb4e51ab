import {notFound, isAlreadyExists} from '#src/api/status.js';
import {isNamespace, type AdmissionAttributes, type AdmissionPlugin} from './admission.js';
import type {FindNamespace} from './namespace-lifecycle.js';
import {refuse} from './refuse.js';

const isInNamespace = (attributes: AdmissionAttributes): boolean => Boolean(attributes.namespace) && !isNamespace(attributes);

/** Refuses requests in a namespace that does not exist. */
export const namespaceExists = (find: FindNamespace): AdmissionPlugin => ({
  name: 'NamespaceExists',
  handles: {operations: ['CREATE', 'UPDATE', 'DELETE']},
  async validate(attributes) {
    const {namespace} = attributes;
    if (!isInNamespace(attributes) || (await find(namespace))) return;
    throw notFound({group: '', resource: 'namespaces'}, namespace);
  },
});

/** Creates the namespace of a created object if it does not exist, except on dry runs. */
export const namespaceAutoProvision = (find: FindNamespace, create: (name: string) => Promise<unknown>): AdmissionPlugin => ({
  name: 'NamespaceAutoProvision',
  handles: {operations: ['CREATE']},
  async admit(attributes) {
    const {namespace, dryRun} = attributes;
    if (dryRun || !isInNamespace(attributes) || (await find(namespace))) return;
    try {
      await create(namespace);
    } catch (error) {
      if (!isAlreadyExists(error)) throw refuse(attributes, (error as Error).message);
    }
  },
});
