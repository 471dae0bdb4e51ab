import type {RecordFilter, StoredRecord} from '#src/storage/store.js';

/** How much of a range is read. */
export interface Extent {
  /** At most so many records. */
  readonly limit: number;
  /** The record with which the values reach so many bytes is the last. */
  readonly bytes: number;
  /** What lets records through; all pass without one. */
  readonly filter?: RecordFilter | undefined;
}

export const everything: Extent = {limit: Infinity, bytes: Infinity};

/** Records of a range, in order, and whether there are more behind them. */
export interface Page {
  readonly records: readonly StoredRecord[];
  readonly more: boolean;
  /** The last key that a filter has looked at. */
  readonly reached?: string | undefined;
}

/** A filter looks at so many keys in one go, whatever it lets through. */
export const maxFilteredKeys = 2000;

/** A filter that has to look into a record parses it, which takes as long as sending so many times its bytes. */
const parsingWeight = 4;

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

  /** Whether a record need not be read, since it is known not to pass. Not to be asked of a page that is full. */
  skips(key: string, revision: number): boolean {
    if (this.#extent.filter?.known(key, revision) !== false) return false;
    this.reached = key;
    this.#examined++;
    return true;
  }

  /** False, and the record is left for the next page, when the page is full without it. */
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
    this.#bytes += parsingWeight * value.length;
    return filter.passes(record);
  }
}
