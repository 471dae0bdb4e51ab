import type {StoredRecord} from '#src/storage/store.js';
import {compareKeys} from './keys.js';
import {PageReader, type Extent, type Page} from './page.js';

/** A key that changed after the revision read at, and what it was then. */
export interface Former {
  readonly key: string;
  readonly record: StoredRecord | undefined;
}

/** A page of the newest records with later changes undone: two walks in key order merged. */
export const undo = (newest: Iterator<StoredRecord>, former: Iterator<Former>, extent: Extent): Page => {
  const page = new PageReader(extent);
  let now = newest.next();
  let then = former.next();
  while (!(now.done && then.done)) {
    const order = now.done ? 1 : then.done ? -1 : compareKeys(now.value.key, then.value.key);
    const record = order < 0 ? (now.value as StoredRecord) : (then.value as Former).record;
    if (record && !page.add(record)) break;
    if (order <= 0) now = newest.next();
    if (order >= 0) then = former.next();
  }
  // A walk that is left in the middle would keep its cursor.
  newest.return?.();
  former.return?.();
  return page;
};
