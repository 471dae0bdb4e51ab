// Reads of the records of an LMDB tree; see `layout.ts` for their layout. Caches are in `range-reader.ts`.

import {Compacted, ValueUnreadable} from '#src/storage/errors.js';
import {
  sizeOfChange,
  type EngineChange,
  type GrantedLease,
  type History,
  type HistoryQuery,
  type KeyCount,
} from '#src/storage/local/engine.js';
import {isKeyInRange} from '#src/storage/local/keys.js';
import type {PreviousRecord} from '#src/storage/local/undo.js';
import type {LeaseId, StoredRecord} from '#src/storage/store.js';
import {
  decodeHead,
  decodeMeta,
  decodeNumber,
  decodeRevision,
  decodeValue,
  isLease,
  keyUnder,
  leaseOf,
  metaKeys,
  tables,
  underKey,
  type ChangeHead,
  type Room,
} from './layout.js';
import type {MappedTree} from './mapped-tree.js';
import {FileDamaged} from './data-file.js';

/** An empty store is at this revision, so that zero can mean "any". */
const firstRevision = 1;

const newestFirst = {start: 2 ** 48 - 1, end: 0, reverse: true, limit: 1};
const endOfLease = (lease: string): string => `${lease}\u007f`;

/** The change of a revision, with its head if that is undamaged. */
interface Change {
  readonly bytes: Buffer;
  readonly head: ChangeHead | undefined;
}

/** The records, changes and leases in a tree. */
export class RecordTree {
  readonly #tree: MappedTree;
  /** The revision up to which history is compacted. */
  compacted: number;

  constructor(tree: MappedTree) {
    this.#tree = tree;
    this.compacted = this.meta(metaKeys.compacted);
  }

  /** Whether the change of a revision exists. */
  has(revision: number): boolean {
    return this.#tree.now.doesExist(revision);
  }

  newestRevision(): number {
    for (const key of this.#tree.now.getKeys({...newestFirst})) return Math.max(Number(key), this.compacted);
    return Math.max(firstRevision, this.compacted);
  }

  /** The revision stored under a key; zero if there is none. */
  revisionAt(key: string): number {
    const bytes = this.#tree.now.getBinaryFast(key);
    return bytes ? decodeRevision(bytes, bytes.length) : 0;
  }

  /** A revision of the metadata; zero if it was never written. */
  meta(name: string): number {
    const bytes = this.#tree.now.getBinaryFast(name);
    const value = bytes ? decodeMeta(name, bytes, bytes.length) : 0;
    if (value === undefined) throw new FileDamaged(`its record ${JSON.stringify(name.slice(1))} is damaged`);
    return value;
  }

  /** A number of the metadata; undefined if it was never written, or is damaged. */
  noted(name: string): number | undefined {
    const bytes = this.#tree.now.getBinaryFast(name);
    return bytes && decodeMeta(name, bytes, bytes.length);
  }

  /** The change of a revision, with its head if that is undamaged. The bytes are valid until the next read. */
  change(revision: number): Change | undefined {
    const bytes = this.#tree.now.getBinaryFast(revision);
    return bytes && {bytes, head: decodeHead(bytes, bytes.length, revision)};
  }

  /**
   * The changes in a range after a revision, and those whose head is damaged, which may be of any key. The bytes are
   * valid until the next read.
   */
  *changesIn({start, end, after}: Pick<HistoryQuery, 'start' | 'end' | 'after'>, upTo: number) {
    for (let revision = after + 1; revision <= upTo; revision++) {
      const change = this.change(revision);
      if (change && (!change.head || isKeyInRange(change.head.key, start, end))) yield {revision, ...change};
    }
  }

  /** The head of the change of a key at a revision, unless it is damaged or that of another key. */
  ownHead(key: string, revision: number): ChangeHead | undefined {
    const head = this.change(revision)?.head;
    return head?.key === key ? head : undefined;
  }

  /** The record of a key at a revision. Throws `ValueUnreadable` if another change, or none, is there. */
  record(key: string, revision: number, room?: Room): StoredRecord {
    return this.#recordIn(this.change(revision), key, revision, room);
  }

  #recordIn(change: Change | undefined, key: string, revision: number, room?: Room): StoredRecord {
    const record = change?.head?.key === key && !change.head.isDeletion ? recordOf(change.head, revision, change.bytes, room) : undefined;
    if (!record) throw ValueUnreadable.damaged(key, revision);
    return record;
  }

