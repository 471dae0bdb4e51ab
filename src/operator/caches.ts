import {indexing, type Index as InformerIndex} from '#informers/lister.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {objectKey, type KeyLike} from './client/keys.js';
import type {Stored} from './client/objects.js';
import type {Reader} from './scope.js';
import {clusterOf, kindOf, sameKind, sameSource, type Index, type ObjectOfSource, type Readable, type Source} from './sources.js';

/** The selection of cached objects to list. */
export interface CacheListOptions {
  readonly namespace?: string;
}

// By default any source, so that functions can take the caches of every controller.
// oxlint-disable-next-line typescript/no-explicit-any
type AnySource = any;

/**
 * The caches of a controller: the last known state of the server. Reads never wait and send no requests; the returned
 * objects are shared and read-only (`copyOf` returns a copy to change). `Declared` are the sources that the controller
 * declares by `for`, `owns`, `watches` or `reads`; others do not compile, and throw. If several selections of a kind
 * are declared, pass the selection instead of the kind. A function that reads caches states what it needs, such as
 * `Caches<typeof Job>`; `Caches` alone is checked only when it runs.
 */
export interface Caches<in Declared extends Source = AnySource> {
  /** `key` is an object key, or the name of a cluster-scoped object. */
  get<S extends Readable<Declared>>(source: S, key: KeyLike): Stored<ObjectOfSource<S>> | undefined;
  /** Returns objects in no particular order. */
  list<S extends Readable<Declared>>(source: S, options?: CacheListOptions): readonly Stored<ObjectOfSource<S>>[];
  /** Returns the objects with a value of a declared index. */
  by<T extends KubeObject>(index: Index<T>, value: string): readonly Stored<T>[];
}

/** An index of the objects of one source. */
export interface BuiltIndex {
  readonly kind: Kind;
  readonly declared: Index;
  readonly index: InformerIndex;
}

/** Converts indexes for informers. */
export const indexesOf = (indexes: readonly Index[]): readonly BuiltIndex[] =>
  indexes.map((declared, at) => ({
    kind: kindOf(declared.source),
    declared,
    index: {name: `index ${at + 1}`, values: object => declared.values(object as Stored)},
  }));

/**
 * Returns the caches of a controller. `reader` returns the cache of a declared source. Indexes are created at once,
 * while the caches are empty: the first use of an index on a full cache would visit all objects in one turn of the
 * event loop.
 */
export const cachesOf = (
  name: string,
  declared: readonly Source[],
  built: readonly BuiltIndex[],
  reader: (source: Source) => Reader,
): Caches => {
  const readers = declared.map(source => ({source, reader: reader(source)}));
  for (const each of readers)
    indexing(each.reader, ...built.filter(({kind}) => sameKind(kind, kindOf(each.source))).map(({index}) => index));
  const readerOf = (source: Source): Reader => {
    const exact = readers.find(each => sameSource(each.source, source));
    if (exact) return exact.reader;
    const kind = kindOf(source);
    const found = readers.filter(each => sameKind(kindOf(each.source), kind) && clusterOf(each.source) === clusterOf(source));
    if (found.length === 1 && sameSource(source, kind)) return found[0]!.reader;
    throw new Error(
      found.length > 1
        ? `controller ${name} declares several selections of ${kind.kind}: pass the one to read`
        : `controller ${name} reads ${kind.kind}, but declares it neither by for, owns, watches nor reads`,
    );
  };
  return {
    get: (source: Source, key) => readerOf(source).get(objectKey(key)) as never,
    list: (source: Source, {namespace} = {}) => readerOf(source).list(namespace) as never,
    by(declaredIndex, value) {
      const found = built.find(each => each.declared === (declaredIndex as unknown as Index));
      if (!found) throw new Error(`controller ${name} does not declare this index of ${kindOf(declaredIndex.source).kind}`);
      return readerOf(found.declared.source).by(found.index, value) as never;
    },
  };
};
