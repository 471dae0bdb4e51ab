import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {requestAttributes} from '#src/apiserver/registry/address.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

/** Runs the admission of a deletion. `oldObject` is the stored object, as far as it is known. Throws the refusal. */
export const admitDeletion = async (
  resource: Resource,
  {namespace, name, oldObject}: {readonly namespace: string; readonly name: string; readonly oldObject: Readonly<KubeObject>},
  deletion: DeleteOptions,
  context: WriteContext,
): Promise<void> => {
  const {admission} = resource.settings.writes;
  const attributes = requestAttributes(resource, context, {operation: 'DELETE', deletion, subresource: '', namespace, name, oldObject});
  await admission.run('admit', attributes);
  await admission.run('validate', attributes);
};
