import type {StoredRecord} from '#src/storage/store.js';
import {compareKeys} from './keys.js';
import {PageReader, type Extent, type Page} from './page.js';

/** The record of a key at the revision that is read. */
export interface PreviousRecord {
  readonly key: string;
  /** The record's revision. */
  readonly revision: number;
  /** Returns undefined if the key did not exist. */
  read(): StoredRecord | undefined;
}

/**
 * Returns a page of records at an earlier revision, by merging two walks in key order: of the current keys and of the
 * keys that changed later.
 */
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
  // Releases the cursors of unfinished walks.
  newest.return?.();
  changed.return?.();
  return page;
};
