import type {Change} from '#informers/change.js';
import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {isOfKind, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Priority} from '#src/queue/work-queue.js';

/** What a watch's mapping may read. */
export interface MapContext<O = unknown> {
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  readonly naming: Naming;
  readonly options: Readonly<O>;
}

/** A key to queue, at once or later. */
export type EnqueueRequest =
  | ObjectKey
  | {
      readonly key: ObjectKey;
      readonly afterMs: number;
      readonly priority?: Priority;
      /** Returns what queues the key, for traces. */
      readonly cause?: (() => string) | undefined;
    };

/** The key of controllers that reconcile only one thing. */
export const singletonKey: ObjectKey = {namespace: '', name: 'all'};

/** Watches a source; `map` returns the keys that a change concerns. */
export interface MappedWatch {
  readonly watch: 'mapped';
  readonly source: Source;
  /** A method (bivariant), so that a watch of pods is a watch of objects. */
  map(change: Change, context: MapContext): Iterable<EnqueueRequest>;
  readonly loop?: string;
}

/** Queues keys periodically, by default all keys of the primary kind. */
export interface PeriodicWatch {
  readonly watch: 'every';
  readonly period: string | number | ((options: never) => number);
  keys?(context: MapContext): Iterable<EnqueueRequest>;
  readonly loop?: string;
}

export type Watch = MappedWatch | PeriodicWatch;

/**
 * Queues the controlling owner, if it is of the primary kind, of each changed object of `source`, before and after the
 * change.
 */
export const owned = <T extends KubeObject>(
  source: Source<T>,
): {readonly watch: 'owned'; readonly source: Source; readonly loop?: string} => ({
  watch: 'owned',
  source: source as Source,
});
export type OwnedWatch = ReturnType<typeof owned>;

/** Queues the keys that `map` returns for each change of `source`. */
export const mapped = <T extends KubeObject>(
  source: Source<T>,
  map: (change: Change<T>, context: MapContext) => Iterable<EnqueueRequest>,
): MappedWatch => ({
  watch: 'mapped',
  source: source as Source,
  map: map as MappedWatch['map'],
});

/** Queues the key of each changed object of `source`. */
export const sameKey = <T extends KubeObject>(
  source: Source<T>,
  when: (change: Change<T>, context: MapContext) => boolean = () => true,
): MappedWatch => mapped(source, (change, context) => (when(change, context) ? [keyOf(change.object)] : []));

/**
 * Each period (`5m`, ms, or computed from the options), queues the given keys or all keys of the primary kind. The
 * first time is after one period.
 */
export const every = (period: PeriodicWatch['period'], keys?: (context: MapContext) => Iterable<EnqueueRequest>): PeriodicWatch => ({
  watch: 'every',
  period,
  ...(keys ? {keys} : {}),
});

/** The same watch, for one loop of a controller that has several. */
export const forLoop = <W extends Watch | OwnedWatch>(loop: string, watch: W): W => ({...watch, loop});

/** Returns the key of the object's controlling owner, if that is of `kind` (in any version). */
export const controllerKey = (object: Frozen<KubeObject>, kind: Kind, naming: Naming): ObjectKey | undefined => {
  const owner = object.metadata?.ownerReferences?.find(reference => reference.controller);
  if (!owner || !isOfKind(owner, kind, naming)) return undefined;
  return {namespace: kind.namespaced ? (object.metadata?.namespace ?? '') : '', name: owner.name};
};
