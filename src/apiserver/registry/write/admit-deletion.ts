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

/** Runs the admission of a deletion. Throws the refusal. */
export const admitDeletion = async (resource: Resource, target: Target, deletion: DeleteOptions, context: WriteContext): Promise<void> => {
  await mutateDeletion(resource, target, deletion, context);
  await validateDeletion(resource, target, deletion, context);
};

const attributesOf = (resource: Resource, target: Target, deletion: DeleteOptions, context: WriteContext) =>
  requestAttributes(resource, context, {operation: 'DELETE', deletion, subresource: '', ...target});

/** Runs the mutating admission of a deletion. Throws the refusal. */
export const mutateDeletion = async (resource: Resource, target: Target, deletion: DeleteOptions, context: WriteContext): Promise<void> => {
  if (context.isAdmitted) return;
  await resource.settings.writes.admission.run('admit', attributesOf(resource, target, deletion, context));
};

/**
 * Runs the validating admission of a deletion, whose options have the grace period that is in force. Throws the
 * refusal.
 */
export const validateDeletion = async (
  resource: Resource,
  target: Target,
  deletion: DeleteOptions,
  context: WriteContext,
): Promise<void> => {
  if (context.isAdmitted) return;
  await resource.settings.writes.admission.run('validate', attributesOf(resource, target, deletion, context));
};
