import {statSync} from 'node:fs';
import {join} from 'node:path';
import {holdable, within} from '#src/storage/local/keys.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {Compacted, StoreFull, ValueUnreadable} from '#src/storage/errors.js';
import {
  sizeOfChange,
  type Commit,
  type EngineChange,
  type GrantedLease,
  type HeldRecord,
  type History,
  type HistoryQuery,
  type KeyCount,
  type StorageEngine,
} from '#src/storage/local/engine.js';
import {PageReader, type Extent, type Page} from '#src/storage/local/page.js';
import {undo, type PreviousRecord} from '#src/storage/local/undo.js';
import type {LeaseId, RecordFilter, RevisionNote, StoredRecord} from '#src/storage/store.js';
import {EmptyRanges} from './empty-ranges.js';
import {FoundKeys, type Found} from './found-keys.js';
import {HistoryBound} from './history-bound.js';
import {advanceRange, pageOf, type HotRange, type HotRanges, type KeyChange} from './hot-ranges.js';
import {
  decodeHead,
  decodeMeta,
  decodeNumber,
  decodeRevision,
  decodeValue,
  encodeChange,
  encodeNumber,
  isLease,
  keyUnder,
  leaseKey,
  leaseOf,
  roomForMany,
  tables,
  underKey,
  type ChangeHead,
  type Room,
} from './layout.js';
import {FileDamaged} from './pages.js';
import {RecentRecords} from './recent.js';
import {nothing, Writes, type Tree} from './writes.js';

/** An empty store is at this revision, so that zero can mean "any". */
const firstRevision = 1;

/** How many bytes must find space before a full disk counts as usable again. */
const probeBytes = 256 << 10;

const lostMessage = 'another process has claimed the data directory, or its lock file was replaced: this one does not write to it any more';

/** How many changes one commit of a compaction examines. */
const sweepBatch = 500;

/** Ranges of at most this many records allocate each value separately. */
const fewRecords = 100;

/** A cached range further behind is read again, since catching up is synchronous. */
const maxCatchUp = 1000;

/** The same for the records of a range that changed since a filter was applied to it, each of which may have to be parsed. */
const maxRefiltered = 50;

export const metaKeys = {
  compacted: `${tables.meta}compacted`,
  swept: `${tables.meta}swept`,
  noted: `${tables.meta}noted`,
  notedAt: `${tables.meta}noted-at`,
  probe: `${tables.meta}probe`,
} as const;
/** The page of a range that holds nothing. */
const noRecords: Page = {records: [], more: false};

const newestFirst = {start: 2 ** 48 - 1, end: 0, reverse: true, limit: 1};
const endOfLease = (lease: string): string => `${lease}\u007f`;

interface EngineParts {
  readonly directory: string;
  readonly hot: HotRanges;
  readonly log: Log;
  readonly clock: Clock;
  /** The bound on the bytes of history; zero for none. */
  readonly historyBytes: number;
  /** Whether another process may have opened the store, since its lock file was replaced. */
  readonly isLockReplaced: () => boolean;
  /** Called once the tree is closed. */
  release(): void;
}

/** Keeps records in an LMDB tree; see `layout.ts` for its layout. Only one process may open it. */
export class EmbeddedEngine implements StorageEngine {
  readonly #tree: Tree;
  readonly #directory: string;
  readonly #release: () => void;
  readonly #log: Log;
  readonly #isLockReplaced: () => boolean;
  /** Whether another process has claimed the store. */
  #isLost = false;
  /** Whether the last write found no space. */
  #isFull = false;
  /** The newest revision known to be durable. */
  #durable: number;
  /** The last revision of the commit in progress, which becomes visible atomically. */
  #committing: number | undefined;
  readonly #recent = new RecentRecords();
  readonly #hot: HotRanges;
  readonly #empty = new EmptyRanges();
  readonly #found = new FoundKeys();
  /** Keys of the commit in progress: reads of them must not be cached. */
  readonly #uncommitted = new Set<string>();
  #compacted: number;
  #sweeping: Promise<void> = Promise.resolve();
  #compacting: Promise<void> = Promise.resolve();
  readonly #bound: HistoryBound;
  #closing = false;

