import type {Eventually} from '#src/base/eventually.js';
import {guarded, withClockHeld, type Clock} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';
import {Compacted, FutureRevision, KeyExists, RevisionMismatch, StoreClosed, ValueTooLarge} from '#src/storage/errors.js';
import type {
  LeaseId,
  Range,
  RangeQuery,
  RevisionNote,
  Store,
  StoredRecord,
  StoreOrigin,
  StoreSnapshot,
  Watcher,
  WatchQuery,
  WriteOptions,
} from '#src/storage/store.js';
import {checkKey, compareKeys} from './keys.js';
import {Leases} from './leases.js';
import type {EngineChange, GrantedLease, HeldRecord, StorageEngine} from './engine.js';
import {Watchers} from './watchers.js';

// A store in this process, in memory or in a file: an engine keeps the records, this module queues writes, counts
// revisions, and serves reads, history and watches.

/** A queued change and the promise of its writer. */
interface Pending {
  readonly change: EngineChange;
  readonly granted: GrantedLease | undefined;
  readonly resolve: (revision: number) => void;
  readonly reject: (error: unknown) => void;
}

/** The maximum size of a value: that of a request body. */
const maxValueBytes = 3 << 20;

const checkValue = ({length}: Buffer): void => {
  if (length > maxValueBytes) throw ValueTooLarge.beyond(maxValueBytes, length);
};

/** How many keys are counted at once: a few ms. */
const countAtOnce = 5_000;

/** A count of the keys of a range at a revision; the keys from `next` on are still to be counted. */
interface CountQuery {
  readonly start: string;
  readonly end: string;
  readonly revision: number;
  readonly next: string | undefined;
}

/** The keys that were counted: pieces with their first key and the revision at that time. */
interface CountedKeys {
  readonly pieces: {readonly from: string; readonly at: number}[];
  readonly count: number;
}

/** How many changes are read at once to count the keys of an earlier revision. */
const scanAtOnce = 50;

/** Throws for a revision that cannot be read. */
const checkRevision = (engine: StorageEngine, revision: number): void => {
  if (revision > engine.revision()) throw new FutureRevision(engine.revision());
  if (revision < engine.compacted()) throw new Compacted(engine.compacted());
};

/** How many records of an expired lease are deleted in one commit. */
const expireBatch = 500;

/**
 * A store in this process over a storage engine. Writes are checked against the newest record, pending ones included,
 * and get their revision when called; all writes called during a commit share the next one.
 */
