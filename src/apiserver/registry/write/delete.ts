// The pipeline of deletions: preconditions, admission, the steps of the kind, grace period, finalizers of the garbage
// collector; then the object is removed, or stored as terminating. A conflict with a concurrent write restarts it. It
// never deletes dependents, which is left to the garbage collector.

import {conflict, forbidden, notFound} from '#src/api/status.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {copyJson} from '#src/base/json/json-copy.js';
import {RevisionMismatch} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {mutateDeletion, validateDeletion} from './admit-deletion.js';
import {releaseAllocated} from './allocation.js';
import {checkStored} from '#src/apiserver/request/large.js';
import {untilUncontended} from './races.js';
import {reportRemoval} from './recorded.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import {atVersion, replaceRecord, type Stored} from './stored.js';

const orphanFinalizer = 'orphan';
const foregroundFinalizer = 'foregroundDeletion';

/** `removed` is false while the object waits for its grace period or its finalizers. */
export interface Deleted extends Stored {
  readonly removed: boolean;
}

/**
 * Removes an object, or sets its deletion timestamp while a grace period or finalizers delay the removal. Throws the
 * Status of a refusal.
 */
export const deleteObject = async (
  resource: Resource,
  namespace: string,
  name: string,
  options: DeleteOptions,
  context: WriteContext,
): Promise<Deleted> => {
  return untilUncontended({resource, name, served: context.served, original: context.original}, async () => {
    const record = await resource.settings.store.get(resource.key(namespace, name));
    if (!record) throw notFound(resource.refIn(context.served), name);
    if (context.original && !context.ofCollection) checkStored(context.original, record.value);
    try {
      return await deleteOnce(resource, namespace, name, record, options, context);
    } catch (error) {
      if (!(error instanceof RevisionMismatch)) throw error;
      return undefined;
    }
  });
};

const deleteOnce = async (
  resource: Resource,
  namespace: string,
  name: string,
  record: StoredRecord,
  options: DeleteOptions,
  context: WriteContext,
): Promise<Deleted> => {
  const {definition} = resource;
  const {objects, settings} = resource;
  const {key, value, revision} = record;
  const old = (await objects.inPieces(key, value, revision, settings.clock)) ?? objects.of(key, value, revision);
  checkDeletePreconditions(resource, name, old, options);
  const target = {namespace, name, oldObject: old};
  await mutateDeletion(resource, target, options, context);
  if (isGracePending(resource, old, options)) return {object: old, value: record.value, revision: record.revision, removed: false};
  const validated = withGracePeriod(resource, old, options);
  await validateDeletion(resource, target, validated, context);

  // A kind without steps of its own changes metadata alone, and shares the rest.
  const object = definition.deletion?.begin
    ? ((await objects.copyInPieces(value, revision, settings.clock)) ?? (copyJson(old) as KubeObject))
    : {...old, metadata: copyJson(old.metadata)!};
  const start = definition.deletion?.begin?.(object, resource.hooks(context.user)) ?? 'remove';
  if (typeof start === 'object')
    throw 'conflict' in start
      ? conflict(resource.refIn(context.served), name, start.conflict)
      : forbidden(resource.refIn(context.served), name, start.forbidden);
  const isTerminating = Boolean(old.metadata!.deletionTimestamp);
  const grace = applyGracePeriod(resource, object, options);
  // The propagation policy of a terminating object may still be changed, except while a grace period runs.
  const finalizersChanged = setPropagationFinalizer(resource, object, options);
  const isBlocked = start === 'keep' || (object.metadata!.finalizers?.length ?? 0) > 0;
  if (grace !== undefined) {
    const marked = await storeTerminating(resource, record, object, context);
    return isBlocked || grace > 0 ? marked : removeMarked(resource, {record, marked, target, options: validated}, context);
  }
  if (!isBlocked) return remove(resource, record, old, context);
  if (isTerminating && !finalizersChanged) return {object: old, value: record.value, revision: record.revision, removed: false};
  // A kind that keeps its objects itself has set the deletion timestamp already.
  if (!isTerminating && start === 'remove') markTerminating(resource, object);
  return storeTerminating(resource, record, object, context);
};

const remove = async (resource: Resource, record: StoredRecord, old: Readonly<KubeObject>, context: WriteContext): Promise<Deleted> => {
  const revision = context.dryRun ? record.revision : await resource.settings.store.delete(record.key, record.revision);
  if (!context.dryRun) reportRemoval(resource, context, record, old, revision);
  await releaseAllocated(resource, old, context);
  return {object: atVersion(old, revision), value: record.value, revision, removed: true};
};

const storeTerminating = async (resource: Resource, record: StoredRecord, object: KubeObject, context: WriteContext): Promise<Deleted> => ({
  ...(await replaceRecord(resource, record, object, context)),
  removed: false,
});

interface Marking {
  readonly record: StoredRecord;
  /** The object that was stored with a grace period that is over, so that watches receive that before the deletion. */
  readonly marked: Stored;
  readonly target: {readonly namespace: string; readonly name: string};
  readonly options: DeleteOptions;
}

/** Removes an object whose grace period is over. Admission validates the deletion of what was stored. */
const removeMarked = async (resource: Resource, {record, marked, target, options}: Marking, context: WriteContext): Promise<Deleted> => {
  const {object, value, revision} = marked;
  if (!context.dryRun) await validateDeletion(resource, {...target, oldObject: object}, options, context);
  return remove(resource, {...record, value, revision}, object, context);
};

