import type {Change, Range, Store, StoredRecord, WriteOptions} from '#src/storage/store.js';
import {
  bufferOf,
  plainError,
  sendable,
  type FromStore,
  type SentWriteOptions,
  type StoreCall,
  type StoreCalls,
  type ToStore,
} from './messages.js';

const defaultMaxInFlight = 32 * 1024 * 1024;

interface RemoteWatch {
  readonly handle: Disposable;
  inFlight: number;
}

/**
 * Serves a store to another thread: handles messages passed to `receive` and replies through `post`. A watch with more
 * than `maxInFlight` bytes posted and not yet acknowledged ends with an error. Disposing of the host ends the watches;
 * the store itself stays open.
 */
export class StoreHost implements Disposable {
  readonly #store: Store;
  readonly #post: (message: FromStore) => void;
  readonly #maxInFlight: number;
  readonly #watches = new Map<number, RemoteWatch>();
  readonly #continuity: Disposable | undefined;

  constructor(store: Store, post: (message: FromStore) => void, maxInFlight = defaultMaxInFlight) {
    this.#store = store;
    this.#post = post;
    this.#maxInFlight = maxInFlight;
    this.#continuity = store.continuity?.onReplaced(() => post({kind: 'replaced'}));
  }

  receive(message: ToStore): void {
    switch (message.kind) {
      case 'call':
        return void this.#answer(message.id, message.name, message.args);
      case 'watch':
        return this.#watch(message);
      case 'unwatch':
        return this.#forget(message.id);
      case 'received': {
        const watch = this.#watches.get(message.id);
        if (watch) watch.inFlight -= message.bytes;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#continuity?.[Symbol.dispose]();
    for (const id of this.#watches.keys()) this.#forget(id);
  }

  async #answer(id: number, name: StoreCall, args: StoreCalls[StoreCall]): Promise<void> {
    try {
      const value = await this.#call(name, args as never[]);
      this.#post({
        kind: 'answer',
        id,
        value: name === 'get' ? sent(value as StoredRecord | undefined) : name === 'range' ? sentRange(value as Range) : value,
      });
    } catch (error) {
      this.#post({kind: 'failure', id, error: plainError(error)});
    }
  }

  #call(name: StoreCall, args: never[]): unknown {
    const store = this.#store;
    if (name === 'create') {
      const [key, value, options] = args as unknown as StoreCalls['create'];
      return store.create(key, bufferOf(value), receivedOptions(options));
    }
    if (name === 'update') {
      const [key, value, expected, options] = args as unknown as StoreCalls['update'];
      return store.update(key, bufferOf(value), expected, receivedOptions(options));
    }
    return (store[name] as (...args: never[]) => unknown)(...args);
  }

  #watch({id, query, wantsProgress}: ToStore & {kind: 'watch'}): void {
    const watch = {inFlight: 0} as {handle: Disposable; inFlight: number};
    this.#watches.set(id, watch);
    try {
      watch.handle = this.#store.watch(query, {
        changes: batch => this.#send(id, watch, batch),
        ...(wantsProgress ? {progress: revision => this.#post({kind: 'progress', id, revision})} : {}),
        ended: error => {
          this.#watches.delete(id);
          this.#post({kind: 'ended', id, error: error && plainError(error)});
        },
      });
    } catch (error) {
      this.#watches.delete(id);
      this.#post({kind: 'ended', id, error: plainError(error)});
    }
  }

  #send(id: number, watch: RemoteWatch, batch: readonly Change[]): void {
    const changes = batch.map(change => ({...change, record: sent(change.record), previous: sent(change.previous)}));
    const bytes = changes.reduce((sum, {record, previous}) => sum + (record?.value.length ?? 0) + (previous?.value.length ?? 0), 0);
    watch.inFlight += bytes;
    if (watch.inFlight > this.#maxInFlight) {
      this.#forget(id);
      this.#post({kind: 'ended', id, error: {name: 'Error', message: 'the watcher does not keep up'}});
    } else this.#post({kind: 'changes', id, batch: changes, bytes});
  }

  #forget(id: number): void {
    this.#watches.get(id)?.handle[Symbol.dispose]();
    this.#watches.delete(id);
  }
}

const receivedOptions = ({encoded, ...options}: SentWriteOptions = {}): WriteOptions =>
  encoded ? {...options, encoded: bufferOf(encoded)} : options;

const sent = (record: StoredRecord | undefined): StoredRecord | undefined => record && sendable(record);

const sentRange = (range: Range): Range => ({...range, records: range.records.map(sendable)});