export class LocalStore implements Store {
  readonly shared = false;
  readonly noted?: () => RevisionNote | undefined;
  readonly note?: (note: RevisionNote) => Promise<void>;
  readonly snapshot?: () => StoreSnapshot;
  readonly origin: StoreOrigin | undefined;
  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #watchers: Watchers;
  readonly #leases: Leases;
  /** The newest change of each key that is not durable yet, and its outcome. */
  readonly #pending = new Map<string, {readonly change: EngineChange; readonly done: Promise<number>}>();
  #queue: Pending[] = [];
  /** The last assigned revision. */
  #last: number;
  #committing: Promise<void> | undefined;
  #compacting: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(engine: StorageEngine, clock: Clock, leases: Iterable<GrantedLease> = engine.leases(), origin?: StoreOrigin) {
    this.#engine = engine;
    this.#clock = clock;
    this.origin = origin;
    this.#last = engine.revision();
    this.#watchers = new Watchers(engine, clock);
    if (engine.note) {
      this.noted = () => this.#open().noted?.();
      this.note = async note => this.#open().note?.(note);
    }
    if (engine.copy) this.snapshot = () => this.#snapshot();
    this.#leases = new Leases(clock, leases, lease => this.#expire(lease));
  }

  revision(): number {
    return this.#open().revision();
  }

  compacted(): number {
    return this.#open().compacted();
  }

  get(key: string): StoredRecord | undefined {
    return this.#open().get(key);
  }

  range({start, end, limit = Infinity, bytes = Infinity, filter, revision, near}: RangeQuery): Range {
    const engine = this.#open();
    // Most such reads are of a namespace without quotas, before each write: the newest revision would cost more than
    // the answer.
    if (near && revision === undefined && engine.isEmpty?.(start, end))
      return {records: [], revision: this.#watchers.notified, more: false};
    const newest = engine.revision();
    const at = revision ?? newest;
    if (revision !== undefined) checkRevision(engine, revision);
    if (limit < 1 || compareKeys(start, end) >= 0) return {records: [], revision: at, more: false};
    const extent = {limit, bytes, filter};
    const {records, more, reached} = at === newest ? engine.range(start, end, extent) : engine.rangeAt(start, end, extent, at);
    return {records, revision: at, more, reached};
  }

  count(start: string, end: string, revision?: number): Eventually<number> {
    const engine = this.#open();
    if (revision !== undefined) checkRevision(engine, revision);
    if (compareKeys(start, end) >= 0) return 0;
    const newest = engine.revision();
    const first = engine.count(start, end, countAtOnce);
    if (first.next === undefined && (revision ?? newest) === newest) return first.count;
    const counted: CountedKeys = {pieces: [{from: start, at: newest}], count: first.count};
    return withClockHeld(this.#clock, () => this.#countAt({start, end, revision: revision ?? newest, next: first.next}, counted));
  }

  async create(key: string, value: Buffer, {lease}: WriteOptions = {}): Promise<number> {
    this.#open();
    checkKey(key);
    checkValue(value);
    if (this.#newest(key)) return this.#rejectWrite(key, new KeyExists(`${key} exists`));
    const granted = lease === undefined ? undefined : this.#leases.use(lease);
    const revision = ++this.#last;
    return await this.#write({key, revision, record: {key, value, revision, created: revision, lease}, previous: undefined}, granted);
  }

  async update(key: string, value: Buffer, expected: number, {lease}: WriteOptions = {}): Promise<number> {
    this.#open();
    checkValue(value);
    const previous = this.#newest(key);
    if (previous?.revision !== expected) return this.#rejectWrite(key, mismatch(key, expected, previous));
    if (previous.damage) throw previous.damage;
    const granted = lease === undefined ? undefined : this.#leases.use(lease);
    const revision = ++this.#last;
    return await this.#write({key, revision, record: {key, value, revision, created: previous.created, lease}, previous}, granted);
  }

  async delete(key: string, expected: number): Promise<number> {
    this.#open();
    const previous = this.#newest(key);
    return previous?.revision === expected ? this.#remove(previous) : this.#rejectWrite(key, mismatch(key, expected, previous));
  }

  watch(query: WatchQuery, watcher: Watcher): Disposable {
    this.#open();
    return this.#watchers.watch(query, watcher);
  }

  compact(revision: number): Promise<void> {
    const compact = async () => {
      const engine = this.#open();
      if (revision > engine.revision()) throw new FutureRevision(engine.revision());
      if (revision > engine.compacted()) await engine.compact(revision);
    };
    const done = this.#compacting.then(compact);
    this.#compacting = done.catch(() => {});
    return done;
  }

  lease(seconds: number): LeaseId {
    this.#open();
    return this.#leases.grant(seconds);
  }

  size(): number {
    return this.#open().size();
  }

  writeProblem(): Eventually<string | undefined> {
    return this.#open().writeProblem?.();
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#shut());
  }

  /** Counts the keys in pieces, each at the newest revision of its time, and back from there by the changes since. */
  async #countAt({start, end, revision, next: begun}: CountQuery, {pieces: counted, count}: CountedKeys): Promise<number> {
    const pieces = new Yielder(this.#clock);
    for (let from = begun; from !== undefined;) {
      await pieces.pause();
      const engine = this.#open();
      counted.push({from, at: engine.revision()});
      const {count: some, next} = engine.count(from, end, countAtOnce);
      count += some;
      from = next;
    }
    const newest = counted.at(-1)!.at;
    for (let after = revision; after < newest;) {
      await pieces.pause();
      const engine = this.#open();
      checkRevision(engine, revision);
      const {changes, reached} = engine.history({start, end, after, upTo: newest, scan: scanAtOnce, bytes: Infinity});
      for (const {key, revision: changed, record, previous} of changes) {
        const {at} = counted.findLast(({from}) => compareKeys(from, key) <= 0)!;
        if (changed <= at) count += Number(previous !== undefined) - Number(record !== undefined);
      }
      after = reached;
    }
    return count;
  }

  #snapshot(): StoreSnapshot {
    const engine = this.#open().copy!();
    const leases = this.#leases.active();
    const origin: StoreOrigin = {revision: engine.revision()};
    return {revision: origin.revision, open: clock => new LocalStore(engine.copy!(), clock, leases, origin)};
  }

  async #shut(): Promise<void> {
    this.#leases.stop();
    while (this.#committing) await this.#committing;
    await this.#compacting;
    this.#watchers.end();
    await this.#engine.close();
  }

  #open(): StorageEngine {
    if (this.#closed) throw new StoreClosed();
    return this.#engine;
  }

  /** Returns the record that the next write must be checked against, readable or not. */
  #newest(key: string): HeldRecord | undefined {
    const pending = this.#pending.get(key);
    return pending ? pending.change.record : this.#engine.held(key);
  }

  /**
   * Rejects a write, after the pending write it lost to is durable, or with that write's error: rejections, too,
   * reflect durable state only.
   */
  async #rejectWrite(key: string, error: Error): Promise<never> {
    await this.#pending.get(key)?.done;
    throw error;
  }

  #remove(previous: HeldRecord): Promise<number> {
    const {key, damage} = previous;
    return this.#write({key, revision: ++this.#last, record: undefined, previous, ...(damage ? {damage} : {})}, undefined);
  }

  #write(change: EngineChange, granted: GrantedLease | undefined): Promise<number> {
    const done = new Promise<number>((resolve, reject) => this.#queue.push({change, granted, resolve, reject}));
    this.#pending.set(change.key, {change, done});
    this.#committing ??= this.#commitAll();
    return done;
  }

  /** Commits until the queue is empty. Holds the clock meanwhile. */
  async #commitAll(): Promise<void> {
    const hold = this.#clock.hold();
    while (this.#queue.length > 0) {
      // All writes of this turn share the commit; the event loop runs between two commits.
      await new Promise<void>(resolve => setImmediate(resolve));
      const batch = this.#queue;
      this.#queue = [];
      await this.#commit(batch);
    }
    this.#committing = undefined;
    hold[Symbol.dispose]();
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    const changes = batch.map(({change}) => change);
    const granted = batch.flatMap(entry => entry.granted ?? []);
    try {
      const durable = this.#engine.commit({changes, granted, forgotten: []});
      if (durable) await durable;
    } catch (error) {
      this.#leases.unstore(granted);
      this.#fail(batch, error);
      return;
    }
    for (const change of changes) if (this.#pending.get(change.key)?.change === change) this.#pending.delete(change.key);
    guarded(
      () => this.#watchers.notify(changes),
      error => this.#clock.unhandled(error),
    );
    for (const {change, resolve} of batch) resolve(change.revision);
  }

  /** Fails a batch and everything queued after it, which was checked against the batch. */
  #fail(batch: readonly Pending[], error: unknown): void {
    const queued = this.#queue;
    this.#queue = [];
    this.#leases.unstore(queued.flatMap(entry => entry.granted ?? []));
    this.#pending.clear();
    this.#last = this.#engine.revision();
    for (const {reject} of [...batch, ...queued]) reject(error);
  }

  /** Deletes the records of an expired lease. After a crash the next start continues. */
  async #expire(lease: LeaseId): Promise<void> {
    const hold = this.#clock.hold();
    try {
      for (;;) {
        // A write under the lease may still be pending.
        while (this.#committing) await this.#committing;
        const keys = this.#open().keysUnder(lease, expireBatch);
        if (keys.length === 0) break;
        const records = keys.flatMap(key => this.#newest(key) ?? []).filter(record => record.lease === lease || isUnknown(record));
        if (records.length === 0) break;
        await Promise.all(records.map(record => this.#remove({...record, lease})));
      }
      await this.#open().commit({changes: [], granted: [], forgotten: [lease]});
    } finally {
      hold[Symbol.dispose]();
    }
  }
}

/** Whether a record is so damaged that its lease cannot be read. */
const isUnknown = ({damage, lease}: HeldRecord): boolean => damage !== undefined && lease === undefined;

const mismatch = (key: string, expected: number, newest: StoredRecord | undefined): RevisionMismatch =>
  new RevisionMismatch(newest ? `${key} is at revision ${newest.revision}, not ${expected}` : `${key} is gone`);
