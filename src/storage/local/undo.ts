import type {StoredRecord} from '#src/storage/store.js';
import {compareKeys} from './keys.js';

/** A key that changed after the revision read at, and what it was then. */
export interface Former {
  readonly key: string;
  readonly record: StoredRecord | undefined;
}

/** The newest records with later changes undone: two walks in key order merged into at most `limit` records. */
export const undo = (newest: Iterator<StoredRecord>, former: Iterator<Former>, limit: number): StoredRecord[] => {
  const records: StoredRecord[] = [];
  let now = newest.next();
  let then = former.next();
  while (records.length < limit && !(now.done && then.done)) {
    const order = now.done ? 1 : then.done ? -1 : compareKeys(now.value.key, then.value.key);
    const record = order < 0 ? (now.value as StoredRecord) : (then.value as Former).record;
    if (record) records.push(record);
    if (order <= 0) now = newest.next();
    if (order >= 0) then = former.next();
  }
  return records;
};
