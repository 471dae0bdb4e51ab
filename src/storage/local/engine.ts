import type {Change, Eventually, LeaseId, StoredRecord} from '#src/storage/store.js';
import type {Extent, Page} from './page.js';

export interface GrantedLease {
  readonly id: LeaseId;
  /** Wall time in ms. */
  readonly expiresAt: number;
}

/** What becomes durable together: all of it or nothing. */
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
  /** How many changes, of any key, to look at before returning. */
  readonly scan: number;
}

export interface History {
  readonly changes: readonly Change[];
  /** Everything up to this revision was looked at. */
  readonly reached: number;
}

/**
 * What keeps the records of a store in this process. It decides nothing: the store checks expectations, numbers the changes and commits
 * them one commit at a time. All reads within one turn of the event loop see the same durable state, which may be one
 * commit ahead of what the store has heard.
 */
export interface StorageEngine {
  revision(): number;
  compacted(): number;
  get(key: string): StoredRecord | undefined;
  /** What is answered stays as it is, whatever happens later. */
  range(start: string, end: string, extent: Extent): Page;
  /** As `range`, at an earlier revision whose history is there. */
  rangeAt(start: string, end: string, extent: Extent, revision: number): Page;
  count(start: string, end: string): number;
  history(query: HistoryQuery): History;
  leases(): Iterable<GrantedLease>;
  /** At most `limit` keys whose record was last written under the lease. */
  keysUnder(lease: LeaseId, limit: number): string[];
  commit(commit: Commit): Eventually<void>;
  compact(revision: number): Eventually<void>;
  size(): number;
  close(): Eventually<void>;
}
