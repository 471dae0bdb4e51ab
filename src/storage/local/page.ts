import type {StoredRecord} from '#src/storage/store.js';

/** How much of a range is read. */
export interface Extent {
  /** At most so many records. */
  readonly limit: number;
  /** The record with which the values reach so many bytes is the last. */
  readonly bytes: number;
}

export const everything: Extent = {limit: Infinity, bytes: Infinity};

/** Records of a range, in order, and whether there are more behind them. */
export interface Page {
  readonly records: readonly StoredRecord[];
  readonly more: boolean;
}

/** Collects the records of a page. */
export class PageReader implements Page {
  readonly records: StoredRecord[] = [];
  readonly #extent: Extent;
  #bytes = 0;
  more = false;

  constructor(extent: Extent) {
    this.#extent = extent;
  }

  /** False, and the record is left out, when the page is full without it. */
  add(record: StoredRecord): boolean {
    if (this.isFull) {
      this.more = true;
      return false;
    }
    this.records.push(record);
    this.#bytes += record.value.length;
    return true;
  }

  get isFull(): boolean {
    return this.records.length >= this.#extent.limit || this.#bytes >= this.#extent.bytes;
  }
}
