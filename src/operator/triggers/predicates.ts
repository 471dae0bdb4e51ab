import type {Change} from '#informers/change.js';
import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Stored} from '#src/operator/client/objects.js';

/** Decides whether a change queues keys. */
export type Predicate<T extends KubeObject = KubeObject> = {of(change: Change<T>): boolean}['of'];

/** Passes creations and deletions, and updates for which `differs` holds between the states before and after. */
const onUpdate =
  (differs: (old: Frozen<KubeObject>, object: Frozen<KubeObject>) => boolean): Predicate =>
  change =>
    change.type !== 'updated' || differs(change.old, change.object);

/**
 * Passes updates that changed the generation: changes of the spec and the start of a deletion, but not those of
 * metadata or status. Not for kinds without a generation, such as ConfigMap: their updates never pass.
 */
export const generationChanged: Predicate = onUpdate((old, object) => old.metadata?.generation !== object.metadata?.generation);

/** Passes updates that changed a label. */
export const labelsChanged: Predicate = onUpdate((old, object) => !sameJson(old.metadata?.labels ?? {}, object.metadata?.labels ?? {}));

/** Passes updates that changed an annotation. */
export const annotationsChanged: Predicate = onUpdate(
  (old, object) => !sameJson(old.metadata?.annotations ?? {}, object.metadata?.annotations ?? {}),
);

/** Passes updates that changed anything: resyncs do not pass. */
export const resourceVersionChanged: Predicate = onUpdate(
  (old, object) => old.metadata?.resourceVersion !== object.metadata?.resourceVersion,
);

/** Passes changes of objects for which `holds` is true before or after the change. */
export const matching =
  <T extends KubeObject>(holds: (object: Stored<T>) => boolean): Predicate<T> =>
  change =>
    holds(change.object as Stored<T>) || (change.type === 'updated' && holds(change.old as Stored<T>));

/** Passes changes that any of the predicates passes. */
export const anyOf =
  <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  change =>
    predicates.some(passes => passes(change));

/** Passes changes that all of the predicates pass. */
export const allOf =
  <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  change =>
    predicates.every(passes => passes(change));

/** Passes changes that the predicate does not pass. */
export const not =
  <T extends KubeObject>(predicate: Predicate<T>): Predicate<T> =>
  change =>
    !predicate(change);
