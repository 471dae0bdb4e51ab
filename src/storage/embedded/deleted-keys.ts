import {OwnedCaches} from '#src/base/cache-bound.js';
import {endOfPrefix} from '#src/storage/store.js';
import {tables} from './layout.js';
import type {RecordTree} from './record-tree.js';

/** How many collections are remembered. */
const maxCollections = 1024;
const maxBytes = 256 << 10;

const deletedKeys = new OwnedCaches<DeletedKeys>('store_deleted_keys', ({bytes}) => ({bytes, maxBytes}));

/**
 * The deletions that history still has. Every creation links to the deletion of its key before, and in most collections nothing was deleted of late: those are
 * remembered, and need no search of the tree.
 */
export class DeletedKeys {
  readonly #records: RecordTree;
  /** Whether a collection, a prefix that ends with a slash, may have deletions. */
  readonly #collections = new Map<string, boolean>();
  bytes = 0;

  constructor(records: RecordTree) {
    this.#records = records;
    deletedKeys.add(this);
  }

  /** Returns the revision at which a key was deleted; zero if it was not, or before history begins. */
  at(key: string): number {
    return this.#mayHave(collectionOf(key)) ? this.#records.revisionAt(tables.gone + key) : 0;
  }

  /** Called before the deletion of a key is written. */
  deleted(key: string): void {
    const collection = collectionOf(key);
    if (!this.#collections.get(collection)) this.#remember(collection, true);
  }

  #mayHave(collection: string): boolean {
    if (collection === '') return true;
    let known = this.#collections.get(collection);
    if (known === undefined) this.#remember(collection, (known = this.#records.anyIn(tables.gone, collection, endOfPrefix(collection))));
    return known;
  }

  #remember(collection: string, mayHave: boolean): void {
    if (this.#collections.size >= maxCollections || this.bytes + collection.length > maxBytes) {
      this.#collections.clear();
      this.bytes = 0;
    }
    if (!this.#collections.has(collection)) this.bytes += collection.length;
    this.#collections.set(collection, mayHave);
  }
}

const collectionOf = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1);
