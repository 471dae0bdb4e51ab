import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {ValueUnreadable} from '#src/storage/errors.js';
import {Watchers} from '#src/storage/local/watchers.js';
import {isKeyInRange} from '#src/storage/local/keys.js';
import {everything, type Extent, type Page} from '#src/storage/local/page.js';
import {MemoryEngine} from '#src/storage/memory/engine.js';
import {endOfPrefix, type Change, type LeaseId, type StoredRecord} from '#src/storage/store.js';
import type {RecordEncoding} from './encoding.js';
import type {KeyValue} from './messages.js';

export interface WatchCacheSettings {
  readonly prefix: string;
  readonly encoding: RecordEncoding;
  readonly clock: Clock;
  readonly log: Log;
}

/** The number of changes that are kept; the oldest are discarded at twice as many. */
const minChanges = 20_000;

/** A copy of all records below a prefix, with their recent changes and watchers. Every record is decoded once. */
export class WatchCache {
  readonly #settings: WatchCacheSettings;
  readonly #start: string;
  readonly #end: string;
  readonly #engine: MemoryEngine;
  readonly watchers: Watchers;
  /** Records that could not be decoded, with the error. */
  readonly #unreadable = new WeakMap<StoredRecord, Error>();
  /** Values this server is about to put: they need no decoding when the watch returns them. */
  readonly #expectedPuts = new Map<string, {readonly bytes: Buffer; readonly value: Buffer}[]>();
  #changes: number[] = [];

