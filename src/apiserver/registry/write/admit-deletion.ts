import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {requestAttributes} from '#src/apiserver/registry/address.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

interface Target {
  readonly namespace: string;
  readonly name: string;
  /** The stored object, as far as it is known. */
  readonly oldObject: Readonly<KubeObject>;
}

/**
 * Runs the admission of a deletion. `validated` are its options as validating plugins see them, with the grace period
 * that is in force. Throws the refusal.
 */
export const admitDeletion = async (
  resource: Resource,
  target: Target,
  deletion: DeleteOptions,
  context: WriteContext,
  validated = deletion,
): Promise<void> => {
  const {admission} = resource.settings.writes;
  const attributesOf = (options: DeleteOptions) =>
    requestAttributes(resource, context, {operation: 'DELETE', deletion: options, subresource: '', ...target});
  await admission.run('admit', attributesOf(deletion));
  await admission.run('validate', attributesOf(validated));
};
