import type {Naming} from '#src/api/naming.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';

/**
 * The options of a request as an object of their kind; undefined for connect requests. A patch has the options of an
 * update.
 */
export const operationOptions = ({operation, original, deletion}: AdmissionAttributes, naming: Naming): PlainObject | null => {
  const apiVersion = naming.apiVersion('meta', 'v1');
  if (operation === 'CONNECT') return null;
  if (operation === 'DELETE') return {kind: 'DeleteOptions', apiVersion, ...deletion};
  const query = original?.info.query;
  const text = (field: string) => (query?.get(field) ? {[field]: query.get(field)} : {});
  return {
    kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
    apiVersion,
    ...(query?.has('dryRun') ? {dryRun: query.getAll('dryRun')} : {}),
    ...text('fieldManager'),
    ...text('fieldValidation'),
  };
};