  constructor(tree: Tree, {directory, hot, release, log, clock, historyBytes, isLockReplaced}: EngineParts) {
    this.#tree = tree;
    this.#hot = hot;
    this.#directory = directory;
    this.#release = release;
    this.#isLockReplaced = isLockReplaced;
    this.#log = log;
    this.#compacted = this.#meta(metaKeys.compacted);
    this.#durable = this.#newestRevision();
    this.#bound = new HistoryBound(
      {
        revision: () => this.revision(),
        compacted: () => this.#compacted,
        freedAt: revision => this.#freedAt(revision),
        sweep: () => this.sweep(),
        compact: revision => this.compact(revision),
      },
      {clock, log, maxBytes: historyBytes, swept: this.#meta(metaKeys.swept)},
    );
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

  held(key: string): HeldRecord | undefined {
    try {
      return this.get(key);
    } catch (damage) {
      if (!(damage instanceof ValueUnreadable)) throw damage;
      const revision = this.#revisionAt(tables.head + key);
      const head = this.#ownHead(key, revision);
      return {key, value: nothing, revision, created: head?.created ?? 0, lease: head?.lease, damage};
    }
  }

  range(start: string, end: string, extent: Extent): Page {
    if (this.#empty.has(start, end)) return noRecords;
    if (extent.filter?.id !== undefined) return this.#rangeOf(extent.filter, start, end, extent);
    if (extent.limit !== Infinity) return this.#readNewest(start, end, extent);
    const newest = this.revision();
    const hot = this.#hot.find(start, end);
    if (hot && this.#catchUp(hot, newest)) return pageOf(hot, start, extent);
    const page = this.#readNewest(start, end, extent);
    if (!extent.filter) this.#hot.recordRead(start, end, newest, page);
    return page;
  }

  /** Reads what a filter lets through: from what it found last and the changes since, where that is known. */
  #rangeOf(filter: RecordFilter, start: string, end: string, extent: Extent): Page {
    const id = filter.id!;
    const newest = this.revision();
    const found = this.#found.find(id, start, end);
    if (found && this.#catchUpFound(filter, found, newest)) return this.#pageOf(this.#newestOf(found.keys), extent, found.keys.length);
    if (found) this.#found.forget(id, found);
    const page = this.#readNewest(start, end, extent);
    this.#found.recordRead(id, {start, end, at: newest}, page);
    return page;
  }

  /** Returns false where filtering the range again is less work. */
  #catchUpFound(filter: RecordFilter, found: Found, newest: number): boolean {
    const {at, start, end} = found;
    if (at < this.#compacted || newest - at > maxCatchUp) return false;
    const changed = new Set<string>();
    for (const {head} of this.#changesIn({start, end, after: at}, newest)) {
      // A read of the range decides what the damage means for it.
      if (!head || changed.add(head.key).size > maxRefiltered) return false;
    }
    if (changed.size > 0) this.#found.advance(filter.id!, found, this.#refiltered(filter, changed), newest);
    else found.at = newest;
    return true;
  }

  *#refiltered(filter: RecordFilter, keys: Iterable<string>): Generator<readonly [key: string, passes: boolean]> {
    for (const {key, revision} of this.#newestOf(keys)) {
      yield [key, revision !== 0 && (filter.known(key, revision) ?? filter.passes(this.#record(key, revision)))];
    }
  }

  *#newestOf(keys: Iterable<string>): Generator<{key: string; revision: number}, undefined> {
    for (const key of keys) yield {key, revision: this.#revisionAt(tables.head + key)};
  }

  #readNewest(start: string, end: string, extent: Extent): Page {
    const page = this.#read(start, end, extent);
    if (page.records.length === 0 && !page.more && !extent.filter && !this.#isWriting(start, end)) this.#empty.add(start, end);
    return page;
  }

  /** Whether the commit in progress, which reads may not see yet, writes in a range. */
  #isWriting(start: string, end: string): boolean {
    for (const key of this.#uncommitted) if (within(key, start, end)) return true;
    return false;
  }

  #read(start: string, end: string, extent: Extent): Page {
    return this.#pageOf(this.#walk(tables.head, start, end, extent.filter ? Infinity : extent.limit + 1), extent, extent.limit);
  }

  /** The page of the first of at most so many records. */
  #pageOf(records: Iterable<{readonly key: string; readonly revision: number}>, extent: Extent, most: number): Page {
    const page = new PageReader(extent);
    // A small page does not use a slab, which a single value would keep alive.
    const room = most > fewRecords ? roomForMany() : undefined;
    for (const {key, revision} of records) {
      if (page.isFull) {
        page.more = true;
        break;
      }
      if (!page.skips(key, revision)) page.add(this.#record(key, revision, room));
    }
    return page;
  }

  /** Advances a cached range to the newest revision by history. Returns false when reading it again is less work. */
  #catchUp(range: HotRange, newest: number): boolean {
    const {start, end, at, records, changed} = range;
    if (at < this.#compacted || newest - at > Math.min(records.length, maxCatchUp) || changed > records.length) return false;
    const changes: KeyChange[] = [];
    for (const {revision, bytes, head} of this.#changesIn({start, end, after: at}, newest)) {
      // A read of the range decides what the damage means for it.
      if (!head) return false;
      const {key} = head;
      const record = head.isDeletion ? undefined : recordOf(head, revision, bytes);
      if (!record && !head.isDeletion) return false;
      changes.push({key, record});
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
    else if (extent.filter.id !== undefined) this.#found.recordRead(extent.filter.id, {start, end, at: revision}, page);
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

  history({start, end, after, upTo, scan, bytes: most}: HistoryQuery): History {
    let size = 0;
    const reached = Math.min(upTo, after + scan);
    const changes: EngineChange[] = [];
    for (const {revision, bytes, head} of this.#changesIn({start, end, after}, reached)) {
      // It may be of any key: nobody can go on from before it.
      if (!head) throw new Compacted(revision);
      const read = this.#engineChange(revision, head, bytes);
      changes.push(read);
      size += sizeOfChange(read);
      if (size >= most) return {changes, reached: revision};
    }
    return {changes, reached};
  }

  #engineChange(revision: number, head: ChangeHead, bytes: Buffer): EngineChange {
    const {key, isDeletion, previous} = head;
    const record = isDeletion ? undefined : recordOf(head, revision, bytes);
    if (!record && !isDeletion) return {key, revision, damage: ValueUnreadable.damaged(key, revision)};
    try {
      return {key, revision, record, previous: this.#recordBefore(key, previous)};
    } catch (damage) {
      if (!(damage instanceof ValueUnreadable)) throw damage;
      return {key, revision, damage};
    }
  }

  leases(): GrantedLease[] {
    const all = this.#tree.getRange({start: tables.lease, end: tables.under});
    return Array.from(all, ({key, value}) => ({id: leaseOf(key as string), expiresAt: decodeNumber(value)})).filter(isLease);
  }

  keysUnder(lease: LeaseId, limit: number): string[] {
    const start = underKey(lease, '');
    return Array.from(this.#tree.getKeys({start, end: endOfLease(start), limit}), key => keyUnder(key as string));
  }

  async commit({changes, granted, forgotten}: Commit): Promise<void> {
    const writes = new Writes(this.#tree, this.#directory);
    const deletions = new Map<string, number>();
    for (const change of changes) {
      this.#apply(writes, change, deletions);
      this.#recent.drop(change.key);
      this.#uncommitted.add(change.key);
      if (change.record) this.#empty.written(change.key);
    }
    for (const {id, expiresAt} of granted) writes.put(leaseKey(id), encodeNumber(leaseKey(id), expiresAt));
    for (const lease of forgotten) writes.remove(leaseKey(lease));
    const last = changes.at(-1)?.revision;
    if (last !== undefined) this.#committing = last;
    try {
      await this.#write(writes);
      this.#durable = last ?? this.#durable;
    } finally {
      if (last !== undefined) this.#committing = undefined;
      for (const {key} of changes) this.#uncommitted.delete(key);
    }
    if (changes.every(({record, previous}) => record && !previous)) this.#bound.created(changes);
    else this.#bound.changed();
  }

  async #write(writes: Writes): Promise<void> {
    this.#checkLock();
    if (this.#isLost) throw new Error(lostMessage);
    try {
      await writes.durable();
    } catch (error) {
      if (error instanceof StoreFull && !this.#isFull) {
        this.#isFull = true;
        this.#log.error(
          {directory: this.#directory, err: error},
          'no space is left for the data directory: writes fail until there is some',
        );
      }
      throw error;
    }
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#log.info({directory: this.#directory}, 'the data directory has space again');
  }

  /** Ends all writes: another process has claimed the store. */
  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#log.error({directory: this.#directory}, lostMessage);
  }

  /** Before each write: a process that came in by a new lock file must not find this one writing. */
  #checkLock(): void {
    if (this.#isLockReplaced()) this.lose();
  }

  async writeProblem(): Promise<string | undefined> {
    this.#checkLock();
    if (this.#isLost) return `${lostMessage}: ${this.#directory}`;
    if (!this.#isFull) return undefined;
    try {
      const writes = new Writes(this.#tree, this.#directory);
      writes.put(metaKeys.probe, Buffer.alloc(probeBytes));
      await this.#write(writes);
      const cleanup = new Writes(this.#tree, this.#directory);
      cleanup.remove(metaKeys.probe);
      await this.#write(cleanup);
      return undefined;
    } catch (error) {
      return `${messageOf(error)} in ${this.#directory}`;
    }
  }

  compact(revision: number): Promise<void> {
    const done = this.#compacting.then(() => this.#compact(revision));
    this.#compacting = done.catch(() => {});
    return done;
  }

  async #compact(revision: number): Promise<void> {
    if (revision <= this.#compacted) return;
    const writes = new Writes(this.#tree, this.#directory);
    writes.put(metaKeys.compacted, encodeNumber(metaKeys.compacted, revision));
    await this.#write(writes);
    this.#compacted = revision;
    await this.sweep();
  }

  noted(): RevisionNote | undefined {
    const read = (name: string): number | undefined => {
      const bytes = this.#tree.getBinaryFast(name);
      return bytes && decodeMeta(name, bytes, bytes.length);
    };
    const [revision, at] = [read(metaKeys.noted), read(metaKeys.notedAt)];
    return revision === undefined || at === undefined ? undefined : {revision, at};
  }

  async note({revision, at}: RevisionNote): Promise<void> {
    const writes = new Writes(this.#tree, this.#directory);
    writes.put(metaKeys.noted, encodeNumber(metaKeys.noted, revision));
    writes.put(metaKeys.notedAt, encodeNumber(metaKeys.notedAt, Math.trunc(at)));
    await this.#write(writes);
  }

  /** Goes on with what an earlier process left: its sweep, and the count of its history. */
  resume(): void {
    void this.sweep().catch(() => {}); // The next compaction continues the sweep.
    this.#bound.changed();
  }

  /** Drops what compaction left to drop, also what an earlier process did not come to. */
  sweep(): Promise<void> {
    const swept = this.#sweeping.then(() => this.#sweep());
    this.#sweeping = swept.catch(() => {});
    return swept;
  }

  async #sweep(): Promise<void> {
    for (let swept = this.#meta(metaKeys.swept); swept < this.#compacted && !this.#closing;) {
      const upTo = Math.min(this.#compacted, swept + sweepBatch);
      const writes = new Writes(this.#tree, this.#directory);
      for (let revision = swept + 1; revision <= upTo; revision++) this.#forget(writes, revision);
      writes.put(metaKeys.swept, encodeNumber(metaKeys.swept, upTo));
      const freed = this.#bound.take(swept, upTo);
      try {
        await this.#write(writes);
      } catch (error) {
        this.#bound.giveBack(freed);
        throw error;
      }
      swept = upTo;
    }
  }

  size(): number {
    return statSync(join(this.#directory, 'data.mdb')).size;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#hot.close();
    await this.#bound.close();
    await this.#compacting;
    await this.#sweeping;
    await this.#tree.close();
    this.#release();
  }

  #apply(writes: Writes, {key, revision, record, previous, damage}: EngineChange, deletions: Map<string, number>): void {
    let before = previous?.revision ?? 0;
    // A damaged change may be that of another key: then compaction must not remove it with this one.
    if (damage && !this.#ownHead(key, before)) before = 0;
    if (!previous) {
      // A creation links to the deletion before it, which may be part of this very commit.
      before = deletions.get(key) ?? this.#revisionAt(tables.gone + key);
      if (before !== 0) writes.remove(tables.gone + key);
    }
    writes.put(revision, encodeChange(key, record, revision, before));
    if (record) writes.put(tables.head + key, encodeNumber(tables.head + key, revision));
    else {
      writes.remove(tables.head + key);
      writes.put(tables.gone + key, encodeNumber(tables.gone + key, revision));
      deletions.set(key, revision);
    }
    if (previous?.lease === record?.lease) return;
    if (previous?.lease !== undefined) writes.remove(underKey(previous.lease, key));
    if (record?.lease !== undefined) writes.put(underKey(record.lease, key), nothing);
  }

  #forget(writes: Writes, revision: number): void {
    const head = this.#change(revision)?.head;
    if (!head) return;
    const {key, isDeletion, previous} = head;
    if (previous !== 0) writes.remove(previous);
    if (!isDeletion) return;
    const gone = tables.gone + key;
    writes.remove(revision);
    if (this.#revisionAt(gone) === revision) writes.remove(gone);
  }

  /** The bytes that `#forget` removes. */
  #freedAt(revision: number): number {
    const change = this.#change(revision);
    if (!change?.head) return 0;
    const {isDeletion, previous} = change.head;
    const own = isDeletion ? change.bytes.length : 0;
    const superseded = previous === 0 ? undefined : this.#change(previous);
    // A deletion frees itself.
    return own + (superseded && superseded.head?.isDeletion !== true ? superseded.bytes.length : 0);
  }

  #newestRevision(): number {
    for (const key of this.#tree.getKeys({...newestFirst})) return Math.max(Number(key), this.#compacted);
    return Math.max(firstRevision, this.#compacted);
  }

  /** The revision that stands under a key; zero if there is none. */
  #revisionAt(key: string): number {
    const bytes = this.#tree.getBinaryFast(key);
    return bytes ? decodeRevision(bytes, bytes.length) : 0;
  }

  /** A revision of the metadata; zero if it was never written. */
  #meta(name: string): number {
    const bytes = this.#tree.getBinaryFast(name);
    const value = bytes ? decodeMeta(name, bytes, bytes.length) : 0;
    if (value === undefined) throw new FileDamaged(`its record ${JSON.stringify(name.slice(1))} is damaged`);
    return value;
  }

  /** The change of a revision, with its head if that is undamaged. The bytes are valid until the next read. */
  #change(revision: number): {readonly bytes: Buffer; readonly head: ChangeHead | undefined} | undefined {
    const bytes = this.#tree.getBinaryFast(revision);
    return bytes && {bytes, head: decodeHead(bytes, bytes.length, revision)};
  }

  /** The changes in a range after a revision, and those whose head is damaged, which may be of any key. The bytes are valid until the next read. */
  *#changesIn({start, end, after}: Pick<HistoryQuery, 'start' | 'end' | 'after'>, upTo: number) {
    for (let revision = after + 1; revision <= upTo; revision++) {
      const change = this.#change(revision);
      if (change && (!change.head || within(change.head.key, start, end))) yield {revision, ...change};
    }
  }

  /** The head of the change of a key at a revision, unless it is damaged or that of another key. */
  #ownHead(key: string, revision: number): ChangeHead | undefined {
    const head = this.#change(revision)?.head;
    return head?.key === key ? head : undefined;
  }

  /** The record of a key at a revision. Throws `ValueUnreadable` if another change, or none, is there. */
  #record(key: string, revision: number, room?: Room): StoredRecord {
    const change = this.#change(revision);
    const record = change?.head?.key === key && !change.head.isDeletion ? recordOf(change.head, revision, change.bytes, room) : undefined;
    if (!record) throw ValueUnreadable.damaged(key, revision);
    return record;
  }

  /** The record to which a change links; undefined for a deletion, which may be compacted. */
  #recordBefore(key: string, revision: number): StoredRecord | undefined {
    if (revision === 0) return undefined;
    const change = this.#change(revision);
    if (!change && revision <= this.#compacted) return undefined;
    return change?.head?.isDeletion && change.head.key === key ? undefined : this.#record(key, revision);
  }

  /** What a key held at revision `at`, found by going back from its change at `revision`. */
  #previousRecords(key: string, revision: number, at: number): PreviousRecord {
    let found = revision;
    while (found > at) {
      const head = this.#ownHead(key, found);
      if (!head) throw ValueUnreadable.damaged(key, found);
      found = head.previous;
    }
    return {key, revision: found, read: () => this.#recordBefore(key, found)};
  }

  *#walk(table: string, start: string, end: string, limit = Infinity): Generator<{key: string; revision: number}, undefined> {
    for (const {key, value} of this.#tree.getRange({start: table + start, end: table + end, limit}))
      yield {key: key as string, revision: decodeRevision(value, value.length)};
  }

  *#living(start: string, end: string, at: number): Generator<PreviousRecord> {
    for (const {key, revision} of this.#walk(tables.head, start, end)) yield this.#previousRecords(key, revision, at);
  }

  *#deleted(start: string, end: string, at: number): Generator<PreviousRecord> {
    for (const {key, revision} of this.#walk(tables.gone, start, end))
      yield revision <= at ? {key, revision: 0, read: () => undefined} : this.#previousRecords(key, revision, at);
  }
}

/** The record of a change; undefined if its value is damaged. */
const recordOf = (head: ChangeHead, revision: number, bytes: Buffer, room?: Room): StoredRecord | undefined => {
  const {key, created, lease} = head;
  const value = decodeValue(bytes, head, room);
  return value && {key, value, revision, created, lease};
};
