import {OwnedCaches} from '#src/base/cache-bound.js';
import type {StoredRecord} from '#src/storage/store.js';

/** Each list may keep as much. */
const ownBytes = 1 << 20;

/** What all lists together keep beyond that. */
class RecordsBound {
  readonly maxBytes = 32 << 20;
  bytes = 0;
}

const bound = new RecordsBound();
new OwnedCaches<RecordsBound>('list_records', owner => owner).add(bound);

interface Held {
  bytes: number;
}

const release = (held: Held): void => {
  bound.bytes -= held.bytes;
  held.bytes = 0;
};

/** A response that is given up before it is sent is not always disposed of. */
const abandoned = new FinalizationRegistry<Held>(release);

/**
 * The records of a limited page that are kept while its end is searched, so that they are not read once more to be
 * sent. They are taken in pieces.
 */
export class PageRecords implements Disposable {
  readonly #pieceBytes: number;
  #pieces: StoredRecord[][] = [];
  #bytesOfLast = Infinity;
  readonly #held: Held = {bytes: 0};
  /** The bytes and the number of all records that were added. */
  bytes = 0;
  count = 0;

  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
    abandoned.register(this, this.#held);
  }

  /** Whether the records are many, for one body. */
  get isLong(): boolean {
    return this.bytes >= ownBytes;
  }

  /** All records that were not taken. */
  get records(): readonly StoredRecord[] {
    return this.#pieces.flat();
  }

  /** Adds the next records. Returns false, and adds none, if all lists together keep too much. */
  add(records: readonly StoredRecord[]): boolean {
    let added = 0;
    for (const {value} of records) added += value.length;
    const more = Math.max(0, this.bytes + added - ownBytes) - this.#held.bytes;
    if (more > 0 && bound.bytes + more > bound.maxBytes) return false;
    this.#held.bytes += more;
    bound.bytes += more;
    this.bytes += added;
    this.count += records.length;
    if (this.#bytesOfLast >= this.#pieceBytes) {
      this.#pieces.push([]);
      this.#bytesOfLast = 0;
    }
    const last = this.#pieces.at(-1)!;
    for (const record of records) last.push(record);
    this.#bytesOfLast += added;
    return true;
  }

  /** Removes and returns the next piece; undefined after the last. */
  take(): readonly StoredRecord[] | undefined {
    const piece = this.#pieces.shift();
    if (this.#pieces.length === 0) release(this.#held);
    return piece;
  }

  [Symbol.dispose](): void {
    this.#pieces = [];
    release(this.#held);
  }
}
