// Watches: the mapping of changes to keys.

import type {Change} from '#informers/change.js';
import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Caches} from './caches.js';
import type {Stored} from './client/objects.js';
import type {Predicate} from './triggers/predicates.js';
import type {ObjectOfSource, Source} from './sources.js';

/**
 * The inputs of the mapping of a watch. Caches contain what the server last reported, and may be incomplete until all
 * are synced.
 */
export interface MapContext {
  readonly caches: Caches;
}

/** Returns the keys of `keys`, which are keys or objects. */
export const keysIn = (keys: Iterable<ObjectKey | Frozen<KubeObject>>): ObjectKey[] =>
  [...keys].map(key => ('name' in key ? (key as ObjectKey) : keyOf(key as Frozen<KubeObject>)));

/** A watch of a source: changes that pass `when` queue the keys that `keys` returns. */
export interface Watch<S extends Source = Source> {
  readonly source: S;
  /** Declared as a method (bivariant), so that a watch of pods is a watch of objects. */
  keys(object: Frozen<KubeObject>, context: MapContext): Iterable<ObjectKey | Frozen<KubeObject>>;
  readonly when?: Predicate;
}

/**
 * Queues the keys or objects that `keys` returns for each changed object of `source`. For an update, the states before
 * and after are both mapped.
 */
export const mapped = <S extends Source>(
  source: S,
  keys: (object: Stored<ObjectOfSource<S>>, context: MapContext) => Iterable<ObjectKey | Frozen<KubeObject>>,
  {when}: {readonly when?: Predicate<ObjectOfSource<S>>} = {},
): Watch<S> => ({source, keys: keys as Watch['keys'], ...(when ? {when: when as Predicate} : {})});

/** Returns the states of a changed object: before and after an update, otherwise one. */
export const statesOf = (change: Change): readonly Frozen<KubeObject>[] =>
  change.type === 'updated' && change.old !== change.object ? [change.old, change.object] : [change.object];
