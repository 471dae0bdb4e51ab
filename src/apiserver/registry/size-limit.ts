import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {ValueTooLarge} from '#src/storage/errors.js';
import {encodeRecord} from './record.js';
import type {WriteContext} from './registry.js';

const withoutOwners = (object: KubeObject): KubeObject => {
  const {managedFields: _, ...metadata} = object.metadata!;
  return {...object, metadata};
};

/**
 * Writes an object. If it is too large for the store, writes it without its managed fields, which can be the larger part of it; except for an apply, which depends
 * on them.
 */
export const writeWithinSizeLimit = async <T>(
  object: KubeObject,
  {isOwnershipRecorded}: WriteContext,
  write: (value: Buffer) => Promise<T>,
): Promise<T> => {
  try {
    return await write(encodeRecord(object)).catch((error: unknown) => {
      if (!(error instanceof ValueTooLarge) || isOwnershipRecorded || !object.metadata?.managedFields) throw error;
      return write(encodeRecord(withoutOwners(object)));
    });
  } catch (error) {
    throw error instanceof ValueTooLarge ? plainFailure(error.message, error) : error;
  }
};