  constructor(settings: WatchCacheSettings, kvs: readonly KeyValue[], revision: number) {
    this.#settings = settings;
    this.#start = settings.prefix;
    this.#end = endOfPrefix(settings.prefix);
    this.#engine = new MemoryEngine({records: kvs.map(kv => this.#recordOf(kv)), revision});
    this.watchers = new Watchers(this.#engine, settings.clock);
  }

  get revision(): number {
    return this.#engine.revision();
  }

  /** The oldest revision that can be read or watched from. */
  get oldest(): number {
    return this.#engine.compacted();
  }

  /** Returns whether the cache covers a range, or a single key given as both ends. */
  covers(start: string, end: string): boolean {
    if (start === end) return isKeyInRange(start, this.#start, this.#end);
    return isKeyInRange(start, this.#start, this.#end) && (end <= this.#end || !isKeyInRange(end, this.#start, `${this.#end}\uffff`));
  }

  /**
   * Returns the record of a key-value pair, from the cache if it has that revision. Throws for one that cannot be
   * decoded.
   */
  decoded(kv: KeyValue): StoredRecord {
    const known = this.#engine.get(kv.key);
    return this.#readable(known?.revision === kv.revision ? known : this.#recordOf(kv));
  }

  /** Throws for a record that cannot be decoded. */
  get(key: string): StoredRecord | undefined {
    const record = this.#engine.get(key);
    return record && this.#readable(record);
  }

  range(start: string, end: string, {filter, ...bounds}: Extent, revision: number): Page {
    const extent = {
      ...bounds,
      filter: filter && {
        parses: filter.parses,
        known: (key: string, at: number) => filter.known(key, at),
        passes: (record: StoredRecord) => filter.passes(this.#readable(record)),
      },
    };
    const page = revision === this.revision ? this.#engine.range(start, end, extent) : this.#engine.rangeAt(start, end, extent, revision);
    for (const record of page.records) this.#readable(record);
    return page;
  }

  count(start: string, end: string): number {
    return this.#engine.count(start, end).count;
  }

  /** Registers a value that is about to be put, until the handle is disposed of. */
  expect(key: string, bytes: Buffer, value: Buffer): Disposable {
    const entry = {bytes, value};
    const known = this.#expectedPuts.get(key);
    if (known) known.push(entry);
    else this.#expectedPuts.set(key, [entry]);
    return {
      [Symbol.dispose]: () => {
        const left = this.#expectedPuts.get(key)!.filter(other => other !== entry);
        if (left.length > 0) this.#expectedPuts.set(key, left);
        else this.#expectedPuts.delete(key);
      },
    };
  }

  /** Applies changes of the whole store, in order, and notifies the watchers. */
  apply(events: readonly {readonly isDeletion: boolean; readonly kv: KeyValue}[]): void {
    const changes: Change[] = [];
    let newest = this.revision;
    for (const {isDeletion, kv} of events) {
      newest = Math.max(newest, kv.revision);
      if (!isKeyInRange(kv.key, this.#start, this.#end)) continue;
      const change = this.#changeOf(kv, isDeletion);
      if (!change) continue;
      changes.push(change);
      this.#engine.commit({changes: [change], granted: [], forgotten: []});
    }
    this.#notify(changes, newest);
  }

  /** Returns a pair that is not newer than the cache and yet not in it: it belongs to another history. */
  contradiction(kvs: readonly KeyValue[]): KeyValue | undefined {
    return kvs.find(({key, revision}) => revision <= this.revision && this.#engine.get(key)?.revision !== revision);
  }

  /** Replaces all records after changes were missed. */
  replace(kvs: readonly KeyValue[], revision: number): void {
    const present = new Set(kvs.map(({key}) => key));
    const known = this.#engine.range(this.#start, this.#end, everything).records;
    const gone = known
      .filter(({key}) => !present.has(key))
      .map(({key}) => ({isDeletion: true, kv: {key, revision, created: 0, version: 0, lease: 0, value: Buffer.alloc(0)}}));
    const other = kvs.filter(({key, revision: at}) => this.#engine.get(key)?.revision !== at).map(kv => ({isDeletion: false, kv}));
    this.apply([...other.sort((a, b) => a.kv.revision - b.kv.revision), ...gone]);
    this.advanceTo(revision);
  }

  /** Advances to a revision without further changes. */
  advanceTo(revision: number): void {
    if (revision > this.revision) this.#notify([], revision);
  }

  compact(revision: number): void {
    const target = Math.min(revision, this.revision);
    if (target > this.oldest) this.#engine.compact(target);
    this.#changes = this.#changes.filter(at => at > target);
  }

  /** Closes the cache; its watches end with `error`, or as those of a closed store. */
  close(error?: Error): void {
    this.watchers.end(error);
    this.#engine.close();
  }

  #notify(changes: readonly Change[], revision: number): void {
    this.#engine.advanceTo(revision);
    this.watchers.notify(changes, revision);
    for (const change of changes) this.#changes.push(change.revision);
    if (this.#changes.length > 2 * minChanges) this.compact(this.#changes[this.#changes.length - minChanges]!);
  }

  #changeOf(kv: KeyValue, isDeletion: boolean): Change | undefined {
    const {key, revision} = kv;
    const previous = this.#engine.get(key);
    if (isDeletion) return previous && {key, revision, previous};
    return {key, revision, record: this.#recordOf(kv), previous};
  }

  #recordOf(kv: KeyValue): StoredRecord {
    const {key, revision, created} = kv;
    const lease: LeaseId | undefined = kv.lease > 0 && Number.isSafeInteger(kv.lease) ? kv.lease : undefined;
    const own = this.#expectedPuts.get(key)?.find(({bytes}) => bytes.equals(kv.value));
    if (own) return {key, value: own.value, revision, created, lease};
    try {
      return {key, value: this.#settings.encoding.decode(key, kv.value), revision, created, lease};
    } catch (error) {
      this.#settings.log.error({key, revision, err: error}, 'a record in the store cannot be read');
      const record = {key, value: kv.value, revision, created, lease};
      const message = `what the store holds under ${key} cannot be read: ${messageOf(error)}`;
      this.#unreadable.set(record, new ValueUnreadable(message, {key, revision, step: 'decode', cause: error}));
      return record;
    }
  }

  #readable(record: StoredRecord): StoredRecord {
    const error = this.#unreadable.get(record);
    if (error) throw error;
    return record;
  }
}
