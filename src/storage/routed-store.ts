// A store whose keys below some prefixes are kept in other stores (`--kvstore-servers-overrides`). Every store has
// revisions of its own, so those of keys in different stores cannot be compared. Calls without a key are for the store
// of all other keys.

import type {Eventually} from '#src/base/eventually.js';
import type {Continuity, Range, RangeQuery, ReadOptions, Store, StoredRecord, Watcher, WatchQuery, WriteOptions} from './store.js';

/** The keys that are in a store of their own. */
export interface Route {
  readonly prefixes: readonly string[];
  readonly store: Store;
}

/** The continuity of several stores; absent if none of them has one. */
const continuityOf = (parts: readonly Store[], of: (key: string) => Store): Continuity | undefined => {
  if (parts.every(({continuity}) => !continuity)) return undefined;
  return {
    get problem() {
      return parts.map(({continuity}) => continuity?.problem).find(problem => problem !== undefined);
    },
    onReplaced(listener, key) {
      const followed = key === undefined ? parts : [of(key)];
      const handles = followed.map(({continuity}) => continuity?.onReplaced(listener));
      return {[Symbol.dispose]: () => handles.forEach(handle => handle?.[Symbol.dispose]())};
    },
  };
};

/** Closing it closes all of its stores. */
export class RoutedStore implements Store {
  readonly shared: boolean;
  readonly continuity: Continuity | undefined;
  /** The stores, that of all other keys first. */
  readonly parts: readonly Store[];
  readonly #rest: Store;
  readonly #byPrefix: readonly (readonly [prefix: string, store: Store])[];

  constructor(rest: Store, routes: readonly Route[]) {
    this.#rest = rest;
    this.#byPrefix = routes.flatMap(({prefixes, store}) => prefixes.map(prefix => [prefix, store] as const));
    this.parts = [rest, ...routes.map(({store}) => store)];
    this.shared = this.parts.some(({shared}) => shared);
    this.continuity = continuityOf(this.parts, key => this.#of(key));
  }

  revision(key = ''): Eventually<number> {
    return this.#of(key).revision();
  }

  get(key: string, options?: ReadOptions): Eventually<StoredRecord | undefined> {
    return this.#of(key).get(key, options);
  }

  range(query: RangeQuery): Eventually<Range> {
    return this.#of(query.start).range(query);
  }

  count(start: string, end: string, revision?: number): Eventually<number> {
    return this.#of(start).count(start, end, revision);
  }

  create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return this.#of(key).create(key, value, options);
  }

  update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return this.#of(key).update(key, value, expected, options);
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#of(key).delete(key, expected);
  }

  watch(query: WatchQuery, watcher: Watcher): Disposable {
    return this.#of(query.start).watch(query, watcher);
  }

  compact(revision: number): Promise<void> {
    return this.#rest.compact(revision);
  }

  compacted(): Eventually<number> {
    return this.#rest.compacted();
  }

  lease(seconds: number, key = ''): Eventually<number> {
    return this.#of(key).lease(seconds);
  }

  async size(): Promise<number> {
    const sizes = await Promise.all(this.parts.map(part => part.size()));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.parts.map(part => part.close()));
  }

  #of(key: string): Store {
    return this.#byPrefix.find(([prefix]) => key.startsWith(prefix))?.[1] ?? this.#rest;
  }
}
