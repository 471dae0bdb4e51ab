// The errors of reads that meet objects which cannot be read: their records are damaged, or cannot be decrypted. With
// the gate AllowUnsafeMalformedObjectDeletion they name the objects, so that those can be deleted (KEP-3926).

import {damagedRecordCause, hasCause, plainFailure, statusError, StatusError} from '#src/api/status.js';
import {ValueUnreadable} from '#src/storage/errors.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import {keyAfter} from './continue-token.js';

/** How many objects the error of a list names. */
const maxNamed = 100;
/** How many records are read at once to find them. */
const pageSize = 500;

const isNaming = ({settings}: Resource): boolean => settings.gate('AllowUnsafeMalformedObjectDeletion');

/** The original's text for a corrupt object, with the number that it has for this error. */
const corruptText = ({key, revision = 0, step, message}: ValueUnreadable): string => {
  const what = step === 'transform' ? 'data from the storage is not transformable revision=0' : `object not decodable revision=${revision}`;
  return `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${what}: ${message}`;
};

/** Returns the error of a read of one object. */
export const objectError = (resource: Resource, error: unknown): unknown => {
  if (!(error instanceof ValueUnreadable) || error.key === undefined) return error;
  if (isNaming(resource)) return plainFailure(corruptText(error), error);
  if (error.step === 'checksum') return damagedRecord(error);
  return error.step === 'decode' ? plainFailure(error.message, error) : error;
};

/** Whether a read failed, of the store or of this server, because of an object that cannot be read. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof ValueUnreadable ||
  (error instanceof StatusError && (error.reason === 'StorageReadError' || hasCause(error, damagedRecordCause)));

/** Returns the error of a start: for a damaged record it says what helps. */
export const startError = (error: unknown): unknown =>
  error instanceof ValueUnreadable && error.step === 'checksum' ? damagedRecord(error) : error;

/**
 * The error of a record that is damaged for good. It says what helps, and has a cause of its own by which clients tell
 * it from errors that pass.
 */
const damagedRecord = (error: ValueUnreadable): StatusError => {
  const {message, key = ''} = error;
  const helps = 'restore a snapshot (plat snapshot restore), or delete it with --feature-gates=AllowUnsafeMalformedObjectDeletion=true';
  return plainFailure(`${message}: ${helps}`, error, {causes: [{reason: damagedRecordCause, field: key, message}]});
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
