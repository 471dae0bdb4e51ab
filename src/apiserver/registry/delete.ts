import {conflict, forbidden, notFound} from '#src/api/status.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {RevisionMismatch} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {runPhase} from '#src/apiserver/admission/admission.js';
import {requestAttributes} from './address.js';
import {released} from './allocation.js';
import {checkStored} from '#src/apiserver/request/large.js';
import type {Resource, WriteContext} from './registry.js';
import {atVersion, replaceRecord, type Stored} from './stored.js';

const orphanFinalizer = 'orphan';
const foregroundFinalizer = 'foregroundDeletion';

/** `removed` tells whether the object is gone or waits for its finalizers. */
export interface Deleted extends Stored {
  readonly removed: boolean;
}

/** Deletes one object, or marks it as dying while something holds it. Throws the Status the caller gets. */
export const deleteObject = async (resource: Resource, namespace: string, name: string, options: DeleteOptions, context: WriteContext): Promise<Deleted> => {
  for (;;) {
    const record = await resource.settings.store.get(resource.key(namespace, name));
    if (!record) throw notFound(resource.refIn(context.served), name);
    if (context.original && !context.ofCollection) checkStored(context.original, record.value);
    try {
      return await deleteOnce(resource, namespace, name, record, options, context);
    } catch (error) {
      if (!(error instanceof RevisionMismatch)) throw error;
    }
  }
};

const deleteOnce = async (resource: Resource, namespace: string, name: string, record: StoredRecord, options: DeleteOptions, context: WriteContext): Promise<Deleted> => {
  const {settings, definition} = resource;
  const old = resource.objects.of(record.key, record.value, record.revision);
  checkPreconditions(resource, name, old, options);
  const attributes = {operation: 'DELETE' as const, ...requestAttributes(resource, context), deletion: options, subresource: '', namespace, name, oldObject: old};
  if (!context.isAdmitted) {
    await runPhase(settings.writes.admission, 'admit', attributes);
    await runPhase(settings.writes.admission, 'validate', attributes);
  }

  const object = structuredClone(old) as KubeObject;
  const begun = definition.beginDelete?.(object, resource.hooks(context.user)) ?? 'remove';
  if (typeof begun === 'object') throw 'conflict' in begun ? conflict(resource.refIn(context.served), name, begun.conflict) : forbidden(resource.refIn(context.served), name, begun.forbidden);
  const dying = Boolean(old.metadata!.deletionTimestamp);
  const grace = giveGrace(resource, object, options);
  if (grace === 'pending') return {object: old, value: record.value, revision: record.revision, removed: false};
  // Who waits for an end that does not come may choose another way out: only a time of grace that runs is left alone.
  const rechosen = chooseFinalizers(resource, object, options);
  const held = begun === 'keep' || (object.metadata!.finalizers?.length ?? 0) > 0;
  if (grace !== undefined) return held || grace > 0 ? keep(resource, record, object, context) : removeMarked(resource, record, object, context);
  if (!held) return remove(resource, record, old, context);
  if (dying && !rechosen) return {object: old, value: record.value, revision: record.revision, removed: false};
  // A kind that keeps its objects by itself has marked this one already.
  if (!dying && begun === 'remove') markDying(resource, object);
  return keep(resource, record, object, context);
};

const remove = async (resource: Resource, record: StoredRecord, old: Readonly<KubeObject>, context: WriteContext): Promise<Deleted> => {
  const revision = context.dryRun ? record.revision : await resource.settings.store.delete(record.key, record.revision);
  await released(resource, old, context);
  return {object: atVersion(old, revision), value: record.value, revision, removed: true};
};

const keep = async (resource: Resource, record: StoredRecord, object: KubeObject, {dryRun}: WriteContext): Promise<Deleted> => ({
  ...(await replaceRecord(resource, record, object, dryRun)),
  removed: false,
});

/** Marks an object that has no time left before it removes it: whoever watches sees it end first. */
const removeMarked = async (resource: Resource, record: StoredRecord, object: KubeObject, context: WriteContext): Promise<Deleted> => {
  const marked = await keep(resource, record, object, context);
  return remove(resource, {...record, value: marked.value, revision: marked.revision}, marked.object, context);
};

