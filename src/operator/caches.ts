import {indexing, type Index} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Reader} from './scope.js';
import {kindOf, objectKey, sameKind, type KeyLike, type NamedIndex} from './sources.js';

/** The selection of cached objects to list. */
export interface CacheListOptions {
  readonly namespace?: string;
}

/**
 * The caches of a controller: the last known state of the server. Reads never wait and send no requests; the returned
 * objects are shared and read-only (`copyOf` returns a copy to change). A kind must be declared by `for`, `owns`,
 * `watches` or `reads`; if several selections of a kind are declared, pass the selection instead of the kind.
 */
export interface Caches {
  /** `key` is an object key, or the name of a cluster-scoped object. */
  get<T extends KubeObject>(source: Source<T>, key: KeyLike): Frozen<T> | undefined;
  /** Returns objects in no particular order. */
  list<T extends KubeObject>(source: Source<T>, options?: CacheListOptions): readonly Frozen<T>[];
  /** Returns the objects with a value of a declared index. */
  by<T extends KubeObject>(source: Source<T>, index: string, value: string): readonly Frozen<T>[];
}

/** An index of the objects of one kind. */
export interface BuiltIndex {
  readonly kind: Kind;
  readonly index: Index;
}

/** Converts indexes for informers. */
export const indexesOf = (indexes: readonly NamedIndex[]): readonly BuiltIndex[] =>
  indexes.map(({kind, name, values}) => ({kind, index: {name, values} satisfies Index}));

/**
 * Returns the caches of a controller. `reader` returns the cache of a declared source. Indexes are created at once,
 * while the caches are empty: the first use of an index on a full cache would visit all objects in one turn of the
 * event loop.
 */
export const cachesOf = (
  name: string,
  declared: readonly Source[],
  built: readonly BuiltIndex[],
  reader: <T extends KubeObject>(source: Source<T>) => Reader<T>,
): Caches => {
  const readers = new Map(declared.map(source => [source, reader(source)]));
  for (const source of declared)
    indexing(readers.get(source)!, ...built.filter(({kind}) => sameKind(kind, kindOf(source))).map(({index}) => index));
  const listerOf = <T extends KubeObject>(source: Source<T>): Reader<T> => {
    const exact = readers.get(source as Source);
    if (exact) return exact as unknown as Reader<T>;
    const found = declared.filter(each => sameKind(kindOf(each), kindOf(source)));
    if (found.length === 1 && source === kindOf(source)) return readers.get(found[0]!) as unknown as Reader<T>;
    const {kind} = kindOf(source);
    throw new Error(
      found.length > 1
        ? `controller ${name} declares several selections of ${kind}: pass the one to read`
        : `controller ${name} reads ${kind}, but declares it neither by for, owns, watches nor reads`,
    );
  };
  return {
    get: (source, key) => listerOf(source).get(objectKey(key)),
    list: (source, {namespace} = {}) => listerOf(source).list(namespace),
    by(source, index, value) {
      const kind = kindOf(source);
      const found = built.find(each => each.index.name === index && sameKind(each.kind, kind));
      if (!found) throw new Error(`controller ${name} declares no index ${index} of ${kind.kind}`);
      return listerOf(source).by(found.index, value);
    },
  };
};
