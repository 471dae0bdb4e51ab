import {invalid, invalidObject} from '#src/api/field-error.js';
import {conflict} from '#src/api/status.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {RevisionMismatch, ValueUnreadable} from '#src/storage/errors.js';
import {admitDeletion} from './admit-deletion.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

/**
 * Returns the revision of an object that cannot be decrypted or parsed; undefined for one that is readable or absent.
 */
const unreadableRevision = async (resource: Resource, key: string): Promise<number | undefined> => {
  try {
    const record = await resource.settings.store.get(key);
    if (!record) return undefined;
    try {
      resource.objects.of(record.key, record.value, record.revision);
      return undefined;
    } catch {
      return record.revision;
    }
  } catch (error) {
    if (error instanceof ValueUnreadable && error.revision !== undefined) return error.revision;
    throw error;
  }
};

/**
 * Removes an object that cannot be read from the store (KEP-3926): without preconditions, finalizers and grace period,
 * since they cannot be known either. Admission sees only its name. Throws 422 for an object that can be read, or that
 * does not exist.
 */
export const deleteUnreadable = async (
  resource: Resource,
  namespace: string,
  name: string,
  options: DeleteOptions,
  context: WriteContext,
): Promise<void> => {
  const {settings, apiVersion, definition} = resource;
  const ref = resource.refIn(context.served);
  const key = resource.key(namespace, name);
  const revision = await unreadableRevision(resource, key);
  if (revision === undefined)
    throw invalidObject({group: ref.group, kind: ref.resource}, name, [
      invalid(unsafeDeletionField, true, 'is exclusively used to delete corrupt object(s), try again by removing this option'),
    ]);
  const oldObject: KubeObject = {apiVersion, kind: definition.kind.kind, metadata: {name, ...(namespace ? {namespace} : {})}};
  await admitDeletion(resource, {namespace, name, oldObject}, options, context);
  try {
    await settings.store.delete(key, revision);
  } catch (error) {
    if (error instanceof RevisionMismatch) throw conflict(ref, name, 'the object has been modified; please try again');
    throw error;
  }
};

/** The option that asks for it. */
export const unsafeDeletionField = 'ignoreStoreReadErrorWithClusterBreakingPotential';
