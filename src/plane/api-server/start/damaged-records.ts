import type {Registry} from '#src/apiserver/registry/registry.js';
import {isPending} from '#src/base/eventually.js';
import type {Log} from '#src/base/log.js';
import {RevisionMismatch, ValueUnreadable} from '#src/storage/errors.js';
import type {Store} from '#src/storage/store.js';
import type {OwnObjects} from './own-objects.js';

export interface DamagedRecordParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly log: Log;
}

/** Returns the damage of a record; undefined for one that is whole, absent, or unreadable for another reason. */
const damageOf = async (store: Store, key: string): Promise<ValueUnreadable | undefined> => {
  try {
    const record = store.get(key);
    if (isPending(record)) await record;
    return undefined;
  } catch (error) {
    if (!(error instanceof ValueUnreadable)) throw error;
    return error.step === 'checksum' ? error : undefined;
  }
};

/**
 * Deletes those of the server's own objects whose records are damaged, so that its start hooks write them anew. Only
 * records whose checksum is wrong are deleted, which no later key, release or server could read; nothing is on a store
 * that servers share, or that has its records in memory.
 */
export const removeDamagedRecords = async ({store, registry, log}: DamagedRecordParts, own: () => readonly OwnObjects[]): Promise<void> => {
  if (store.shared || store.snapshot) return;
  for (const [kind, names] of own()) {
    const resource = registry.of(kind);
    for (const {namespace = '', name} of names) {
      const key = resource.key(namespace, name);
      const damage = await damageOf(store, key);
      if (damage?.revision === undefined) continue;
      const {revision} = damage;
      log.warn({err: damage, key, revision}, 'an object of this server is written anew, without what others have changed in it');
      await store.delete(key, revision).catch((error: unknown) => {
        if (!(error instanceof RevisionMismatch)) throw error;
      });
    }
  }
};
