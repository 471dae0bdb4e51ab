import {KeyExists, RevisionMismatch} from '#src/storage/errors.js';
import type {Store, StoredRecord} from '#src/storage/store.js';

/**
 * Writes a record based on the current one; repeated when the record expires or another server writes it in between.
 */
const rewrite = async (store: Store, key: string, write: (record: StoredRecord | undefined) => Promise<unknown>): Promise<void> => {
  for (;;) {
    try {
      await write(await store.get(key));
      return;
    } catch (error) {
      if (!(error instanceof KeyExists || error instanceof RevisionMismatch)) throw error;
    }
  }
};

/** Writes a record that expires unless it is written again within the time. */
export const renewRecord = async (store: Store, key: string, value: Buffer, ttlSeconds: number): Promise<void> => {
  const lease = await store.lease(ttlSeconds, key);
  await rewrite(store, key, record => (record ? store.update(key, value, record.revision, {lease}) : store.create(key, value, {lease})));
};

/** Removes a record, if it is there. */
export const removeRecord = (store: Store, key: string): Promise<void> =>
  rewrite(store, key, async record => record && store.delete(record.key, record.revision));
