import type {Clock} from '#src/base/clock.js';
import {compareKeys} from '#src/storage/local/keys.js';
import type {StoredRecord} from '#src/storage/store.js';

export interface HotLimits {
  /** Smaller ranges are read as fast as they are found. */
  readonly fewestRecords: number;
  /** Of the values in all ranges that are kept. */
  readonly mostBytes: number;
  /** How long a range is kept that nobody reads. */
  readonly idleMs: number;
}

export const hotDefaults: HotLimits = {fewestRecords: 500, mostBytes: 64 << 20, idleMs: 60_000};

/** A range as it was at a revision. Its records are never changed in place: readers hold on to them. */
export interface HotRange {
  readonly start: string;
  readonly end: string;
  at: number;
  records: readonly StoredRecord[];
  bytes: number;
  /** How many records were put in or out since they were read at once. */
  touched: number;
}

interface Entry {
  range: HotRange | undefined;
  usedAt: number;
}

/**
 * Large ranges that are read whole again and again, as many who begin to follow a collection do: reading ten thousand records costs more than sending
 * them. One that is read for the second time in a while is kept; whoever reads it again adds what has changed since.
 */
export class HotRanges {
  readonly #clock: Clock;
  readonly #limits: HotLimits;
  /** By start and end, the one used last at the end. */
  readonly #entries = new Map<string, Entry>();
  #timer: Disposable | undefined;

  constructor(clock: Clock, limits: HotLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  find(start: string, end: string): HotRange | undefined {
    const name = nameOf(start, end);
    const entry = this.#entries.get(name);
    if (!entry?.range) return undefined;
    this.#use(name, entry);
    return entry.range;
  }

  /** A range was read from the tree. */
  wasRead(start: string, end: string, at: number, records: readonly StoredRecord[]): void {
    const name = nameOf(start, end);
    const known = this.#entries.get(name);
    if (records.length < this.#limits.fewestRecords) {
      this.#entries.delete(name);
      return;
    }
    const entry = known ?? {range: undefined, usedAt: 0};
    if (known) entry.range = {start, end, at, records, bytes: sizeOf(records), touched: 0};
    this.#use(name, entry);
    this.#fit();
  }

  close(): void {
    this.#timer?.[Symbol.dispose]();
    this.#entries.clear();
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
    for (const [name, {usedAt}] of this.#entries) if (usedAt <= before) this.#entries.delete(name);
    const [oldest] = this.#entries.values();
    if (oldest) this.#timer = this.#clock.schedule(oldest.usedAt - before, () => this.#forgetIdle());
  }

  #fit(): void {
    let bytes = 0;
    for (const {range} of this.#entries.values()) bytes += range?.bytes ?? 0;
    for (const [name, {range}] of this.#entries) {
      if (bytes <= this.#limits.mostBytes) return;
      bytes -= range?.bytes ?? 0;
      this.#entries.delete(name);
    }
  }
}

const nameOf = (start: string, end: string): string => `${start}\0${end}`;

const sizeOf = (records: readonly StoredRecord[]): number => {
  let bytes = 0;
  for (const {value} of records) bytes += value.length;
  return bytes;
};

/** What became of one key of a range. */
export interface Touch {
  readonly key: string;
  /** Absent when the key is gone. */
  readonly record: StoredRecord | undefined;
}

/** Brings a range forward to a revision. */
export const bringForward = (range: HotRange, touches: readonly Touch[], at: number): void => {
  range.at = at;
  if (touches.length === 0) return;
  const records = [...range.records];
  for (const {key, record} of touches) {
    const index = lowerBound(records, key);
    const there = records[index]?.key === key;
    range.bytes += (record?.value.length ?? 0) - (there ? records[index]!.value.length : 0);
    if (record) records.splice(index, there ? 1 : 0, record);
    else if (there) records.splice(index, 1);
  }
  range.records = records;
  range.touched += touches.length;
};

const lowerBound = (records: readonly StoredRecord[], key: string): number => {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(records[middle]!.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
