import type {Eventually} from '#src/base/eventually.js';
import {
  sizeOfChange,
  type Commit,
  type GrantedLease,
  type History,
  type HistoryQuery,
  type KeyCount,
  type StorageEngine,
} from '#src/storage/local/engine.js';
import {isKeyInRange} from '#src/storage/local/keys.js';
import {PageReader, type Extent, type Page} from '#src/storage/local/page.js';
import {undo, type PreviousRecord} from '#src/storage/local/undo.js';
import type {Change, LeaseId, StoredRecord} from '#src/storage/store.js';
import {LayeredMap} from './layered-map.js';
import {SortedKeys} from './sorted-keys.js';

/** An empty store is at this revision, so that zero can mean "any". */
const firstRevision = 1;

/** The initial records of a cache of another store. */
export interface InitialState {
  readonly records: readonly StoredRecord[];
  /** The revision of the records. */
  readonly revision: number;
}

/** Keeps records in memory. */
export class MemoryEngine implements StorageEngine {
  #records = new LayeredMap<string, StoredRecord>();
  #keys = new SortedKeys();
  /** Every change since the last compaction, in order of revision. */
  #changes: Change[] = [];
  #revision: number;
  #compacted = 0;
  /** The changes of each key since the last compaction. */
  #changesByKey = new LayeredMap<string, Change[]>();
  #changedKeys = new SortedKeys();
  #keysByLease = new LayeredMap<LeaseId, Set<string>>();
  #bytes = 0;

  constructor(initial: InitialState = {records: [], revision: firstRevision}) {
    this.#revision = initial.revision;
    if (initial.revision > firstRevision) this.#compacted = initial.revision;
    for (const record of initial.records) this.#place(record.key, record, undefined);
  }

  /**
   * Returns an independent engine with the same records and history, which shares them until one of the two changes
   * them.
   */
  copy(): MemoryEngine {
    const copy = new MemoryEngine();
    copy.#records = this.#records.copy();
    copy.#keys = this.#keys.copy();
    copy.#changes = [...this.#changes];
    copy.#revision = this.#revision;
    copy.#compacted = this.#compacted;
    copy.#changesByKey = this.#changesByKey.copy();
    copy.#changedKeys = this.#changedKeys.copy();
    copy.#keysByLease = this.#keysByLease.copy();
    copy.#bytes = this.#bytes;
    return copy;
  }

  revision(): number {
    return this.#revision;
  }

  /** Advances to a revision without changes of these records. */
  advanceTo(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  compacted(): number {
    return this.#compacted;
  }

  get(key: string): StoredRecord | undefined {
    return this.#records.get(key);
  }

  held(key: string): StoredRecord | undefined {
    return this.#records.get(key);
  }

  range(start: string, end: string, extent: Extent): Page {
    const page = new PageReader(extent);
    for (const key of this.#keys.between(start, end)) if (!page.add(this.#records.get(key)!)) break;
    return page;
  }

  rangeAt(start: string, end: string, extent: Extent, revision: number): Page {
    return undo(this.#newest(start, end), this.#changedRecords(start, end, revision), extent);
  }

  count(start: string, end: string): KeyCount {
    return {count: this.#keys.count(start, end)};
  }

  history({start, end, after, upTo, scan, bytes}: HistoryQuery): History {
    const reached = Math.min(upTo, after + scan);
    const changes: Change[] = [];
    let size = 0;
    const last = this.#placeAfter(reached);
    for (let index = this.#placeAfter(after); index < last; index++) {
      const change = this.#changes[index]!;
      if (!isKeyInRange(change.key, start, end)) continue;
      changes.push(change);
      size += sizeOfChange(change);
      if (size >= bytes) return {changes, reached: change.revision};
    }
    return {changes, reached};
  }

  leases(): Iterable<GrantedLease> {
    return [];
  }

  keysUnder(lease: LeaseId, limit: number): string[] {
    return [...(this.#keysByLease.get(lease) ?? [])].slice(0, limit);
  }

  commit({changes, forgotten}: Commit): Eventually<void> {
    for (const change of changes) this.#apply(change);
    for (const lease of forgotten) this.#keysByLease.delete(lease);
  }

  compact(revision: number): void {
    const gone = this.#changes.slice(0, this.#placeAfter(revision));
    for (const {key, previous} of gone) {
      this.#bytes -= previous?.value.length ?? 0;
      const changes = this.#ownChanges(key)!;
      changes.shift();
      if (changes.length > 0) continue;
      this.#changesByKey.delete(key);
      this.#changedKeys.delete(key);
    }
    this.#changes = this.#changes.slice(gone.length);
    this.#compacted = revision;
  }

  size(): number {
    return this.#bytes;
  }

  close(): void {
    this.#records.clear();
    this.#changes = [];
  }

  #apply(change: Change): void {
    const {key, revision, record, previous} = change;
    this.#changes.push(change);
    this.#revision = revision;
    const changes = this.#ownChanges(key);
    if (changes) changes.push(change);
    else {
      this.#changesByKey.set(key, [change]);
      this.#changedKeys.add(key);
    }
    this.#place(key, record, previous);
  }

  /** Returns a key's list of changes, for modification. */
  #ownChanges(key: string): Change[] | undefined {
    const changes = this.#changesByKey.get(key);
    if (!changes || this.#changesByKey.isOwn(key)) return changes;
    const own = [...changes];
    this.#changesByKey.set(key, own);
    return own;
  }

  /** Returns a lease's set of keys, for modification. */
  #ownKeysUnder(lease: LeaseId): Set<string> | undefined {
    const keys = this.#keysByLease.get(lease);
    if (!keys || this.#keysByLease.isOwn(lease)) return keys;
    const own = new Set(keys);
    this.#keysByLease.set(lease, own);
    return own;
  }

  /** Returns the index of the first change after the revision. */
  #placeAfter(revision: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#changes[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #place(key: string, record: StoredRecord | undefined, previous: StoredRecord | undefined): void {
    if (record) this.#records.set(key, record);
    else this.#records.delete(key);
    if (record && !previous) this.#keys.add(key);
    if (!record) this.#keys.delete(key);
    this.#bytes += record?.value.length ?? 0;
    if (previous?.lease !== record?.lease) this.#move(key, previous?.lease, record?.lease);
  }

  #move(key: string, from: LeaseId | undefined, to: LeaseId | undefined): void {
    if (from !== undefined) this.#ownKeysUnder(from)?.delete(key);
    if (to === undefined) return;
    const keys = this.#ownKeysUnder(to);
    if (keys) keys.add(key);
    else this.#keysByLease.set(to, new Set([key]));
  }

  *#newest(start: string, end: string): Generator<PreviousRecord> {
    for (const key of this.#keys.between(start, end)) {
      const record = this.#records.get(key)!;
      yield {key, revision: record.revision, read: () => record};
    }
  }

  /**
   * The records at a revision of all keys that have changes, also of those that have not changed since: passing over
   * these would look for the next that has, through all keys of the range, for each page.
   */
  *#changedRecords(start: string, end: string, revision: number): Generator<PreviousRecord> {
    for (const key of this.#changedKeys.between(start, end)) {
      const changes = this.#changesByKey.get(key)!;
      const next = changes.at(-1)!.revision > revision ? changes.find(change => change.revision > revision) : undefined;
      const record = next ? next.previous : this.#records.get(key);
      yield {key, revision: record?.revision ?? 0, read: () => record};
    }
  }
}
