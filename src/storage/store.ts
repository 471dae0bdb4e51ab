import type {Eventually} from '#src/base/eventually.js';
import type {Clock} from '#src/base/clock.js';

/**
 * One stored record. `key` holds no NUL and at most 1,900 bytes of UTF-8. `revision` is that of its last write,
 * `created` that of its creation; the value is opaque to the store and must not be changed once it was passed to or
 * returned by it.
 */
export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly revision: number;
  readonly created: number;
  /**
   * Whether the record should be rewritten even if unchanged, because its stored encoding is outdated. Set by stores
   * that translate records.
   */
  readonly isStale?: boolean | undefined;
  /** The lease the record was last written under. */
  readonly lease?: LeaseId | undefined;
}

/**
 * One change of one key. `previous` is the record before it (absent for a creation); for a deletion `record` is absent
 * and `revision` is the deletion's.
 */
export interface Change {
  readonly key: string;
  readonly revision: number;
  readonly record?: StoredRecord | undefined;
  readonly previous?: StoredRecord | undefined;
}

export interface ReadOptions {
  /**
   * Whether a cached, possibly slightly outdated value is acceptable. The caller's own writes are seen all the same.
   */
  readonly near?: boolean;
}

/** Selects records of a range. */
export interface RecordFilter {
  /** Filters with the same id let through the same records, so that a store may remember which those are. */
  readonly id?: string | undefined;
  /** Returns whether the record of a key at a revision passes; undefined when that needs its value. */
  known(key: string, revision: number): boolean | undefined;
  /** Returns whether a record passes, by its value. */
  passes(record: StoredRecord): boolean;
  /**
   * Returns the least key that may pass behind one that does not; undefined where the key itself may. A store need not
   * read the keys between. Absent where that is always the next one.
   */
  readonly next?: ((key: string) => string | undefined) | undefined;
  /** Whether `passes` may parse the value, as for a field; labels are read without. Absent means that it may. */
  readonly parses?: boolean | undefined;
}

export interface RangeQuery extends ReadOptions {
  /** Keys are compared bytewise: from `start` inclusive to `end` exclusive. */
  readonly start: string;
  readonly end: string;
  /** The maximum number of records; absent means all. */
  readonly limit?: number;
  /** The range ends with the record that brings the values to this many bytes; absent means no bound. */
  readonly bytes?: number;
  /** The revision to read at; absent means the newest durable one. */
  readonly revision?: number;
  /**
   * Only records that pass are returned and count towards the limit. The range then also ends after a bounded number of
   * examined keys.
   */
  readonly filter?: RecordFilter | undefined;
}

export interface Range {
  readonly records: readonly StoredRecord[];
  /** The revision the range was read at. */
  readonly revision: number;
  /** Whether the range was cut off by the limit, by the bytes or by the number of keys a filter examines. */
  readonly more: boolean;
  /** With a filter, the last key examined: the rest of the range begins after it. */
  readonly reached?: string | undefined;
}

export interface WatchQuery {
  readonly start: string;
  readonly end: string;
  /** Changes after this revision are delivered exactly once, first from history, then live. */
  readonly after: number;
}

/**
 * Receives the changes of a watch. Calls come in order of revision and never overlap; a batch holds the changes of one
 * or more commits. `ended` is called at most once and last: with an error when history is gone (`Compacted`), the store
 * failed or the watcher itself threw, without one when the store was closed. No call is made before `watch` has
 * returned or after its handle was disposed of.
 */
export interface Watcher {
  /**
   * Where it returns a promise, history beyond the batch is read once that resolves. Changes that are not history are
   * delivered all the same.
   */
  changes(batch: readonly Change[]): unknown;
  /**
   * Called when all changes of this watch up to `revision` have been delivered: once after history, then some time
   * after changes outside its range.
   */
  progress?(revision: number): void;
  ended(error?: Error): void;
}

/** A lease: the store deletes the records written under it when it expires. */
export type LeaseId = number;

export interface WriteOptions {
  readonly lease?: LeaseId;
  /**
   * The value in the form in which the servers of the store keep it (`RecordEncoding`), where that was made in another
   * thread already.
   */
  readonly encoded?: Buffer;
}

/** The outcome of an attempt to take a compaction turn. */
export interface CompactionTurn {
  readonly taken: boolean;
  readonly next: number;
  readonly revision: number;
}

/**
 * Whether a store that servers keep is still the same: their data may be wiped, or restored from a backup, while this
 * process runs.
 */
export interface Continuity {
  /** Why reads may be incomplete at present; undefined if they are not. */
  readonly problem: string | undefined;
  /**
   * Calls the listener whenever the data were replaced: everything known by key and revision is invalid. Watches have
   * ended with `Compacted`. With `key`, only when they were those of the store that keeps it.
   */
  onReplaced(listener: () => void, key?: string): Disposable;
}

