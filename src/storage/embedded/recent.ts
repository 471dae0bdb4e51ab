import {OwnedCaches} from '#src/base/cache-bound.js';
import type {StoredRecord} from '#src/storage/store.js';

/** The bytes of values kept in each of the two generations, and of the largest value kept at all. */
const generationBytes = 1 << 20;
const maxValueBytes = 16 << 10;

const recordCaches = new OwnedCaches<RecentRecords>('store_recent_records', recent => ({
  bytes: recent.bytes,
  maxBytes: 2 * (generationBytes + maxValueBytes),
}));

/**
 * The records read most recently, within bounds. Clients tend to read a record again, or update it, soon after. An
 * entry is dropped before its key is written.
 */
export class RecentRecords {
  #young = new Map<string, StoredRecord>();
  #old = new Map<string, StoredRecord>();
  #bytes = 0;
  #oldBytes = 0;

  constructor() {
    recordCaches.add(this);
  }

  get bytes(): number {
    return this.#bytes + this.#oldBytes;
  }

  get(key: string): StoredRecord | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  keep(record: StoredRecord): void {
    const {length} = record.value;
    if (length > maxValueBytes) return;
    this.#young.set(record.key, record);
    this.#bytes += length + record.key.length;
    if (this.#bytes < generationBytes) return;
    this.#old = this.#young;
    this.#oldBytes = this.#bytes;
    this.#young = new Map();
    this.#bytes = 0;
  }

  drop(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