  /** The record to which a change links; undefined for a deletion, which may be compacted. */
  recordBefore(key: string, revision: number, room?: Room): StoredRecord | undefined {
    if (revision === 0) return undefined;
    const change = this.change(revision);
    if (!change && revision <= this.compacted) return undefined;
    return change?.head?.isDeletion && change.head.key === key ? undefined : this.#recordIn(change, key, revision, room);
  }

  /** The record of a key at revision `at`, found by following the links back from its change at `revision`. */
  previousRecords(key: string, revision: number, at: number, room: Room): PreviousRecord {
    let found = revision;
    while (found > at) {
      const head = this.ownHead(key, found);
      if (!head) throw ValueUnreadable.damaged(key, found);
      found = head.previous;
    }
    return {key, revision: found, read: () => this.recordBefore(key, found, room)};
  }

  *walk(table: string, start: string, end: string, limit = Infinity): Generator<{key: string; revision: number}, undefined> {
    for (const {key, value} of this.#tree.now.getRange({start: table + start, end: table + end, limit}))
      yield {key: key as string, revision: decodeRevision(value, value.length)};
  }

  /** Whether a table has any key in a range. */
  anyIn(table: string, start: string, end: string): boolean {
    for (const _ of this.#tree.now.getKeys({start: table + start, end: table + end, limit: 1})) return true;
    return false;
  }

  *living(start: string, end: string, at: number, room: Room): Generator<PreviousRecord> {
    for (const {key, revision} of this.walk(tables.head, start, end)) yield this.previousRecords(key, revision, at, room);
  }

  *deleted(start: string, end: string, at: number, room: Room): Generator<PreviousRecord> {
    for (const {key, revision} of this.walk(tables.gone, start, end))
      yield revision <= at ? {key, revision: 0, read: () => undefined} : this.previousRecords(key, revision, at, room);
  }

  count(start: string, end: string, most: number): KeyCount {
    const range = {start: tables.head + start, end: tables.head + end};
    const [next] = this.#tree.now.getKeys({...range, offset: most, limit: 1});
    return next === undefined ? {count: this.#tree.now.getKeysCount(range)} : {count: most, next: next as string};
  }

  history({start, end, after, upTo, scan, bytes: most}: HistoryQuery): History {
    let size = 0;
    const reached = Math.min(upTo, after + scan);
    const changes: EngineChange[] = [];
    for (const {revision, bytes, head} of this.changesIn({start, end, after}, reached)) {
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
      return {key, revision, record, previous: this.recordBefore(key, previous)};
    } catch (damage) {
      if (!(damage instanceof ValueUnreadable)) throw damage;
      return {key, revision, damage};
    }
  }

  leases(): GrantedLease[] {
    const all = this.#tree.now.getRange({start: tables.lease, end: tables.under});
    return Array.from(all, ({key, value}) => ({id: leaseOf(key as string), expiresAt: decodeNumber(value)})).filter(isLease);
  }

  keysUnder(lease: LeaseId, limit: number): string[] {
    const start = underKey(lease, '');
    return Array.from(this.#tree.now.getKeys({start, end: endOfLease(start), limit}), key => keyUnder(key as string));
  }
}

/** The record of a change; undefined if its value is damaged. */
export const recordOf = (head: ChangeHead, revision: number, bytes: Buffer, room?: Room): StoredRecord | undefined => {
  const {key, created, lease} = head;
  const value = decodeValue(bytes, head, room);
  return value && {key, value, revision, created, lease};
};
