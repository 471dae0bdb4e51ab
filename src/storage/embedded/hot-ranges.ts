// A cache of ranges that are read repeatedly: a list is then copied from memory, after the changes since were applied.
// Bounded in bytes; unused ranges are dropped.

import {OwnedCaches} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import {lowerBound, isKeyInRange} from '#src/storage/local/keys.js';
import {PageReader, type Extent, type Page} from '#src/storage/local/page.js';
import type {StoredRecord} from '#src/storage/store.js';

export interface HotLimits {
  /** Smaller ranges are not cached: reading them is fast. */
  readonly minRecords: number;
  /** Reads of fewer records do not look for a cached range. */
  readonly minLimit: number;
  /** The bound on the values of all cached ranges. */
  readonly maxBytes: number;
  /** How long an unused range is kept. */
  readonly idleMs: number;
}

export const hotDefaults: HotLimits = {minRecords: 500, minLimit: 100, maxBytes: 64 << 20, idleMs: 60_000};

/** A range at a revision. Its records are never changed in place, since readers hold them. */
export interface HotRange {
  readonly start: string;
  readonly end: string;
  at: number;
  records: readonly StoredRecord[];
  bytes: number;
  /** How many records have changed since the range was read. */
  changed: number;
}

/** The pages read so far of a range that is read in pages. */
interface PartialRange {
  readonly start: string;
  readonly end: string;
  readonly at: number;
  readonly records: StoredRecord[];
  bytes: number;
}

interface Entry {
  range: HotRange | undefined;
  /** Whether the range is too large to cache: it is not collected again while in use. */
  isTooLarge: boolean;
  usedAt: number;
}

const hotRangeCaches = new OwnedCaches<HotRanges>('store_hot_ranges', ({bytes, maxBytes}) => ({bytes, maxBytes}));

/**
 * Caches large ranges that are read repeatedly, as when many clients start to watch a collection: reading ten thousand
 * records costs more than sending them. A range is cached on its second read; later reads apply the changes since.
 */
export class HotRanges {
  readonly #clock: Clock;
  readonly #limits: HotLimits;
  /** By start and end, the most recently used at the end. */
  readonly #entries = new Map<string, Entry>();
  /** Ranges being read in pages, the most recent at the end. */
  #parts: PartialRange[] = [];
  #timer: Disposable | undefined;

  constructor(clock: Clock, limits: HotLimits) {
    this.#clock = clock;
    this.#limits = limits;
    hotRangeCaches.add(this);
  }

  /** The bytes of cached and partial ranges. */
  get bytes(): number {
    let bytes = 0;
    for (const {range} of this.#entries.values()) bytes += range?.bytes ?? 0;
    for (const part of this.#parts) bytes += part.bytes;
    return bytes;
  }

  get maxBytes(): number {
    return 2 * this.#limits.maxBytes;
  }

  /** The bytes of partial ranges. */
  get gatheredBytes(): number {
    let bytes = 0;
    for (const part of this.#parts) bytes += part.bytes;
    return bytes;
  }

  /**
   * Returns the cached range that begins at `start`, or that contains it when `start` continues a read in pages, for a
   * read of at most `limit` records.
   */
  find(start: string, end: string, limit = Infinity): HotRange | undefined {
    if (limit < this.#limits.minLimit) return undefined;
    const name = isMiddle(start) ? this.#enclosing(start, end) : nameOf(start, end);
    const entry = this.#entries.get(name);
    if (!entry?.range) return undefined;
    this.#use(name, entry);
    return entry.range;
  }

  /** Called when a range, or the next page of one, was read from the tree at a revision. */
  recordRead(start: string, end: string, at: number, {records, more}: Page): void {
    const before = this.#partOf(start, end, at);
    if (before) this.#extend(before, records, more);
    else if (isMiddle(start)) return;
    else if (more) this.#begin({start, end, at, records: [...records], bytes: sizeOf(records)});
    else this.#complete({start, end, at, records, bytes: sizeOf(records)});
  }

  close(): void {
    this.#timer?.[Symbol.dispose]();
    this.#entries.clear();
    this.#parts = [];
  }

  #enclosing(start: string, end: string): string {
    for (const [name, {range}] of this.#entries) if (range?.end === end && isKeyInRange(start, range.start, end)) return name;
    return '';
  }

  /** Removes and returns the partial range that ends where `next` begins. */
  #partOf(next: string, end: string, at: number): PartialRange | undefined {
    const index = isMiddle(next)
      ? this.#parts.findIndex(part => part.at === at && part.end === end && next === `${part.records.at(-1)!.key}\0`)
      : -1;
    return index < 0 ? undefined : this.#parts.splice(index, 1)[0];
  }

  /** Handles the first page of a range: the rest is collected if the range was read before. */
  #begin(part: PartialRange): void {
    const name = nameOf(part.start, part.end);
    const known = this.#entries.get(name);
    this.#use(name, known ?? {range: undefined, isTooLarge: false, usedAt: 0});
    if (known && !known.isTooLarge) this.#gather(part);
  }

  #extend(part: PartialRange, records: readonly StoredRecord[], more: boolean): void {
    for (const record of records) part.records.push(record);
    part.bytes += sizeOf(records);
    if (more) this.#gather(part);
    else this.#complete(part);
  }

  #gather(part: PartialRange): void {
    this.#parts.push(part);
    for (let bytes = this.gatheredBytes; bytes > this.#limits.maxBytes;) {
      const dropped = this.#parts.shift()!;
      bytes -= dropped.bytes;
      // A range dropped in favour of others may fit another time.
      const entry = dropped.bytes > this.#limits.maxBytes ? this.#entries.get(nameOf(dropped.start, dropped.end)) : undefined;
      if (entry) entry.isTooLarge = true;
    }
  }