/** Seconds as a duration of 64 bits in nanoseconds, which begins anew below zero where it is full, in ms. */
const millisecondsOf = (seconds: number): number => Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n);

/**
 * Gives an object of a kind with grace its time to end, or less than it had. Tells how many seconds that are, `pending` when it is ending and keeps the time it
 * has, and nothing where there is no grace or none is left.
 */
const giveGrace = ({definition, settings}: Resource, object: KubeObject, {gracePeriodSeconds}: DeleteOptions): number | 'pending' | undefined => {
  if (!definition.gracePeriod) return undefined;
  const meta = object.metadata!;
  const requestedSeconds = gracePeriodSeconds !== undefined && gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds;
  if (!meta.deletionTimestamp) {
    const seconds = definition.gracePeriod(object, requestedSeconds);
    meta.deletionTimestamp = wireTime(settings.clock.now() + millisecondsOf(seconds));
    meta.deletionGracePeriodSeconds = seconds;
    if (meta.generation) meta.generation++;
    return seconds;
  }
  const before = meta.deletionGracePeriodSeconds ?? 0;
  if (before === 0) return undefined;
  if (requestedSeconds === undefined || requestedSeconds >= before) return 'pending';
  meta.deletionTimestamp = wireTime(parseTime(meta.deletionTimestamp)! + millisecondsOf(requestedSeconds) - millisecondsOf(before));
  meta.deletionGracePeriodSeconds = requestedSeconds;
  return requestedSeconds;
};

const markDying = ({settings}: Resource, object: KubeObject): void => {
  const meta = object.metadata!;
  meta.deletionTimestamp = wireTime(settings.clock.now());
  meta.deletionGracePeriodSeconds = 0;
  if (meta.generation) meta.generation++;
};

const checkPreconditions = ({ref, kind, definition}: Resource, name: string, old: Readonly<KubeObject>, {preconditions}: DeleteOptions): void => {
  const {uid, resourceVersion} = old.metadata!;
  const [field, requestedSeconds, found, after] =
    preconditions?.uid && preconditions.uid !== uid
      ? ['UID', preconditions.uid, uid, 'deleted and then recreated']
      : preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion
        ? ['ResourceVersion', preconditions.resourceVersion, resourceVersion, 'modified']
        : [];
  if (!field) return;
  const own = `Precondition failed: ${field} in precondition: ${requestedSeconds}, ${field} in object meta: ${found}`;
  const usual = `the ${field} in the precondition (${requestedSeconds}) does not match the ${field} in record (${found}). The object might have been ${after}`;
  // Kinds that end in steps of their own look at this by themselves.
  throw definition.deletesInPhases ? conflict(ref, name, own) : conflict({group: ref.group, resource: kind.kind}, name, usual);
};

/** Which of the garbage collector's two finalizers the object dies with (the API reference, DeleteOptions.propagationPolicy). Tells whether that is news. */
const chooseFinalizers = ({settings, definition}: Resource, object: KubeObject, options: DeleteOptions): boolean => {
  if (!settings.garbageCollector || definition.defaultPropagation === 'unsupported') return false;
  const meta = object.metadata!;
  const before = meta.finalizers ?? [];
  const chosen = choice(options, before, definition.defaultPropagation === 'orphan');
  const finalizers = before.filter(finalizer => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (chosen) finalizers.push(chosen);
  if (finalizers.length === before.length && finalizers.every(finalizer => before.includes(finalizer))) return false;
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
  return true;
};

const choice = ({orphanDependents, propagationPolicy}: DeleteOptions, before: readonly string[], orphanByDefault: boolean): string | undefined => {
  if (orphanDependents !== undefined) return orphanDependents ? orphanFinalizer : undefined;
  if (propagationPolicy === 'Orphan') return orphanFinalizer;
  if (propagationPolicy === 'Foreground') return foregroundFinalizer;
  if (propagationPolicy === 'Background') return undefined;
  if (before.includes(orphanFinalizer)) return orphanFinalizer;
  if (before.includes(foregroundFinalizer)) return foregroundFinalizer;
  return orphanByDefault ? orphanFinalizer : undefined;
};
