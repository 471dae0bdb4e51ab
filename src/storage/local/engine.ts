// The interface of storage engines. The store decides (expectations, revisions, order); an engine keeps records and makes each commit
// durable at once.

import type {Change, Eventually, LeaseId, StoredRecord} from '#src/storage/store.js';
import type {Extent, Page} from './page.js';

export interface GrantedLease {
  readonly id: LeaseId;
  /** Wall time in ms. */
  readonly expiresAt: number;
}

/** Changes that become durable atomically. */
export interface Commit {
  /** In order of revision. */
  readonly changes: readonly Change[];
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
}

/** A number of keys, and the key where those that were not counted begin. */
export interface KeyCount {
  readonly count: number;
  readonly next?: string | undefined;
}

export interface History {
  readonly changes: readonly Change[];
  /** All changes up to this revision were examined. */
  readonly reached: number;
}

/**
 * Keeps the records of a store in this process. It makes no decisions: the store checks expectations, assigns revisions and runs
 * one commit at a time. All reads within one turn of the event loop see the same durable state, which may be one
 * commit ahead of what the store has been notified of.
 */
export interface StorageEngine {
  revision(): number;
  compacted(): number;
  get(key: string): StoredRecord | undefined;
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
  size(): number;
  close(): Eventually<void>;
}
