// The interface of storage engines. The store decides (expectations, revisions, order); an engine keeps records and
// makes each commit durable at once.

import type {Eventually} from '#src/base/eventually.js';
import type {ValueUnreadable} from '#src/storage/errors.js';
import type {Change, LeaseId, RevisionNote, StoredRecord} from '#src/storage/store.js';
import type {Extent, Page} from './page.js';

export interface GrantedLease {
  readonly id: LeaseId;
  /** Wall time in ms. */
  readonly expiresAt: number;
}

/**
 * The newest record of a key, which may be unreadable: then its value is empty, and its lease is absent if that cannot
 * be read either.
 */
export interface HeldRecord extends StoredRecord {
  readonly damage?: ValueUnreadable | undefined;
}

/** A change one of whose records may be unreadable. Watches end with the error in its place. */
export interface EngineChange extends Change {
  readonly damage?: ValueUnreadable | undefined;
}

/** Changes that become durable atomically. */
export interface Commit {
  /** In order of revision. */
  readonly changes: readonly EngineChange[];
  readonly granted: readonly GrantedLease[];
  readonly forgotten: readonly LeaseId[];
}

export interface HistoryQuery {
  readonly start: string;
  readonly end: string;
  readonly after: number;
  readonly upTo: number;
  /** The maximum number of changes, of any key, to examine. */
  readonly scan: number;
  /** The piece ends with the change that brings its records to this many bytes. */
  readonly bytes: number;
}

/** A number of keys, and the key where those that were not counted begin. */
export interface KeyCount {
  readonly count: number;
  readonly next?: string | undefined;
}

/** The bytes of a change's values. */
export const sizeOfChange = ({record, previous}: Change): number => (record?.value.length ?? 0) + (previous?.value.length ?? 0);

export interface History {
  readonly changes: readonly EngineChange[];
  /** All changes up to this revision were examined. */
  readonly reached: number;
}

/**
 * Keeps the records of a store in this process. Reads throw `ValueUnreadable` for a record that is damaged. It makes no
 * decisions: the store checks expectations, assigns revisions and runs one commit at a time. All reads within one turn
 * of the event loop see the same durable state, which may be one commit ahead of what the store has been notified of.
 */
export interface StorageEngine {
  revision(): number;
  compacted(): number;
  get(key: string): StoredRecord | undefined;
  /** As `get`, also for a record that cannot be read. */
  held(key: string): HeldRecord | undefined;
  /**
   * Returns whether a range is known to hold no record; it may be empty otherwise. Absent in engines that do not
   * remember such ranges.
   */
  isEmpty?(start: string, end: string): boolean;
  /** Returns a page that later writes do not change. */
  range(start: string, end: string, extent: Extent): Page;
  /** As `range`, at an earlier revision that is not compacted. */
  rangeAt(start: string, end: string, extent: Extent, revision: number): Page;
  /** Counts keys: all of them, or the first `most`. */
  count(start: string, end: string, most: number): KeyCount;
  history(query: HistoryQuery): History;
  leases(): Iterable<GrantedLease>;
  /** Returns at most `limit` keys whose record was last written under the lease. */
  keysUnder(lease: LeaseId, limit: number): string[];
  commit(commit: Commit): Eventually<void>;
  compact(revision: number): Eventually<void>;
  /**
   * Returns an independent engine with the same state. Absent in engines that keep their records outside of the
   * process.
   */
  copy?(): StorageEngine;
  /** As `Store`'s. Absent in engines that do not outlive the process. */
  noted?(): RevisionNote | undefined;
  note?(note: RevisionNote): Promise<void>;
  size(): number;
  /** Why writes fail at present; undefined if they do not. Tries one after they have failed. */
  writeProblem?(): Eventually<string | undefined>;
  close(): Eventually<void>;
}
