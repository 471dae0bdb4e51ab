import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** What a cache keeps of an object: with its kind, which lists leave out, and without the managers of its fields, which no controller reads. */
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

/** The metadata of an object, told as of its own kind: what says it is metadata alone does not say of what. */
export const metadataOf = <T extends KubeObject>(
  {metadata}: T,
  {apiVersion, kind}: {readonly apiVersion: string; readonly kind: string},
): Frozen<T> => {
  const {managedFields: _, ...kept} = metadata ?? {};
  return {apiVersion, kind, metadata: kept} as unknown as Frozen<T>;
};

/** Freezes a value and everything in it, so that a change to a shared object is an error where it happens. */
export const deepFrozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
};
