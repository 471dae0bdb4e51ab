// Reads of keys and ranges, answered by caches where possible.

import {holdable, isKeyInRange} from '#src/storage/local/keys.js';
import type {EngineChange, HeldRecord, KeyCount} from '#src/storage/local/engine.js';
import {PageReader, type Extent, type Page} from '#src/storage/local/page.js';
import {undo} from '#src/storage/local/undo.js';
import type {RecordFilter, StoredRecord} from '#src/storage/store.js';
import {ValueUnreadable} from '#src/storage/errors.js';
import {EmptyRanges} from './empty-ranges.js';
import {FoundKeys, type Found} from './found-keys.js';
import {advanceRange, countOf, pageOf, type HotRange, type HotRanges, type KeyChange} from './hot-ranges.js';
import {roomForMany, tables, type Room} from './layout.js';
import {RecentRecords} from './recent.js';
import {recordOf, type RecordTree} from './record-tree.js';
import {nothing} from './writes.js';

/** Ranges of at most this many records allocate each value separately. */
const fewRecords = 100;

/** A cached range further behind is read again, since catching up is synchronous. */
const maxCatchUp = 1000;

/**
 * The same for the records of a range that changed since a filter was applied to it, each of which may have to be
 * parsed.
 */
const maxRefiltered = 50;

/** After so many keys in a row that a filter rules out, the next one that may pass is looked up. */
const keysBeforeJump = 16;

/** The page of a range that holds nothing. */
const noRecords: Page = {records: [], more: false};

/**
 * Reads keys and ranges of a tree, and remembers what is read repeatedly. It must be called before and after each
 * commit.
 */
export class RangeReader {
  readonly #records: RecordTree;
  readonly #newest: () => number;
  readonly #recent = new RecentRecords();
  readonly #hot: HotRanges;
  readonly #empty = new EmptyRanges();
  readonly #found = new FoundKeys();
  /** Keys of the commit in progress: reads of them must not be cached. */
  readonly #uncommitted = new Set<string>();

  /** `newest` returns the newest visible revision. */
  constructor(records: RecordTree, hot: HotRanges, newest: () => number) {
    this.#records = records;
    this.#hot = hot;
    this.#newest = newest;
  }

  /** Called before changes are committed. */
  beginCommit(changes: readonly EngineChange[]): void {
    for (const {key, record} of changes) {
      this.#recent.drop(key);
      this.#uncommitted.add(key);
      if (record) this.#empty.written(key);
    }
  }

  /** Called when the commit of changes has ended, successfully or not. */
  endCommit(changes: readonly EngineChange[]): void {
    for (const {key} of changes) this.#uncommitted.delete(key);
  }

  close(): void {
    this.#hot.close();
  }

