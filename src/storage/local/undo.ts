import type {StoredRecord} from '#src/storage/store.js';
import {compareKeys} from './keys.js';
import {PageReader, type Extent, type Page} from './page.js';

/** What a key held at the revision read at. */
export interface PreviousRecord {
  readonly key: string;
  /** That of the record. */
  readonly revision: number;
  /** Undefined where there was nothing. */
  read(): StoredRecord | undefined;
}

/** A page of the newest records with later changes undone: two walks in key order merged, that of keys that are there now and that of keys that changed later. */
export const undo = (newest: Iterator<PreviousRecord>, changed: Iterator<PreviousRecord>, extent: Extent): Page => {
  const page = new PageReader(extent);
  let now = newest.next();
  let then = changed.next();
  while (!(now.done && then.done)) {
    const order = now.done ? 1 : then.done ? -1 : compareKeys(now.value.key, then.value.key);
    const {key, revision, read} = (order < 0 ? now.value : then.value) as PreviousRecord;
    if (page.isFull || !page.skips(key, revision)) {
      const record = read();
      if (record && !page.add(record)) break;
    }
    if (order <= 0) now = newest.next();
    if (order >= 0) then = changed.next();
  }
  // A walk that is left in the middle would keep its cursor.
  newest.return?.();
  changed.return?.();
  return page;
};
