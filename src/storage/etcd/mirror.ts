import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {Watchers} from '#src/storage/local/watchers.js';
import {within} from '#src/storage/local/keys.js';
import {everything, type Extent, type Page} from '#src/storage/local/page.js';
import {MemoryMedium} from '#src/storage/memory/medium.js';
import {endOfPrefix, type Change, type LeaseId, type StoredRecord} from '#src/storage/store.js';
import type {StoredForm} from './form.js';
import type {KeyValue} from './messages.js';

export interface MirrorSettings {
  readonly prefix: string;
  readonly form: StoredForm;
  readonly clock: Clock;
  readonly log: Log;
}

/** So many changes are kept at least, once there were as many; older ones go when there are twice as many. */
const keptChanges = 20_000;

/** A copy of all records below a prefix, with the changes of late, and all who follow them. Every record is read from the store's form once. */
export class Mirror {
  readonly #settings: MirrorSettings;
  readonly #start: string;
  readonly #end: string;
  readonly #medium: MemoryMedium;
  readonly watchers: Watchers;
  /** Records that cannot be read, and why. */
  readonly #unreadable = new WeakMap<StoredRecord, Error>();
  /** What this server is about to put: it need not be read again when it comes back. */
  readonly #own = new Map<string, {readonly bytes: Buffer; readonly value: Buffer}[]>();
  #changes: number[] = [];

  constructor(settings: MirrorSettings, kvs: readonly KeyValue[], revision: number) {
    this.#settings = settings;
    this.#start = settings.prefix;
    this.#end = endOfPrefix(settings.prefix);
    this.#medium = new MemoryMedium({records: kvs.map(kv => this.#recordOf(kv)), revision});
    this.watchers = new Watchers(this.#medium, settings.clock);
  }

  get revision(): number {
    return this.#medium.revision();
  }

  /** The oldest revision that can be read or followed from here. */
  get oldest(): number {
    return this.#medium.compacted();
  }

  /** Whether all of a range lies here, or a single key that is both of its ends. */
  covers(start: string, end: string): boolean {
    if (start === end) return within(start, this.#start, this.#end);
    return within(start, this.#start, this.#end) && (end <= this.#end || !within(end, this.#start, `${this.#end}\uffff`));
  }

  /** The record of what was read from the store: the one at hand, if it is that. Throws for one that cannot be read. */
  shown(kv: KeyValue): StoredRecord {
    const known = this.#medium.get(kv.key);
    return this.#readable(known?.revision === kv.revision ? known : this.#recordOf(kv));
  }

  /** Throws for one that cannot be read. */
  get(key: string): StoredRecord | undefined {
    const record = this.#medium.get(key);
    return record && this.#readable(record);
  }

  range(start: string, end: string, {sieve, ...bounds}: Extent, revision: number): Page {
    const extent = {...bounds, sieve: sieve && {known: (key: string, at: number) => sieve.known(key, at), passes: (record: StoredRecord) => sieve.passes(this.#readable(record))}};
    const page = revision === this.revision ? this.#medium.range(start, end, extent) : this.#medium.rangeAt(start, end, extent, revision);
    for (const record of page.records) this.#readable(record);
    return page;
  }

  count(start: string, end: string): number {
    return this.#medium.count(start, end);
  }

  /** Remembers what is about to be put under a key, until the handle is disposed of. */
  expect(key: string, bytes: Buffer, value: Buffer): Disposable {
    const entry = {bytes, value};
    const known = this.#own.get(key);
    if (known) known.push(entry);
    else this.#own.set(key, [entry]);
    return {
      [Symbol.dispose]: () => {
        const left = this.#own.get(key)!.filter(other => other !== entry);
        if (left.length > 0) this.#own.set(key, left);
        else this.#own.delete(key);
      },
    };
  }

  /** Takes in what changed in the whole store, in order, and tells those whom it concerns. */
  apply(events: readonly {readonly isDeletion: boolean; readonly kv: KeyValue}[]): void {
    const changes: Change[] = [];
    let newest = this.revision;
    for (const {isDeletion, kv} of events) {
      newest = Math.max(newest, kv.revision);
      if (!within(kv.key, this.#start, this.#end)) continue;
      const change = this.#changeOf(kv, isDeletion);
      if (!change) continue;
      changes.push(change);
      this.#medium.commit({changes: [change], granted: [], forgotten: []});
    }
    this.#tell(changes, newest);
  }

  /** Takes in what there is now, where the changes that led to it are lost. */
  replace(kvs: readonly KeyValue[], revision: number): void {
    const present = new Set(kvs.map(({key}) => key));
    const known = this.#medium.range(this.#start, this.#end, everything).records;
    const gone = known.filter(({key}) => !present.has(key)).map(({key}) => ({isDeletion: true, kv: {key, revision, created: 0, version: 0, lease: 0, value: Buffer.alloc(0)}}));
    const other = kvs.filter(({key, revision: at}) => this.#medium.get(key)?.revision !== at).map(kv => ({isDeletion: false, kv}));
    this.apply([...other.sort((a, b) => a.kv.revision - b.kv.revision), ...gone]);
    this.skip(revision);
  }

  /** Goes on to a revision up to which nothing else happened. */
  skip(revision: number): void {
    if (revision > this.revision) this.#tell([], revision);
  }

  compact(revision: number): void {
    const target = Math.min(revision, this.revision);
    if (target > this.oldest) this.#medium.compact(target);
    this.#changes = this.#changes.filter(at => at > target);
  }

  close(): void {
    this.watchers.end();
    this.#medium.close();
  }

  #tell(changes: readonly Change[], revision: number): void {
    this.#medium.skip(revision);
    this.watchers.tell(changes, revision);
    for (const change of changes) this.#changes.push(change.revision);
    if (this.#changes.length > 2 * keptChanges) this.compact(this.#changes[this.#changes.length - keptChanges]!);
  }

  #changeOf(kv: KeyValue, isDeletion: boolean): Change | undefined {
    const {key, revision} = kv;
    const previous = this.#medium.get(key);
    if (isDeletion) return previous && {key, revision, previous};
    return {key, revision, record: this.#recordOf(kv), previous};
  }

  #recordOf(kv: KeyValue): StoredRecord {
    const {key, revision, created} = kv;
    const lease: LeaseId | undefined = kv.lease > 0 && Number.isSafeInteger(kv.lease) ? kv.lease : undefined;
    const own = this.#own.get(key)?.find(({bytes}) => bytes.equals(kv.value));
    if (own) return {key, value: own.value, revision, created, lease};
    try {
      return {key, value: this.#settings.form.shown(key, kv.value), revision, created, lease};
    } catch (error) {
      this.#settings.log.error({key, revision, err: error}, 'a record in the store cannot be read');
      const record = {key, value: kv.value, revision, created, lease};
      this.#unreadable.set(record, new Error(`what the store holds under ${key} cannot be read: ${messageOf(error)}`, {cause: error}));
      return record;
    }
  }

  #readable(record: StoredRecord): StoredRecord {
    const error = this.#unreadable.get(record);
    if (error) throw error;
    return record;
  }
}