  get(key: string): StoredRecord | undefined {
    const recent = this.#recent.get(key);
    if (recent) return recent;
    if (!holdable(key)) return undefined;
    const revision = this.#records.revisionAt(tables.head + key);
    const record = revision === 0 ? undefined : this.#records.record(key, revision);
    if (record && !this.#uncommitted.has(key)) this.#recent.keep(record);
    return record;
  }

  held(key: string): HeldRecord | undefined {
    try {
      return this.get(key);
    } catch (damage) {
      if (!(damage instanceof ValueUnreadable)) throw damage;
      const revision = this.#records.revisionAt(tables.head + key);
      const head = this.#records.ownHead(key, revision);
      return {key, value: nothing, revision, created: head?.created ?? 0, lease: head?.lease, damage};
    }
  }

  isEmpty(start: string, end: string): boolean {
    return this.#empty.has(start, end);
  }

  range(start: string, end: string, extent: Extent): Page {
    if (this.#empty.has(start, end)) return noRecords;
    if (extent.filter?.id !== undefined) return this.#rangeOf(extent.filter, start, end, extent);
    const hot = this.#current(start, end, extent.limit);
    if (hot) return pageOf(hot, start, extent);
    const newest = this.#newest();
    const page = this.#readNewest(start, end, extent);
    if (!extent.filter && extent.limit === Infinity) this.#hot.recordRead(start, end, newest, page);
    return page;
  }

  /** Counts keys: all of them, or the first `most`. */
  count(start: string, end: string, most: number): KeyCount {
    const hot = this.#current(start, end, most);
    return hot ? {count: countOf(hot, start)} : this.#records.count(start, end, most);
  }

  /**
   * Returns the cached range that holds this one, at the newest revision, unless reading so many records is less work.
   */
  #current(start: string, end: string, limit: number): HotRange | undefined {
    const hot = this.#hot.find(start, end, limit);
    return hot && this.#catchUp(hot, this.#newest(), limit) ? hot : undefined;
  }

  /**
   * Reads the records that pass a filter: from the keys that it selected last and the changes since, where these are
   * known, otherwise from the cached range.
   */
  #rangeOf(filter: RecordFilter, start: string, end: string, extent: Extent): Page {
    const id = filter.id!;
    const newest = this.#newest();
    const found = this.#found.find(id, start, end);
    if (found && this.#catchUpFound(filter, found, newest)) return this.#pageOf(this.#newestOf(found.keys), extent, found.keys.length);
    if (found) this.#found.forget(id, found);
    const hot = filter.next ? undefined : this.#current(start, end, extent.limit);
    const page = hot ? pageOf(hot, start, extent) : this.#readNewest(start, end, extent);
    this.#found.recordRead(id, {start, end, at: newest}, page);
    return page;
  }

  /** Returns false where filtering the range again is less work. */
  #catchUpFound(filter: RecordFilter, found: Found, newest: number): boolean {
    const {at, start, end} = found;
    if (at < this.#records.compacted || newest - at > maxCatchUp) return false;
    const changed = new Set<string>();
    for (const {head} of this.#records.changesIn({start, end, after: at}, newest)) {
      // Reading the range again determines the effect of the damage.
      if (!head || changed.add(head.key).size > maxRefiltered) return false;
    }
    if (changed.size > 0) this.#found.advance(filter.id!, found, this.#refiltered(filter, changed), newest);
    else found.at = newest;
    return true;
  }

  *#refiltered(filter: RecordFilter, keys: Iterable<string>): Generator<readonly [key: string, passes: boolean]> {
    for (const {key, revision} of this.#newestOf(keys)) {
      yield [key, revision !== 0 && (filter.known(key, revision) ?? filter.passes(this.#records.record(key, revision)))];
    }
  }

  *#newestOf(keys: Iterable<string>): Generator<{key: string; revision: number}, undefined> {
    for (const key of keys) yield {key, revision: this.#records.revisionAt(tables.head + key)};
  }

  #readNewest(start: string, end: string, extent: Extent): Page {
    const page = this.#read(start, end, extent);
    if (page.records.length === 0 && !page.more && !extent.filter && !this.#isWriting(start, end)) this.#empty.add(start, end);
    return page;
  }

  /** Whether the commit in progress, which reads may not see yet, writes in a range. */
  #isWriting(start: string, end: string): boolean {
    for (const key of this.#uncommitted) if (isKeyInRange(key, start, end)) return true;
    return false;
  }

  #read(start: string, end: string, extent: Extent): Page {
    const {filter, limit} = extent;
    const records = filter?.next
      ? this.#candidates(start, end, filter.next)
      : this.#records.walk(tables.head, start, end, filter ? Infinity : limit + 1);
    return this.#pageOf(records, extent, limit);
  }

  /** The records of a range, without most of those that a filter rules out by their key. */
  *#candidates(start: string, end: string, next: (key: string) => string | undefined) {
    for (let from: string | undefined = start; from !== undefined && isKeyInRange(from, start, end);)
      from = yield* this.#untilJump(from, end, next);
  }

  /** The records from a key on, until many in a row are ruled out. Returns where to go on. */
  *#untilJump(
    from: string,
    end: string,
    next: (key: string) => string | undefined,
  ): Generator<{key: string; revision: number}, string | undefined> {
    let ruledOut = 0;
    for (const record of this.#records.walk(tables.head, from, end)) {
      yield record;
      const following = next(record.key);
      ruledOut = following === undefined ? 0 : ruledOut + 1;
      if (ruledOut === keysBeforeJump) return following;
    }
    return undefined;
  }

  /** The page of the first of at most so many records. */
  #pageOf(records: Iterable<{readonly key: string; readonly revision: number}>, extent: Extent, most: number): Page {
    const page = new PageReader(extent);
    const room = roomFor(most);
    for (const {key, revision} of records) {
      if (page.isFull) {
        page.more = true;
        break;
      }
      if (!page.skips(key, revision)) page.add(this.#records.record(key, revision, room));
    }
    return page;
  }

  /** Advances a cached range to the newest revision by history. Returns false when reading it again is less work. */
  #catchUp(range: HotRange, newest: number, limit: number): boolean {
    const {start, end, at, records, changed} = range;
    if (at < this.#records.compacted || newest - at > Math.min(records.length, maxCatchUp, limit) || changed > records.length) return false;
    const changes: KeyChange[] = [];
    for (const {revision, bytes, head} of this.#records.changesIn({start, end, after: at}, newest)) {
      // Reading the range again determines the effect of the damage.
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
    const {filter, limit} = extent;
    const hot = this.#hot.find(start, end, limit);
    const isHot = hot?.at === revision;
    const page = isHot ? pageOf(hot, start, extent) : this.#readAt(start, end, extent, revision);
    if (limit !== Infinity) return page;
    if (filter?.id !== undefined) this.#found.recordRead(filter.id, {start, end, at: revision}, page);
    else if (!filter && !isHot) this.#hot.recordRead(start, end, revision, page);
    return page;
  }

  #readAt(start: string, end: string, extent: Extent, revision: number): Page {
    const room = roomFor(extent.limit);
    return undo(this.#records.living(start, end, revision, room), this.#records.deleted(start, end, revision, room), extent);
  }
}

/** A small page does not use a slab, which a single value would keep alive. */
const roomFor = (records: number): Room => (records > fewRecords ? roomForMany() : Buffer.allocUnsafe);
