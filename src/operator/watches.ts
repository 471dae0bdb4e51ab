// Which changes queue which keys.

import type {Change} from '#informers/change.js';
import type {Source} from '#informers/selection.js';
import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Caches} from './caches.js';
import type {Predicate} from './predicates.js';

/**
 * What the mapping of a watch may read. Caches hold what the server last reported, and may be incomplete until all are
 * synced.
 */
export interface MapContext {
  readonly caches: Caches;
}

/** Returns all of `keys`, which are keys or objects, as keys. */
export const keysIn = (keys: Iterable<ObjectKey | Frozen<KubeObject>>): ObjectKey[] =>
  [...keys].map(key => ('name' in key ? (key as ObjectKey) : keyOf(key as Frozen<KubeObject>)));

/** A watch of a source: changes that pass `when` queue the keys that `keys` returns. */
export interface Watch {
  readonly source: Source;
  /** A method (bivariant), so that a watch of pods is a watch of objects. */
  keys(object: Frozen<KubeObject>, context: MapContext): Iterable<ObjectKey | Frozen<KubeObject>>;
  readonly when?: Predicate;
}

/**
 * Queues the keys that `keys` returns, as keys or as objects, for each changed object of `source`. Of an update both
 * the state before and the state after are mapped.
 */
export const mapped = <T extends KubeObject>(
  source: Source<T>,
  keys: (object: Frozen<T>, context: MapContext) => Iterable<ObjectKey | Frozen<KubeObject>>,
  {when}: {readonly when?: Predicate<T>} = {},
): Watch => ({source: source as Source, keys: keys as Watch['keys'], ...(when ? {when: when as Predicate} : {})});

/** The states of the object that a change concerns: before and after an update, one otherwise. */
export const statesOf = (change: Change): readonly Frozen<KubeObject>[] =>
  change.type === 'updated' && change.old !== change.object ? [change.old, change.object] : [change.object];
