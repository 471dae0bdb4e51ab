import {statSync} from 'node:fs';
import {join} from 'node:path';
import {holdable, within} from '#src/storage/local/keys.js';
import type {Commit, GrantedLease, History, HistoryQuery, KeyCount, StorageEngine} from '#src/storage/local/engine.js';
import {PageReader, type Extent, type Page} from '#src/storage/local/page.js';
import {undo, type PreviousRecord} from '#src/storage/local/undo.js';
import type {Change, LeaseId, StoredRecord} from '#src/storage/store.js';
import {advanceRange, pageOf, type HotRange, type HotRanges, type KeyChange} from './hot-ranges.js';
import {
  decodeNumber,
  decodeRecord,
  encodeChange,
  encodeNumber,
  isDeletion,
  keyOf,
  keyUnder,
  leaseKey,
  leaseOf,
  previousOf,
  roomForMany,
  tables,
  underKey,
  type Room,
} from './layout.js';
import {RecentRecords} from './recent.js';
import {nothing, Writes, type Tree} from './writes.js';

/** An empty store is at this revision, so that zero can mean "any". */
const firstRevision = 1;

/** How many changes one commit of a compaction examines. */
const sweepBatch = 500;

/** Ranges of at most this many records allocate each value separately. */
const fewRecords = 100;

/** A cached range further behind is read again, since catching up is synchronous. */
const maxCatchUp = 1000;

export const metaKeys = {compacted: `${tables.meta}compacted`, swept: `${tables.meta}swept`} as const;
const newestFirst = {start: 2 ** 48 - 1, end: 0, reverse: true, limit: 1};
const endOfLease = (lease: string): string => `${lease}\u007f`;

/** Keeps records in an LMDB tree; see `layout.ts` for its layout. Only one process may open it. */
export class EmbeddedEngine implements StorageEngine {
  readonly #tree: Tree;
  readonly #directory: string;
  readonly #release: () => void;
  /** The newest revision known to be durable. */
  #durable: number;
  /** The last revision of the commit in progress, which becomes visible atomically. */
  #committing: number | undefined;
  readonly #recent = new RecentRecords();
  readonly #hot: HotRanges;
  /** Keys of the commit in progress: reads of them must not be cached. */
  readonly #uncommitted = new Set<string>();
  #compacted: number;
  #sweeping: Promise<void> = Promise.resolve();
  #closing = false;

  constructor(tree: Tree, directory: string, hot: HotRanges, release: () => void) {
    this.#tree = tree;
    this.#hot = hot;
    this.#directory = directory;
    this.#release = release;
    this.#compacted = this.#revisionAt(metaKeys.compacted);
    this.#durable = this.#newestRevision();
  }

  revision(): number {
    // A commit may be visible before it resolves.
    const committing = this.#committing;
    return committing !== undefined && this.#tree.doesExist(committing) ? committing : this.#durable;
  }

  compacted(): number {
    return this.#compacted;
  }

