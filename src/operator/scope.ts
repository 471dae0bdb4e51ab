// A manager may be restricted to namespaces: its caches contain the objects of these, and all cluster-scoped objects.

import type {Index, Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import {parseKey, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client as ResourceClients} from '#src/client/client.js';
import {kindOf} from './sources.js';

/** Settings of a manager that apply to all its controllers. */
export interface ManagerScope {
  /** The namespaces of its caches; empty means all. */
  readonly namespaces: readonly string[];
  /** The clients of other clusters by their names. */
  readonly clusters?: Readonly<Record<string, ResourceClients>>;
  /** The number of keys that each controller reconciles concurrently, overriding its declaration. */
  readonly concurrency?: number;
  /** The time limit of a reconcile of controllers that declare none. */
  readonly reconcileTimeoutMs?: number;
}

/** The part of a lister that operators use. */
export type Reader<T extends KubeObject = KubeObject> = Pick<Lister<T>, 'get' | 'list' | 'by' | 'count'>;

const isLimited = (source: Source, {namespaces}: ManagerScope): boolean =>
  namespaces.length > 0 && kindOf(source).namespaced && !('namespace' in source && source.namespace);

/** Whether an object with that key can be in the cache of a source. */
export const isCached = (source: Source, scope: ManagerScope, {namespace}: ObjectKey): boolean =>
  !isLimited(source, scope) || scope.namespaces.includes(namespace);

/** Returns the sources to cache: one per namespace of the manager. A selection with a namespace is cached as it is. */
export const partsOf = (source: Source, scope: ManagerScope): readonly Source[] =>
  isLimited(source, scope) ? scope.namespaces.map(namespace => ({...source, kind: kindOf(source), namespace})) : [source];

/** Returns a reader over all parts of a source. It throws for namespaces that are not cached. */
export const readerOf = <T extends KubeObject>(
  source: Source<T>,
  scope: ManagerScope,
  lister: (part: Source<T>) => Lister<T>,
): Reader<T> => {
  const parts = partsOf(source as Source, scope).map(part => lister(part as Source<T>));
  const [only] = parts;
  if (!isLimited(source as Source, scope)) return only!;
  const byNamespace = new Map(scope.namespaces.map((namespace, at) => [namespace, parts[at]!]));
  const partOf = (namespace: string): Lister<T> => {
    const part = byNamespace.get(namespace);
    if (!part) throw new Error(`the caches of this manager hold only the namespaces ${scope.namespaces.join(', ')}, not "${namespace}"`);
    return part;
  };
  return {
    get: (key: ObjectKey | string) => partOf((typeof key === 'string' ? parseKey(key) : key).namespace).get(key),
    list: (namespace?: string) => (namespace ? partOf(namespace).list(namespace) : parts.flatMap(part => part.list())),
    by: (index: Index<T>, value: string): readonly Frozen<T>[] => parts.flatMap(part => part.by(index, value)),
    count: (index: Index<T>, value: string) => parts.reduce((sum, part) => sum + part.count(index, value), 0),
  };
};
