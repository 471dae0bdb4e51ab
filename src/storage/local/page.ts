// Pages of a range: the bounds of a read, and the collection of records up to a number, a size or a number of filtered
// keys. Shared by the storage engines.

import type {RecordFilter, StoredRecord} from '#src/storage/store.js';

/** Bounds on the part of a range that is read. */
export interface Extent {
  /** The maximum number of records. */
  readonly limit: number;
  /** The page ends with the record that brings the values to this many bytes. */
  readonly bytes: number;
  /** Selects records; absent means all. */
  readonly filter?: RecordFilter | undefined;
}

export const everything: Extent = {limit: Infinity, bytes: Infinity};

/** Records of a range, in order, and whether more follow. */
export interface Page {
  readonly records: readonly StoredRecord[];
  readonly more: boolean;
  /** The last key that the filter examined. */
  readonly reached?: string | undefined;
}

/** The maximum number of keys that a filter examines for one page. */
export const maxFilteredKeys = 2000;

/** Parsing a record for a filter costs about as much as sending this many times its bytes. */
const parsingWeight = 4;

/** The same for reading its labels. */
const labelsWeight = 1;

/** Collects the records of a page. */
export class PageReader implements Page {
  readonly records: StoredRecord[] = [];
  readonly #extent: Extent;
  #bytes = 0;
  #examined = 0;
  more = false;
  reached: string | undefined;

  constructor(extent: Extent) {
    this.#extent = extent;
  }

  /** Returns whether a record is known not to pass and need not be read. Must not be called on a full page. */
  skips(key: string, revision: number): boolean {
    if (this.#extent.filter?.known(key, revision) !== false) return false;
    this.reached = key;
    this.#examined++;
    return true;
  }

  /** Adds a record. Returns false when the page is full: the record belongs to the next page. */
  add(record: StoredRecord): boolean {
    if (this.isFull) {
      this.more = true;
      return false;
    }
    if (this.#extent.filter && !this.#passes(this.#extent.filter, record)) return true;
    this.records.push(record);
    this.#bytes += record.value.length;
    return true;
  }

  get isFull(): boolean {
    return this.records.length >= this.#extent.limit || this.#bytes >= this.#extent.bytes || this.#examined >= maxFilteredKeys;
  }

  #passes(filter: RecordFilter, record: StoredRecord): boolean {
    const {key, revision, value} = record;
    this.reached = key;
    this.#examined++;
    const known = filter.known(key, revision);
    if (known !== undefined) return known;
    this.#bytes += (filter.parses === false ? labelsWeight : parsingWeight) * value.length;
    return filter.passes(record);
  }
}
