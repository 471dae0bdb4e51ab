// List and watch of a resource inside the server. A list-watch passes through these states: listing, watching,
// restarting after the watch ended. Calls of a handler are in order and never overlap.

import {andThen} from '#src/base/eventually.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {InOrder} from '#src/base/in-order.js';
import {StoreClosed, ValueUnreadable} from '#src/storage/errors.js';
import {endOfPrefix, type StoredRecord} from '#src/storage/store.js';
import type {Chunk} from './chunks.js';
import {keyAfter} from './continue-token.js';
import {readRange} from './list.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Follower, Resource} from '#src/apiserver/registry/resource.js';

/**
 * Called when an object was added, changed or deleted. Objects are shared and must not be changed; of a deleted one
 * only name and namespace are passed.
 */
export type ObjectHandler<T extends KubeObject> = (object: Readonly<T>, isDeleted: boolean) => void;

/** Receives the records of a resource. A promise of `handle` is awaited before the next call. */
export interface RecordHandler {
  /** Called when a record was added or changed, and without a record when the key was deleted. */
  handle(key: string, record: StoredRecord | undefined): void | Promise<void>;
  /** Called after the initial list and after each change, when everything up to the revision has been handled. */
  reached?(revision: number): void;
}

/** A watch that ends is restarted at once, or after this delay if it lasted no longer than that. */
const restartDelayMs = 1000;

/**
 * Passes every record of a resource to the handler, then each change, in order, until the signal aborts or the store
 * closes. Resolves once the initial list was handled. When the history is compacted, the records are listed again and
 * the differences are passed. An error of the handler is reported and does not stop the watch.
 */
export const listAndWatchRecords = (
  resource: Resource,
  handler: RecordHandler,
  signal: AbortSignal,
  {needsAll = false}: ListWatchOptions = {},
): Promise<void> => new ListWatch(resource, handler, signal, needsAll).begin();

export interface ListWatchOptions {
  /** Rejects if a record cannot be read. By default such a record is logged and counts as absent. */
  readonly needsAll?: boolean;
}

class ListWatch implements Follower {
  readonly #resource: Resource;
  readonly #handler: RecordHandler;
  readonly #signal: AbortSignal;
  readonly #needsAll: boolean;
  /** The revision of each key that was handled. */
  #known = new Map<string, number>();
  #watch: Disposable | undefined;
  #order: InOrder | undefined;

  constructor(resource: Resource, handler: RecordHandler, signal: AbortSignal, needsAll: boolean) {
    this.#resource = resource;
    this.#handler = handler;
    this.#signal = signal;
    this.#needsAll = needsAll;
  }

  async begin(): Promise<void> {
    const {followers, settings} = this.#resource;
    followers.add(this);
    // In another history the same revision of a key is another record.
    const replacement = settings.store.continuity?.onReplaced(() => {
      for (const key of this.#known.keys()) this.#known.set(key, 0);
    });
    const end = (): void => {
      followers.delete(this);
      replacement?.[Symbol.dispose]();
      this.#watch?.[Symbol.dispose]();
    };
    this.#signal.addEventListener('abort', end, {once: true});
    try {
      await this.#listAndWatch();
    } catch (error) {
      this.#signal.removeEventListener('abort', end);
      end();
      throw error;
    }
  }

  get #range(): {readonly start: string; readonly end: string} {
    const {root} = this.#resource;
    return {start: root, end: endOfPrefix(root)};
  }

  takenIn(): Promise<void> | undefined {
    return this.#order?.passed();
  }

  async #listAndWatch(): Promise<void> {
    const listed = new Map<string, number>();
    let at = 0;
    for await (const {revision, records} of this.#read(this.#range)) {
      at = revision;
      for (const record of records) {
        if (this.#signal.aborted) return;
        listed.set(record.key, record.revision);
        const handled = this.#known.get(record.key) === record.revision ? undefined : this.#handler.handle(record.key, record);
        if (handled) await handled;
      }
    }
    if (this.#signal.aborted) return;
    for (const key of this.#known.keys()) if (!listed.has(key)) await this.#handler.handle(key, undefined);
    this.#known = listed;
    this.#handler.reached?.(at);
    this.#watchFrom(at);
  }

  /** Reads the records of a range. After one that cannot be read, the rest is read at the same revision. */
  async *#read({start, end}: {readonly start: string; readonly end: string}, revision?: number): AsyncGenerator<Chunk, void> {
    let at = revision;
    for (let from: string | undefined = start; from !== undefined;) {
      try {
        for await (const chunk of readRange(this.#resource, {start: from, end}, at)) {
          yield chunk;
          at = chunk.revision;
          from = chunk.next;
        }
      } catch (error) {
        if (this.#needsAll || from === undefined || !(error instanceof ValueUnreadable) || error.key === undefined) throw error;
        const {key} = error;
        this.#resource.settings.log.error({err: error, key, revision: error.revision}, 'an object that cannot be read counts as absent');
        at ??= await this.#resource.settings.store.revision();
        // The records before it are in the chunk that failed.
        if (from < key) yield* this.#read({start: from, end: key}, at);
        from = keyAfter(key);
      }
    }
  }

  #watchFrom(after: number): void {
    const {
      settings: {store, clock},
    } = this.#resource;
    const begunAt = clock.monotonic();
    const order = (this.#order = new InOrder(error => clock.unhandled(error)));
    this.#watch = store.watch(
      {...this.#range, after},
      {
        changes: batch => {
          for (const {key, record, revision} of batch) {
            order.add(() => {
              if (this.#signal.aborted) return;
              if (record) this.#known.set(key, record.revision);
              else this.#known.delete(key);
              return this.#handler.handle(key, record);
            });
            order.add(() => this.#handler.reached?.(revision));
          }
        },
        // Without an error, the store is closed.
        ended: error => {
          if (error) order.add(() => void this.#restart(clock.monotonic() - begunAt < restartDelayMs));
        },
      },
    );
  }

  async #restart(waits: boolean): Promise<void> {
    const {clock} = this.#resource.settings;
    for (let isLate = waits; !this.#signal.aborted; isLate = true) {
      try {
        if (isLate) await sleep(clock, restartDelayMs, this.#signal);
        return await this.#listAndWatch();
      } catch (error) {
        if (error instanceof StoreClosed) return;
        if (!this.#signal.aborted) clock.unhandled(error);
      }
    }
  }
}

/**
 * Passes every object of a kind to the handler, then each change, in order, until the signal aborts. Resolves once the
 * initial list was handled. A write of this server is passed before it is acknowledged: the store delivers it no later
 * than the response, which waits until a long object is parsed (`Resource.takenIn`). A write of another server over the
 * same store, and one made while the watch is restarted, is passed as soon as it is known.
 */
export const listAndWatchKind = <T extends KubeObject>(
  registry: Registry,
  kind: Kind<T>,
  handler: ObjectHandler<T>,
  signal: AbortSignal,
  options?: ListWatchOptions,
): Promise<void> => {
  const resource = registry.of(kind as Kind);
  return listAndWatchRecords(
    resource,
    {
      handle(key, record) {
        if (!record) return handler({metadata: resource.parseKey(key)} as T, true);
        return andThen(resource.object(record), object => handler(object as Readonly<T>, false));
      },
    },
    signal,
    options,
  );
};
