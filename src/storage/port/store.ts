import {StoreClosed} from '#src/storage/errors.js';
import {longestRecord, type RecordEncoding} from '#src/storage/etcd/encoding.js';
import {maxFilteredKeys, PageReader} from '#src/storage/local/page.js';
import type {Continuity, Range, RangeQuery, RecordFilter, Store, StoredRecord, Watcher, WriteOptions} from '#src/storage/store.js';
import {
  errorOf,
  received,
  type CallResult,
  type FromStore,
  type SentWriteOptions,
  type StoreCall,
  type StoreCalls,
  type ToStore,
} from './messages.js';

// The client side of a store that another thread owns (host.ts is the other side): the thread for large requests reads
// and writes through it.

/** How many bytes are fetched at a time for filtering. */
const filterPageBytes = 1 << 20;

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * A store owned by another thread (`StoreHost`): sends calls through `post` and gets replies through `receive`. The
 * owner compacts the store; closing this one leaves it open.
 */
export class PortStore implements Store {
  readonly shared = true;
  readonly continuity: Continuity;
  readonly #replaced = new Set<() => void>();
  readonly #post: (message: ToStore) => void;
  readonly #encoding: RecordEncoding | undefined;
  readonly #pending = new Map<number, Pending>();
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #watchers = new Map<number, Watcher>();
  #lastId = 0;
  #isClosed = false;

  /**
   * With `encoding`, records are put into the form of the store's servers here, which spares the other thread that
   * work.
   */
  constructor(post: (message: ToStore) => void, encoding?: RecordEncoding) {
    this.#post = post;
    this.#encoding = encoding;
    const listeners = this.#replaced;
    this.continuity = {
      problem: undefined,
      onReplaced(listener) {
        listeners.add(listener);
        return {[Symbol.dispose]: () => void listeners.delete(listener)};
      },
    };
  }

  receive(message: FromStore): void {
    switch (message.kind) {
      case 'answer':
      case 'failure': {
        const pending = this.#pending.get(message.id);
        this.#pending.delete(message.id);
        return message.kind === 'answer' ? pending?.resolve(message.value) : pending?.reject(errorOf(message.error));
      }
      case 'changes':
        this.#post({kind: 'received', id: message.id, bytes: message.bytes});
        return this.#guarded(message.id, watcher =>
          watcher.changes(
            message.batch.map(change => ({...change, record: receivedOrNone(change.record), previous: receivedOrNone(change.previous)})),
          ),
        );
      case 'replaced':
        for (const listener of this.#replaced) listener();
        return;
      case 'progress':
        return this.#guarded(message.id, watcher => watcher.progress?.(message.revision));
      case 'ended': {
        const watcher = this.#watchers.get(message.id);
        this.#watchers.delete(message.id);
        if (watcher) ended(watcher, message.error && errorOf(message.error));
      }
    }
  }

  revision(...args: StoreCalls['revision']): Promise<number> {
    return this.#call('revision', ...args);
  }

  async get(...args: StoreCalls['get']): Promise<StoredRecord | undefined> {
    return receivedOrNone(await this.#call('get', ...args));
  }

  async range({filter, ...query}: RangeQuery): Promise<Range> {
    if (filter) return this.#filtered(query, filter);
    const range = await this.#call('range', query);
    return {...range, records: range.records.map(received)};
  }

  count(...args: StoreCalls['count']): Promise<number> {
    return this.#call('count', ...args);
  }

  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return this.#call('create', key, new Uint8Array(value), this.#sentOptions(key, value, options));
  }

  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return this.#call('update', key, new Uint8Array(value), expected, this.#sentOptions(key, value, options));
  }

  delete(...args: StoreCalls['delete']): Promise<number> {
    return this.#call('delete', ...args);
  }

  watch(query: Parameters<Store['watch']>[0], watcher: Watcher): Disposable {
    if (this.#isClosed) throw new StoreClosed();
    const id = ++this.#lastId;
    this.#watchers.set(id, watcher);
    this.#post({kind: 'watch', id, query, wantsProgress: watcher.progress !== undefined});
    return {[Symbol.dispose]: () => this.#unwatch(id)};
  }

  /** Does nothing: the owning thread compacts the store. */
  async compact(): Promise<void> {}

  compacted(): Promise<number> {
    return this.#call('compacted');
  }

  lease(...args: StoreCalls['lease']): Promise<number> {
    return this.#call('lease', ...args);
  }

  size(): Promise<number> {
    return this.#call('size');
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled(this.#inFlight);
    for (const id of this.#watchers.keys()) {
      const watcher = this.#unwatch(id);
      if (watcher) ended(watcher);
    }
  }

  /** Reads a piece of the range and filters it here: functions cannot be posted. */
  async #filtered({limit = Infinity, bytes = Infinity, ...query}: RangeQuery, filter: RecordFilter): Promise<Range> {
    if (limit < 1) return {...(await this.#call('range', {...query, limit})), records: []};
    const {records, revision, more} = await this.#call('range', {...query, limit: maxFilteredKeys, bytes: filterPageBytes});
    const page = new PageReader({limit, bytes, filter});
    for (const record of records) if (!page.add(received(record))) break;
    return {records: page.records, revision, more: more || page.more, reached: page.reached};
  }

  #sentOptions(key: string, value: Buffer, options: WriteOptions = {}): SentWriteOptions {
    return this.#encoding && value.length <= longestRecord
      ? {...options, encoded: new Uint8Array(this.#encoding.encode(key, value))}
      : options;
  }

  #call<Name extends StoreCall>(name: Name, ...args: StoreCalls[Name]): Promise<CallResult<Name>> {
    if (this.#isClosed) return Promise.reject(new StoreClosed());
    const id = ++this.#lastId;
    const response = new Promise<CallResult<Name>>((resolve, reject) => {
      this.#post({kind: 'call', id, name, args} as ToStore); // Throws for values that cannot be posted; nothing is pending then.
      this.#pending.set(id, {resolve: resolve as (value: unknown) => void, reject});
    });
    this.#inFlight.add(response);
    const forget = () => void this.#inFlight.delete(response);
    response.then(forget, forget);
    return response;
  }

  #unwatch(id: number): Watcher | undefined {
    const watcher = this.#watchers.get(id);
    if (this.#watchers.delete(id)) this.#post({kind: 'unwatch', id});
    return watcher;
  }

  /** Ends the watch of a watcher that throws. */
  #guarded(id: number, notify: (watcher: Watcher) => void): void {
    const watcher = this.#watchers.get(id);
    if (!watcher) return;
    try {
      notify(watcher);
    } catch (error) {
      this.#unwatch(id);
      ended(watcher, error instanceof Error ? error : new Error(String(error)));
    }
  }
}

const ended = (watcher: Watcher, error?: Error): void => {
  try {
    watcher.ended(error);
  } catch {
    // Nothing is left to notify.
  }
};

const receivedOrNone = (record: StoredRecord | undefined): StoredRecord | undefined => record && received(record);