  #complete({start, end, at, records, bytes}: Pick<HotRange, 'start' | 'end' | 'at' | 'records' | 'bytes'>): void {
    const name = nameOf(start, end);
    const known = this.#entries.get(name);
    if (records.length < this.#limits.minRecords) {
      this.#entries.delete(name);
      return;
    }
    const entry = known ?? {range: undefined, isTooLarge: false, usedAt: 0};
    if (known) entry.range = {start, end, at, records, bytes, changed: 0};
    this.#use(name, entry);
    this.#fit();
  }

  #use(name: string, entry: Entry): void {
    entry.usedAt = this.#clock.monotonic();
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    this.#timer ??= this.#clock.schedule(this.#limits.idleMs, () => this.#forgetIdle());
  }

  #forgetIdle(): void {
    this.#timer = undefined;
    const before = this.#clock.monotonic() - this.#limits.idleMs;
    // A read that continues starts over.
    this.#parts = [];
    for (const [name, {usedAt}] of this.#entries) if (usedAt <= before) this.#entries.delete(name);
    const [oldest] = this.#entries.values();
    if (oldest) this.#timer = this.#clock.schedule(oldest.usedAt - before, () => this.#forgetIdle());
  }

  #fit(): void {
    let bytes = 0;
    for (const {range} of this.#entries.values()) bytes += range?.bytes ?? 0;
    for (const [name, {range}] of this.#entries) {
      if (bytes <= this.#limits.maxBytes) return;
      bytes -= range?.bytes ?? 0;
      this.#entries.delete(name);
    }
  }
}

/** A NUL, which no key contains, follows the last key of the previous page. */
const isMiddle = (start: string): boolean => start.endsWith('\0');

const nameOf = (start: string, end: string): string => `${start}\0${end}`;

const sizeOf = (records: readonly StoredRecord[]): number => {
  let bytes = 0;
  for (const {value} of records) bytes += value.length;
  return bytes;
};

/** The new record of one key of a range. */
export interface KeyChange {
  readonly key: string;
  /** Absent when the key was deleted. */
  readonly record: StoredRecord | undefined;
}

/** Advances a range to a revision by applying changes. */
export const advanceRange = (range: HotRange, changes: readonly KeyChange[], at: number): void => {
  range.at = at;
  if (changes.length === 0) return;
  const records = [...range.records];
  for (const {key, record} of changes) {
    const index = indexOf(records, key);
    const there = records[index]?.key === key;
    range.bytes += (record?.value.length ?? 0) - (there ? records[index]!.value.length : 0);
    if (record) records.splice(index, there ? 1 : 0, record);
    else if (there) records.splice(index, 1);
  }
  range.records = records;
  range.changed += changes.length;
};

const indexOf = (records: readonly StoredRecord[], key: string): number => lowerBound(records.length, at => records[at]!.key, key);

/** Returns the number of records of a range from `start` on. */
export const countOf = ({records}: HotRange, start: string): number => records.length - indexOf(records, start);

/** Returns the page of a range that begins at `start`. */
export const pageOf = ({records: all}: HotRange, start: string, extent: Extent): Page => {
  const from = indexOf(all, start);
  if (from === 0 && extent.limit >= all.length && extent.bytes === Infinity && !extent.filter) return {records: all, more: false};
  const page = new PageReader(extent);
  for (let index = from; index < all.length; index++) if (!page.add(all[index]!)) break;
  return page;
};
