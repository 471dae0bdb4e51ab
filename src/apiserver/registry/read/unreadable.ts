// The errors of reads that meet objects which cannot be read: their records are damaged, or cannot be decrypted. With the gate
// AllowUnsafeMalformedObjectDeletion they name the objects, so that those can be deleted (KEP-3926).

import {plainFailure, statusError} from '#src/api/status.js';
import {ValueUnreadable} from '#src/storage/errors.js';
import type {Resource} from '#src/apiserver/registry/registry.js';
import {keyAfter} from './continue-token.js';

/** How many objects the error of a list names. */
const maxNamed = 100;
/** How many records are read at once to find them. */
const pageSize = 500;

const isNaming = ({settings}: Resource): boolean => settings.gate('AllowUnsafeMalformedObjectDeletion');

/** The original's text for a corrupt object, with the number that it has for this error. */
const corruptText = ({key, revision = 0, step, message}: ValueUnreadable): string => {
  const what = step === 'decode' ? `object not decodable revision=${revision}` : 'data from the storage is not transformable revision=0';
  return `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${what}: ${message}`;
};

/** Returns the error of a read of one object. */
export const objectError = (resource: Resource, error: unknown): unknown => {
  if (!(error instanceof ValueUnreadable) || error.key === undefined) return error;
  if (isNaming(resource)) return plainFailure(corruptText(error), error);
  return error.step === 'decode' ? plainFailure(error.message, error) : error;
};

/** Returns the error of a list of a range of keys. With the gate it names the unreadable objects of the range. */
export const listError = async (
  resource: Resource,
  {start, end}: {readonly start: string; readonly end: string},
  error: unknown,
): Promise<unknown> => {
  if (!(error instanceof ValueUnreadable) || !isNaming(resource)) return objectError(resource, error);
  const {ref} = resource;
  const named: {reason: string; message: string; field?: string}[] = [];
  for await (const found of unreadableIn(resource, start, end)) {
    if (named.length === maxNamed) {
      named.push({reason: 'FieldValueTooMany', message: 'too many errors, the list is truncated'});
      break;
    }
    named.push({reason: 'UnexpectedServerResponse', message: corruptText(found), field: found.key ?? ''});
  }
  if (named.length === 0) return error;
  return statusError(
    'StorageReadError',
    `failed to read one or more ${ref.group ? `${ref.resource}.${ref.group}` : ref.resource} from the storage`,
    {
      details: {name: 'list', ...(ref.group ? {group: ref.group} : {}), kind: ref.resource, causes: named},
      cause: error,
    },
  );
};

/** Finds the unreadable records of a range, in pages. */
async function* unreadableIn({settings: {store}}: Resource, start: string, end: string): AsyncGenerator<ValueUnreadable> {
  for (let from = start; ;) {
    try {
      const {records, more} = await store.range({start: from, end, limit: pageSize});
      if (!more || records.length === 0) return;
      from = keyAfter(records.at(-1)!.key);
    } catch (error) {
      if (!(error instanceof ValueUnreadable) || error.key === undefined) throw error;
      yield error;
      from = keyAfter(error.key);
    }
  }
}
