import {conflict, type ResourceRef} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Preconditions} from '#src/api/writer.js';
import type {Resource} from '#src/apiserver/registry/resource.js';

/**
 * The resource in the error, and whether the write is a dry run, whose error shows the key without the prefix of the
 * store.
 */
interface Refusal {
  readonly ref: ResourceRef;
  readonly dryRun: boolean;
}

/**
 * Throws 409, with the message of the original's store, unless the uid and resourceVersion that a writer requires are
 * those of the stored object.
 */
export const checkPreconditions = (
  {settings}: Resource,
  key: string,
  requested: Preconditions,
  {metadata}: Readonly<KubeObject>,
  {ref, dryRun}: Refusal,
): void => {
  const refuse = (field: string, given: string, found: string | undefined) =>
    conflict(
      ref,
      metadata?.name ?? '',
      `StorageError: invalid object, Code: 4, Key: ${dryRun ? key.slice(settings.prefix.length) : key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${found}`,
    );
  if (requested.uid && requested.uid !== metadata?.uid) throw refuse('UID', requested.uid, metadata?.uid);
  if (requested.resourceVersion && requested.resourceVersion !== metadata?.resourceVersion)
    throw refuse('ResourceVersion', requested.resourceVersion, metadata?.resourceVersion);
};