/** Converts seconds to milliseconds with the overflow of a signed 64-bit number of nanoseconds, as in the original. */
const millisecondsOf = (seconds: number): number => Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n);

/** A negative grace period is the shortest one. */
const requestedSecondsOf = ({gracePeriodSeconds: seconds}: DeleteOptions): number | undefined =>
  seconds !== undefined && seconds < 0 ? 1 : seconds;

/** Returns the options with the grace period that the object gets, if its kind has them. */
const withGracePeriod = ({definition}: Resource, object: Readonly<KubeObject>, options: DeleteOptions): DeleteOptions => {
  if (!definition.deletion?.gracePeriod || object.metadata!.deletionTimestamp) return options;
  return {...options, gracePeriodSeconds: definition.deletion.gracePeriod(object, requestedSecondsOf(options))};
};

/** Whether an object is terminating, and its grace period stays as it is. */
const isGracePending = ({definition}: Resource, {metadata}: Readonly<KubeObject>, options: DeleteOptions): boolean => {
  const before = metadata?.deletionGracePeriodSeconds ?? 0;
  if (!definition.deletion?.gracePeriod || !metadata?.deletionTimestamp || before === 0) return false;
  return (requestedSecondsOf(options) ?? before) >= before;
};

/**
 * Sets or shortens the grace period of an object. Returns its seconds; undefined for a kind without grace periods and
 * when the grace period is over.
 */
const applyGracePeriod = ({definition, settings}: Resource, object: KubeObject, options: DeleteOptions): number | undefined => {
  if (!definition.deletion?.gracePeriod) return undefined;
  const meta = object.metadata!;
  const requestedSeconds = requestedSecondsOf(options);
  if (!meta.deletionTimestamp) {
    const seconds = definition.deletion.gracePeriod(object, requestedSeconds);
    meta.deletionTimestamp = wireTime(settings.clock.now() + millisecondsOf(seconds));
    meta.deletionGracePeriodSeconds = seconds;
    if (meta.generation) meta.generation++;
    return seconds;
  }
  const before = meta.deletionGracePeriodSeconds ?? 0;
  if (before === 0 || requestedSeconds === undefined) return undefined;
  const at = parseTime(meta.deletionTimestamp)! + millisecondsOf(requestedSeconds) - millisecondsOf(before);
  const now = settings.clock.now();
  // The time is not moved into the past. A deletion that is graceful stays so: whoever ends the object learns of it.
  const seconds = at < now && requestedSeconds > 0 ? 1 : requestedSeconds;
  meta.deletionTimestamp = wireTime(Math.max(at, now));
  meta.deletionGracePeriodSeconds = seconds;
  return seconds;
};

const markTerminating = ({settings}: Resource, object: KubeObject): void => {
  const meta = object.metadata!;
  meta.deletionTimestamp = wireTime(settings.clock.now());
  meta.deletionGracePeriodSeconds = 0;
  if (meta.generation) meta.generation++;
};

const checkDeletePreconditions = (
  {ref, kind, definition}: Resource,
  name: string,
  old: Readonly<KubeObject>,
  {preconditions}: DeleteOptions,
): void => {
  const {uid, resourceVersion} = old.metadata!;
  const [field, given, found, after] =
    preconditions?.uid && preconditions.uid !== uid
      ? ['UID', preconditions.uid, uid, 'deleted and then recreated']
      : preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion
        ? ['ResourceVersion', preconditions.resourceVersion, resourceVersion, 'modified']
        : [];
  if (!field) return;
  const own = `Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${found}`;
  const usual = `the ${field} in the precondition (${given}) does not match the ${field} in record (${found}). The object might have been ${after}`;
  // Kinds that are deleted in phases check preconditions themselves in the original, with another message.
  throw definition.deletion?.hasPhases ? conflict(ref, name, own) : conflict({group: ref.group, resource: kind.kind}, name, usual);
};

/**
 * Sets the garbage collector's finalizer that the propagation policy requires (the API reference,
 * DeleteOptions.propagationPolicy). Returns whether the finalizers changed.
 */
const setPropagationFinalizer = ({settings, definition}: Resource, object: KubeObject, options: DeleteOptions): boolean => {
  if (!settings.garbageCollector || definition.deletion?.defaultPropagation === 'unsupported') return false;
  const meta = object.metadata!;
  const before = meta.finalizers ?? [];
  const chosen = propagationFinalizer(options, before, definition.deletion?.defaultPropagation === 'orphan');
  const finalizers = before.filter(finalizer => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (chosen) finalizers.push(chosen);
  if (finalizers.length === before.length && finalizers.every(finalizer => before.includes(finalizer))) return false;
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
  return true;
};

const propagationFinalizer = (
  {orphanDependents, propagationPolicy}: DeleteOptions,
  before: readonly string[],
  orphanByDefault: boolean,
): string | undefined => {
  if (orphanDependents !== undefined) return orphanDependents ? orphanFinalizer : undefined;
  if (propagationPolicy === 'Orphan') return orphanFinalizer;
  if (propagationPolicy === 'Foreground') return foregroundFinalizer;
  if (propagationPolicy === 'Background') return undefined;
  if (before.includes(orphanFinalizer)) return orphanFinalizer;
  if (before.includes(foregroundFinalizer)) return foregroundFinalizer;
  return orphanByDefault ? orphanFinalizer : undefined;
};
