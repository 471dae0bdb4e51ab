/**
 * One stored record. `key` holds no NUL and at most 1,900 bytes of UTF-8. `revision` is that of its last write, `created` that of its creation; the value is opaque to the store and must
 * not be changed once handed over, in either direction.
 */
export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly revision: number;
  readonly created: number;
  /** Whether the record should be written again even unchanged, since it does not lie in the store as it would now. Set by who translates records. */
  readonly isStale?: boolean | undefined;
  /** The lease the record was last written under. */
  readonly lease?: LeaseId | undefined;
}

/** One change of one key. `previous` is the record as it was before (absent on a creation); on a deletion `record` is absent and `revision` is the deletion's. */
export interface Change {
  readonly key: string;
  readonly revision: number;
  readonly record?: StoredRecord | undefined;
  readonly previous?: StoredRecord | undefined;
}

export interface ReadOptions {
  /** Whether what lies at hand will do, though another holder of the store may have changed it a moment ago. What one wrote oneself is seen all the same. */
  readonly near?: boolean;
}

/** Lets some of the records of a range through. */
export interface RecordFilter {
  /** Whether the record that a key has at a revision passes, where that is known without reading its value. */
  known(key: string, revision: number): boolean | undefined;
  /** Whether a record passes that nothing was known of. */
  passes(record: StoredRecord): boolean;
}

export interface RangeQuery extends ReadOptions {
  /** Keys are compared bytewise: from `start` inclusive to `end` exclusive. */
  readonly start: string;
  readonly end: string;
  /** At most so many records; absent means all. */
  readonly limit?: number;
  /** Ends with the record by which the values reach so many bytes, so that much can be read in pieces; absent means no bound. */
  readonly bytes?: number;
  /** The exact revision to read at; absent means the newest durable one. */
  readonly revision?: number;
  /** Only what passes is answered, and counts for the limit. The range then also ends where much was looked at, though little or nothing passed. */
  readonly filter?: RecordFilter | undefined;
}

export interface Range {
  readonly records: readonly StoredRecord[];
  /** The revision the range was read at. */
  readonly revision: number;
  /** Whether keys of the range were left out by the limit, the bound in bytes or that on what a filter looks at. */
  readonly more: boolean;
  /** Of a range with a filter, the last key that was looked at: what was left out begins behind it. */
  readonly reached?: string | undefined;
}

export interface WatchQuery {
  readonly start: string;
  readonly end: string;
  /** Changes after this revision are told, history first, then live; none is lost and none told twice. */
  readonly after: number;
}

/**
 * Who follows changes. Calls come in order of revision and never overlap; a batch holds the changes of one or more commits.
 * `ended` comes at most once and last: with an error when history is gone (`Compacted`), the store failed or the watcher itself threw,
 * without one when the store was closed. Nothing comes before `watch` has returned or after its handle was disposed.
 */
export interface Watcher {
  changes(batch: readonly Change[]): void;
  /** Everything up to `revision` that concerns this watch has been told. Comes once history is told, and then some time after others' changes. */
  progress?(revision: number): void;
  ended(error?: Error): void;
}

/** A lease: records written under it are deleted by the store when it runs out. */
export type LeaseId = number;

export interface WriteOptions {
  readonly lease?: LeaseId;
}

/** The outcome of an attempt at a turn. */
export interface CompactionTurn {
  readonly taken: boolean;
  readonly next: number;
  readonly revision: number;
}

/** A value, or the promise of one where the store has to wait. */
export type Eventually<T> = T | Promise<T>;

/**
 * A revisioned key-value store: one increasing revision for the whole store. Reads and watches see only what is durable; compares see
 * what is pending, so of two writers with the same expectation one wins. A resolved write is on disk; one that failed (a full disk) changed nothing. Every method throws (or rejects
 * with) `StoreClosed` after `close`.
 */
export interface Store {
  /** Whether other servers may hold the same store. */
  readonly shared: boolean;
  /** The newest durable revision. An empty store is at revision 1, so that zero can mean "any". */
  revision(): Eventually<number>;
  get(key: string, options?: ReadOptions): Eventually<StoredRecord | undefined>;
  /** Throws `Compacted` for a revision whose history is gone, `FutureRevision` for one not reached yet. */
  range(query: RangeQuery): Eventually<Range>;
  count(start: string, end: string): Eventually<number>;
  /** Puts a new key and resolves to its revision. Throws `KeyExists` when there is one, and like `update` `ValueTooLarge` for a value beyond what the store takes. */
  create(key: string, value: Buffer, options?: WriteOptions): Promise<number>;
  /** Replaces the value if the key's revision is still `expected`. Throws `RevisionMismatch` otherwise, also when the key is gone. */
  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number>;
  /** Deletes the key if its revision is still `expected` and resolves to the revision of the deletion. Throws `RevisionMismatch` otherwise. */
  delete(key: string, expected: number): Promise<number>;
  /** Follows changes until the returned handle is disposed. */
  watch(query: WatchQuery, watcher: Watcher): Disposable;
  /** Forgets what was before `revision`: reads and watches from it on stay exact. One already compacted is left alone; throws `FutureRevision`. */
  compact(revision: number): Promise<void>;
  /**
   * Only where others may hold the same store: takes turn number `turn` (from zero) at compacting, unless another server has. Answers whether this one has, which turn is next, and the
   * newest revision.
   */
  takeTurn?(turn: number, revision: number): Promise<CompactionTurn>;
  /** The oldest revision that can still be read or watched from; zero when nothing was compacted. */
  compacted(): Eventually<number>;
  /** A lease that runs out `seconds` from now. It survives a restart from the first write under it; writing under one that ran out throws `LeaseNotFound`. */
  lease(seconds: number): Eventually<LeaseId>;
  /** How many bytes the store takes on its medium. */
  size(): Eventually<number>;
  close(): Promise<void>;
}

/** The exclusive end of all keys that begin with `prefix` (which must not be empty). */
export const endOfPrefix = (prefix: string): string => prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