  get(key: string): StoredRecord | undefined {
    const recent = this.#recent.get(key);
    if (recent) return recent;
    if (!holdable(key)) return undefined;
    const revision = this.#revisionAt(tables.head + key);
    const record = revision === 0 ? undefined : this.#record(key, revision);
    if (record && !this.#uncommitted.has(key)) this.#recent.keep(record);
    return record;
  }

  range(start: string, end: string, extent: Extent): Page {
    if (extent.limit !== Infinity) return this.#read(start, end, extent);
    const newest = this.revision();
    const hot = this.#hot.find(start, end);
    if (hot && this.#catchUp(hot, newest)) return pageOf(hot, start, extent);
    const page = this.#read(start, end, extent);
    if (!extent.filter) this.#hot.recordRead(start, end, newest, page);
    return page;
  }

  #read(start: string, end: string, extent: Extent): Page {
    const page = new PageReader(extent);
    // A small page does not use a slab, which a single value would keep alive.
    const room = extent.limit > fewRecords ? roomForMany() : undefined;
    for (const {key, revision} of this.#walk(tables.head, start, end, extent.filter ? Infinity : extent.limit + 1)) {
      if (page.isFull) {
        page.more = true;
        break;
      }
      if (!page.skips(key, revision)) page.add(this.#record(key, revision, room)!);
    }
    return page;
  }

  /** Advances a cached range to the newest revision by history. Returns false when reading it again is less work. */
  #catchUp(range: HotRange, newest: number): boolean {
    const {start, end, at, records, changed} = range;
    if (at < this.#compacted || newest - at > Math.min(records.length, maxCatchUp) || changed > records.length) return false;
    const changes: KeyChange[] = [];
    for (let revision = at + 1; revision <= newest; revision++) {
      const bytes = this.#tree.getBinaryFast(revision);
      if (!bytes) continue;
      const key = keyOf(bytes);
      if (!within(key, start, end)) continue;
      changes.push({key, record: isDeletion(bytes) ? undefined : decodeRecord(key, revision, bytes, bytes.length)});
    }
    advanceRange(range, changes, newest);
    return true;
  }

  rangeAt(start: string, end: string, extent: Extent, revision: number): Page {
    if (extent.limit !== Infinity) return this.#readAt(start, end, extent, revision);
    const hot = this.#hot.find(start, end);
    if (hot?.at === revision) return pageOf(hot, start, extent);
    const page = this.#readAt(start, end, extent, revision);
    if (!extent.filter) this.#hot.recordRead(start, end, revision, page);
    return page;
  }

  #readAt(start: string, end: string, extent: Extent, revision: number): Page {
    return undo(this.#living(start, end, revision), this.#deleted(start, end, revision), extent);
  }

  count(start: string, end: string, most: number): KeyCount {
    const range = {start: tables.head + start, end: tables.head + end};
    const [next] = this.#tree.getKeys({...range, offset: most, limit: 1});
    return next === undefined ? {count: this.#tree.getKeysCount(range)} : {count: most, next: next as string};
  }

  history({start, end, after, upTo, scan}: HistoryQuery): History {
    const reached = Math.min(upTo, after + scan);
    const changes: Change[] = [];
    for (let revision = after + 1; revision <= reached; revision++) {
      const bytes = this.#tree.getBinaryFast(revision);
      if (!bytes) continue;
      const key = keyOf(bytes);
      if (!within(key, start, end)) continue;
      const before = previousOf(bytes);
      const record = isDeletion(bytes) ? undefined : decodeRecord(key, revision, bytes, bytes.length);
      changes.push({key, revision, record, previous: before === 0 ? undefined : this.#record(key, before)});
    }
    return {changes, reached};
  }

  leases(): GrantedLease[] {
    const all = this.#tree.getRange({start: tables.lease, end: tables.under});
    return Array.from(all, ({key, value}) => ({id: leaseOf(key as string), expiresAt: decodeNumber(value)}));
  }

  keysUnder(lease: LeaseId, limit: number): string[] {
    const start = underKey(lease, '');
    return Array.from(this.#tree.getKeys({start, end: endOfLease(start), limit}), key => keyUnder(key as string));
  }

  async commit({changes, granted, forgotten}: Commit): Promise<void> {
    const writes = new Writes(this.#tree);
    const deletions = new Map<string, number>();
    for (const change of changes) {
      this.#apply(writes, change, deletions);
      this.#recent.drop(change.key);
      this.#uncommitted.add(change.key);
    }
    for (const {id, expiresAt} of granted) writes.put(leaseKey(id), encodeNumber(expiresAt));
    for (const lease of forgotten) writes.remove(leaseKey(lease));
    const last = changes.at(-1)?.revision;
    if (last !== undefined) this.#committing = last;
    try {
      await writes.durable();
      this.#durable = last ?? this.#durable;
    } finally {
      if (last !== undefined) this.#committing = undefined;
      for (const {key} of changes) this.#uncommitted.delete(key);
    }
  }

  async compact(revision: number): Promise<void> {
    const writes = new Writes(this.#tree);
    writes.put(metaKeys.compacted, encodeNumber(revision));
    await writes.durable();
    this.#compacted = revision;
    await this.sweep();
  }

  /** Drops what compaction left to drop, also what an earlier process did not come to. */
  sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => this.#sweep());
    this.#sweeping = swept.catch(() => {});
    return swept;
  }

  async #sweep(): Promise<void> {
    for (let swept = this.#revisionAt(metaKeys.swept); swept < this.#compacted && !this.#closing;) {
      const upTo = Math.min(this.#compacted, swept + sweepBatch);
      const writes = new Writes(this.#tree);
      for (let revision = swept + 1; revision <= upTo; revision++) this.#forget(writes, revision);
      writes.put(metaKeys.swept, encodeNumber(upTo));
      await writes.durable();
      swept = upTo;
    }
  }

  size(): number {
    return statSync(join(this.#directory, 'data.mdb')).size;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#hot.close();
    await this.#sweeping;
    await this.#tree.close();
    this.#release();
  }

  #apply(writes: Writes, {key, revision, record, previous}: Change, deletions: Map<string, number>): void {
    let before = previous?.revision ?? 0;
    if (!previous) {
      // A creation links to the deletion before it, which may be part of this very commit.
      before = deletions.get(key) ?? this.#revisionAt(tables.gone + key);
      if (before !== 0) writes.remove(tables.gone + key);
    }
    writes.put(revision, encodeChange(key, record, before));
    if (record) writes.put(tables.head + key, encodeNumber(revision));
    else {
      writes.remove(tables.head + key);
      writes.put(tables.gone + key, encodeNumber(revision));
      deletions.set(key, revision);
    }
    if (previous?.lease === record?.lease) return;
    if (previous?.lease !== undefined) writes.remove(underKey(previous.lease, key));
    if (record?.lease !== undefined) writes.put(underKey(record.lease, key), nothing);
  }

  #forget(writes: Writes, revision: number): void {
    const bytes = this.#tree.getBinaryFast(revision);
    if (!bytes) return;
    const before = previousOf(bytes);
    if (before !== 0) writes.remove(before);
    if (!isDeletion(bytes)) return;
    const gone = tables.gone + keyOf(bytes);
    writes.remove(revision);
    if (this.#revisionAt(gone) === revision) writes.remove(gone);
  }

  #newestRevision(): number {
    for (const key of this.#tree.getKeys({...newestFirst})) return Math.max(Number(key), this.#compacted);
    return Math.max(firstRevision, this.#compacted);
  }

  /** The number that stands under a key, a revision mostly; zero if there is none. */
  #revisionAt(key: string): number {
    const bytes = this.#tree.getBinaryFast(key);
    return bytes ? decodeNumber(bytes) : 0;
  }

  #record(key: string, revision: number, room?: Room): StoredRecord | undefined {
    const bytes = this.#tree.getBinaryFast(revision);
    return bytes && !isDeletion(bytes) ? decodeRecord(key, revision, bytes, bytes.length, room) : undefined;
  }

  /** What a key held at revision `at`, found by going back from its change at `revision`. */
  #previousRecords(key: string, revision: number, at: number): PreviousRecord {
    let found = revision;
    while (found > at) {
      const bytes = this.#tree.getBinaryFast(found);
      found = bytes ? previousOf(bytes) : 0;
    }
    return {key, revision: found, read: () => (found === 0 ? undefined : this.#record(key, found))};
  }

  *#walk(table: string, start: string, end: string, limit = Infinity): Generator<{key: string; revision: number}, undefined> {
    for (const {key, value} of this.#tree.getRange({start: table + start, end: table + end, limit}))
      yield {key: key as string, revision: decodeNumber(value)};
  }

  *#living(start: string, end: string, at: number): Generator<PreviousRecord> {
    for (const {key, revision} of this.#walk(tables.head, start, end)) yield this.#previousRecords(key, revision, at);
  }

  *#deleted(start: string, end: string, at: number): Generator<PreviousRecord> {
    for (const {key, revision} of this.#walk(tables.gone, start, end)) yield this.#previousRecords(key, revision, at);
  }
}
