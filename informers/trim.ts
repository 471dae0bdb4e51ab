import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * Returns an object as caches keep it: with `apiVersion` and `kind`, which items of lists lack, and without
 * `managedFields`, which no controller reads.
 */
export const trimmed = <T extends KubeObject>(
  object: T,
  {apiVersion, kind}: {readonly apiVersion: string; readonly kind: string},
): Frozen<T> => {
  const {metadata} = object;
  if (object.kind && object.apiVersion && !metadata?.managedFields) return object as Frozen<T>;
  const copy = {apiVersion, kind, ...object};
  if (metadata?.managedFields) {
    const {managedFields: _, ...kept} = metadata;
    copy.metadata = kept;
  }
  return copy as Frozen<T>;
};

/** Returns the metadata of an object under its own kind: the server's response says `PartialObjectMetadata`. */
export const metadataOf = <T extends KubeObject>(
  {metadata}: T,
  {apiVersion, kind}: {readonly apiVersion: string; readonly kind: string},
): Frozen<T> => {
  const {managedFields: _, ...kept} = metadata ?? {};
  return {apiVersion, kind, metadata: kept} as unknown as Frozen<T>;
};

/** Freezes a value deeply, so that a change to a shared object throws. */
export const deepFrozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
};