/** The newest revision at a time. */
export interface RevisionNote {
  readonly revision: number;
  /** Wall time in ms. */
  readonly at: number;
}

/**
 * A revisioned key-value store with one increasing revision, or several such stores for different keys. Reads and
 * watches see only durable writes; compares also see pending ones, so of two writers with the same expectation one
 * wins. A resolved write is on disk; a failed one (full disk) changed nothing. Every method throws (or rejects with)
 * `StoreClosed` after `close`.
 */
export interface Store {
  /** Whether other servers may hold the same store. */
  readonly shared: boolean;
  /** Absent for a store whose data cannot be replaced while it is open. */
  readonly continuity?: Continuity | undefined;
  /**
   * The stores that make up this one, for compaction, health and size, the default one first. Absent for a single
   * store.
   */
  readonly parts?: readonly Store[] | undefined;
  /**
   * The newest durable revision, of the store that keeps `key` if there are several. An empty store is at revision 1,
   * so that zero can mean "any".
   */
  revision(key?: string): Eventually<number>;
  get(key: string, options?: ReadOptions): Eventually<StoredRecord | undefined>;
  /** Throws `Compacted` for a compacted revision, `FutureRevision` for one not reached yet. */
  range(query: RangeQuery): Eventually<Range>;
  /**
   * Counts the keys of a range at a revision, without reading those that have not changed since; absent means the
   * newest. Throws as `range`.
   */
  count(start: string, end: string, revision?: number): Eventually<number>;
  /**
   * Creates a key and resolves to its revision. Rejects with `KeyExists` when the key exists and, like `update`, with
   * `ValueTooLarge` beyond the store's limit.
   */
  create(key: string, value: Buffer, options?: WriteOptions): Promise<number>;
  /**
   * Replaces the value if the key's revision is `expected`. Rejects with `RevisionMismatch` otherwise, also when the
   * key is gone.
   */
  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number>;
  /**
   * Deletes the key if its revision is `expected` and resolves to the revision of the deletion. Rejects with
   * `RevisionMismatch` otherwise.
   */
  delete(key: string, expected: number): Promise<number>;
  /** Delivers changes until the returned handle is disposed of. */
  watch(query: WatchQuery, watcher: Watcher): Disposable;
  /**
   * Discards history before `revision`: reads and watches from it on stay exact. Does nothing for a compacted revision;
   * rejects with `FutureRevision`.
   */
  compact(revision: number): Promise<void>;
  /**
   * Only for shared stores: takes compaction turn number `turn` (from zero), unless another server has. Resolves to
   * whether it was taken, the next turn and the newest revision.
   */
  takeTurn?(turn: number, revision: number): Promise<CompactionTurn>;
  /**
   * The newest revision of a time in the past, for the next compaction. Absent where the store keeps no such note, as
   * shared ones do; undefined if there is none.
   */
  noted?(): RevisionNote | undefined;
  /** Replaces the note, durably if the store outlives the process. */
  note?(note: RevisionNote): Promise<void>;
  /** Returns the oldest revision that can be read or watched from; zero when nothing was compacted. */
  compacted(): Eventually<number>;
  /**
   * Grants a lease that expires in `seconds`, in the store that keeps `key` if there are several. It survives a restart
   * from the first write under it; writing under an expired one rejects with `LeaseNotFound`.
   */
  lease(seconds: number, key?: string): Eventually<LeaseId>;
  /** Returns the stored size in bytes. */
  size(): Eventually<number>;
  /** Why the store takes no writes at present; undefined if it does. Absent for a store that does not know. */
  writeProblem?(): Eventually<string | undefined>;
  /**
   * Returns the durable state of this moment: records, revision, history and leases. Stores opened with it share the
   * records. Absent for a store whose records are not in this process's memory.
   */
  snapshot?(): StoreSnapshot;
  /** Present if the store was opened with a snapshot. */
  readonly origin?: StoreOrigin | undefined;
  close(): Promise<void>;
}

/** Where a store began: the same for all stores that were opened with one snapshot. */
export interface StoreOrigin {
  /** Records up to this revision are the snapshot's, and have the same values in these stores. */
  readonly revision: number;
}

/** The state of a store at one moment. */
export interface StoreSnapshot {
  /** The newest revision of the state. */
  readonly revision: number;
  /** Opens an independent store with the state, whose leases end by the given clock. */
  open(clock: Clock): Store;
}

/** Returns the exclusive end of the keys that begin with `prefix` (which must not be empty). */
export const endOfPrefix = (prefix: string): string => prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
