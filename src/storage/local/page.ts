import type {Sieve, StoredRecord} from '#src/storage/store.js';

/** How much of a range is read. */
export interface Extent {
  /** At most so many records. */
  readonly limit: number;
  /** The record with which the values reach so many bytes is the last. */
  readonly bytes: number;
  /** What lets records through; all pass without one. */
  readonly sieve?: Sieve | undefined;
}

export const everything: Extent = {limit: Infinity, bytes: Infinity};

/** Records of a range, in order, and whether there are more behind them. */
export interface Page {
  readonly records: readonly StoredRecord[];
  readonly more: boolean;
  /** The last key that a sieve has looked at. */
  readonly reached?: string | undefined;
}

/** A sieve looks at so many keys in one go, whatever it lets through. */
export const keysAtOnce = 2000;

/** A sieve that has to look into a record parses it, which takes as long as sending so many times its bytes. */
const parsingWeight = 4;

/** Collects the records of a page. */
export class PageReader implements Page {
  readonly records: StoredRecord[] = [];
  readonly #extent: Extent;
  #bytes = 0;
  #looked = 0;
  more = false;
  reached: string | undefined;

  constructor(extent: Extent) {
    this.#extent = extent;
  }

  /** Whether a record need not be read, since it is known not to pass. Not to be asked of a page that is full. */
  passesOver(key: string, revision: number): boolean {
    if (this.#extent.sieve?.known(key, revision) !== false) return false;
    this.reached = key;
    this.#looked++;
    return true;
  }

  /** False, and the record is left for the next page, when the page is full without it. */
  add(record: StoredRecord): boolean {
    if (this.isFull) {
      this.more = true;
      return false;
    }
    if (this.#extent.sieve && !this.#passes(this.#extent.sieve, record)) return true;
    this.records.push(record);
    this.#bytes += record.value.length;
    return true;
  }

  get isFull(): boolean {
    return this.records.length >= this.#extent.limit || this.#bytes >= this.#extent.bytes || this.#looked >= keysAtOnce;
  }

  #passes(sieve: Sieve, record: StoredRecord): boolean {
    const {key, revision, value} = record;
    this.reached = key;
    this.#looked++;
    const known = sieve.known(key, revision);
    if (known !== undefined) return known;
    this.#bytes += parsingWeight * value.length;
    return sieve.passes(record);
  }
}
