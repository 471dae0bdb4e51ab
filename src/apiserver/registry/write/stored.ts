import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {LeaseNotFound, ValueTooLarge} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {encodeRecord, recordObject} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import {reportChange, type Writing} from './recorded.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

/** An object as it is stored now; the revision is 0 for one that is not stored. */
export interface Stored {
  /** Parsed on first access: most callers need the bytes only. */
  readonly object: KubeObject;
  readonly value: Buffer;
  readonly revision: number;
}

/** A record that was written, with its object, which is made when it is first asked for. */
class WrittenRecord implements Stored {
  readonly value: Buffer;
  readonly revision: number;
  readonly #make: () => KubeObject;

  constructor(value: Buffer, revision: number, make: () => KubeObject) {
    this.value = value;
    this.revision = revision;
    this.#make = make;
  }

  get object(): KubeObject {
    return this.#make();
  }
}

/**
 * Writes an object to the store, as a new record or in place of `record`. Throws KeyExists or RevisionMismatch when
 * another writer was first. An object that is too large for the store is written without its managed fields, which can
 * be the larger part of it; except by an apply, which depends on them.
 */
export const writeRecord = async (
  resource: Resource,
  key: string,
  record: StoredRecord | undefined,
  object: KubeObject,
  context: WriteContext,
  isRepeated = false,
): Promise<Stored> => {
  const {objects, definition, settings, ref} = resource;
  const {store, readBack, leases, recorder} = settings;
  const ttlSeconds = definition.storage?.ttlSeconds?.(object, settings);
  const lease = ttlSeconds === undefined ? undefined : {lease: await leases.for(ttlSeconds, resource.root)};
  const written = encodeRecord(object);
  try {
    objects.beginWriting(key, written, object);
    const revision = await (record ? store.update(key, written, record.revision, lease) : store.create(key, written, lease));
    const type = record ? 'updated' : 'created';
    if (recorder)
      reportChange(recorder, ref, context, {type, object, revision, previous: record?.revision, before: record?.value, after: written});
    const value = readBack ? ((await readBack(key, written, revision)) ?? written) : written;
    return new WrittenRecord(value, revision, () =>
      value === written ? objects.written(key, value, revision, object) : objects.of(key, value, revision),
    );
  } catch (error) {
    // The servers of the store may end a lease early, for example after a jump of their clock.
    if (error instanceof LeaseNotFound && !isRepeated) {
      leases.forget();
      return writeRecord(resource, key, record, object, context, true);
    }
    if (!(error instanceof ValueTooLarge)) throw error;
    const {managedFields, ...metadata} = object.metadata!;
    if (!managedFields || context.isOwnershipRecorded) throw plainFailure(error.message, error);
    return writeRecord(resource, key, record, {...object, metadata}, context);
  } finally {
    objects.endWriting(key, written);
  }
};

/** Returns an object as it would be read if it were stored. */
export const unstored = async ({settings}: Resource, object: KubeObject, revision: number): Promise<Stored> => {
  const written = encodeRecord(object);
  const value = (await settings.wouldReadBack?.(written)) ?? written;
  if (value === written) return {object, value, revision};
  const shown = recordObject<KubeObject>(value, revision);
  delete shown.metadata?.resourceVersion;
  return {object: shown, value, revision};
};

/**
 * Replaces a record by an object without strategy and admission: the mark of a deletion, and the server's own changes.
 */
export const replaceRecord = async (
  resource: Resource,
  record: StoredRecord,
  object: KubeObject,
  context: Writing & {readonly dryRun: boolean},
): Promise<Stored> => {
  const {dryRun} = context;
  const value = encodeRecord(object);
  if (dryRun) return {object, value, revision: record.revision};
  const {objects, settings, ref} = resource;
  const {store, recorder} = settings;
  objects.beginWriting(record.key, value, object);
  try {
    const revision = await store.update(record.key, value, record.revision);
    if (recorder)
      reportChange(recorder, ref, context, {
        type: 'updated',
        object,
        revision,
        previous: record.revision,
        before: record.value,
        after: value,
      });
    const stored = await resource.object({...record, value, revision});
    return {object: stored, value, revision};
  } finally {
    objects.endWriting(record.key, value);
  }
};

/** The object under a resource version other than its own. */
export const atVersion = (object: Readonly<KubeObject>, revision: number): KubeObject => ({
  ...object,
  metadata: {...object.metadata, resourceVersion: String(revision)},
});
