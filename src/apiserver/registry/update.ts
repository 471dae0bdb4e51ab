import {sameJson} from '#src/api/equal.js';
import {invalidObject, invalidText} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {badRequest, conflict, isAlreadyExists, notFound, type ResourceRef} from '#src/api/status.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {own} from '#src/base/own.js';
import type {Endpoint} from '#src/resources/definition.js';
import {validateObjectMetaUpdate} from '#src/resources/validation/object-meta.js';
import {RevisionMismatch} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {runPhase, type AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {allocating, released} from './allocation.js';
import {count} from './count.js';
import {addressOf, createObject, elsewhereText, fillAlwaysPresent, leaseOf, shownAs, storedAt, type Stored} from './create.js';
import {authorizationErrors} from './write-authorization.js';
import {metadataValidationOf, metadataRules} from './metadata-rules.js';
import {deepFreeze} from './object-cache.js';
import {carriedOver} from './paths.js';
import {withoutDoubleOwners} from './owners.js';
import {entriesOf, recordUpdate, restoreMalformed, setEntries, withOldTimes} from './ownership.js';
import {encodeRecord} from './record.js';
import {parseObjectVersion} from './options.js';
import type {Resource, WriteContext} from './registry.js';
import {checkStored} from '#src/apiserver/request/large.js';
import {writeFitting} from './size.js';

/** How an update comes to its object: from the stored one, which is undefined when there is none. Called again after each lost race. */
export type Transform = (old: Readonly<KubeObject> | undefined) => KubeObject | Promise<KubeObject>;

export interface UpdateTarget {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** Empty for the main address. */
  readonly subresource: string;
  /** Whether the caller sent a patch instead of an object. */
  readonly patches?: boolean;
  /** Whether a missing object is created, where that is not the kind's to say. */
  readonly createsMissing?: boolean;
  /** Asks whether the caller may create, when an update turns out to be a creation. */
  authorizeCreate?(): Promise<void>;
}

/** `created` when a PUT made the object, `deleted` when the update took the last finalizer of a dying one. */
export interface Updated extends Stored {
  readonly outcome: 'updated' | 'created' | 'deleted' | 'unchanged';
}

/** Updates one object, again and again until no other writer came between. Throws the Status the caller gets. */
export const updateObject = async (target: UpdateTarget, transform: Transform, context: WriteContext): Promise<Updated> => {
  const {resource, namespace, name} = target;
  const key = resource.key(namespace, name);
  for (;;) {
    const record = await resource.settings.store.get(key);
    if (record && context.original) checkStored(context.original, record.value);
    try {
      return record ? await updateOnce(target, record, transform, context) : await createInstead(target, transform, context);
    } catch (error) {
      const overtaken = record ? error instanceof RevisionMismatch : isAlreadyExists(error);
      if (!overtaken) throw error;
    }
  }
};

const createInstead = async (target: UpdateTarget, transform: Transform, context: WriteContext): Promise<Updated> => {
  const {resource, namespace, name, subresource} = target;
  if (subresource || !(target.createsMissing ?? resource.definition.createOnUpdate)) throw notFound(resource.refIn(context.served), name);
  const object = await transform(undefined);
  const {uid} = object.metadata ?? {};
  if (uid) throw conflict(resource.refIn(context.served), name, `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`);
  await target.authorizeCreate?.();
  delete object.metadata?.resourceVersion;
  return Object.assign(await createObject(resource, object, namespace, context), {outcome: 'created'} as const);
};

const updateOnce = async (target: UpdateTarget, record: StoredRecord, transform: Transform, context: WriteContext): Promise<Updated> => {
  const {resource, namespace, name, subresource} = target;
  const {definition, settings} = resource;
  const endpoint: Endpoint<KubeObject> = subresource ? own(definition.subresources, subresource)! : definition.main;
  const old = resource.objects.of(record.key, record.value, record.revision);
  const incoming = await transform(old);
  const meta = (incoming.metadata ??= {});
  placeAt(target, meta);
  checkUid(target, meta, old, resource.refIn(context.served));
  // A patch starts from what the server stored, which is clean; only what it adds is looked at, after admission.
  if (!target.patches) withoutDoubleOwners(meta, context.warn, 'sent');
  keepDeletion(meta, old.metadata!);
  definition.default?.(incoming, settings);
  const recording = recordUpdate(resource, {endpoint, subresource}, incoming, old, context);
  if (recording) await recording;
  const recorded = meta.managedFields;

  const attributes = {
    operation: 'UPDATE' as const,
    ...addressOf(resource, context),
    subresource,
    namespace,
    name,
    object: incoming,
    oldObject: old,
  };
  await runPhase(settings.writes.admission, 'admit', attributes);
  checkVersion(target, meta, record.revision, resource.refIn(context.served));
  restoreMalformed(meta, recorded, context.warn);
  withoutDoubleOwners(meta, context.warn, 'admitted');
  definition.default?.(incoming, settings);

  const object = carriedOver(incoming, old, endpoint.writes.update);
  restoreSystemFields(resource, object, old);
  setEntries(object.metadata!, entriesOf(incoming));
  fillAlwaysPresent(resource, object);
  const finish = () => finishUpdate(target, {record, old, object, attributes}, context);
  return subresource ? finish() : allocating(resource, object, old, context, finish);
};

/** An update under way: what is stored, what shall be, and what admission is told. */
interface Pending {
  readonly record: StoredRecord;
  readonly old: Readonly<KubeObject>;
  readonly object: KubeObject;
  readonly attributes: AdmissionAttributes;
}

const finishUpdate = async ({resource, name, subresource}: UpdateTarget, {record, old, object, attributes}: Pending, context: WriteContext): Promise<Updated> => {
  const {definition, settings} = resource;
  const endpoint: Endpoint<KubeObject> = subresource ? own(definition.subresources, subresource)! : definition.main;
  const loading = definition.ready?.(object);
  if (loading) await loading;
  const hooks = resource.hooks(context.user, context.warn, context.served);
  if (definition.countsUnprepared) countGeneration(resource, object, old, subresource);
  endpoint.prepare?.(object, old, hooks);
  if (!definition.countsUnprepared) countGeneration(resource, object, old, subresource);
  const errors = collectErrors(
    validateObjectMetaUpdate(object.metadata!, old.metadata!, metadataValidationOf(endpoint, hooks), metadataRules(resource, hooks)),
    endpoint.validate?.(object, old, hooks) ?? [],
    subresource ? [] : resource.versionErrors(context.served, object, old, hooks),
  );
  if (errors.length === 0) errors.push(...(await authorizationErrors(resource, endpoint, object, old, hooks)));
  if (errors.length > 0) throw invalidObject({group: resource.ref.group, kind: resource.kind.kind}, name, errors);
  for (const text of endpoint.warn?.(object, old, hooks) ?? []) context.warn(text);
  await runPhase(settings.writes.admission, 'validate', {...attributes, object: deepFreeze(atVersion(object, record.revision))});
  const updated = await store(resource, record, old, object, context);
  if (updated.outcome === 'updated' && !context.dryRun) count(resource, endpoint.counts?.(object, old, hooks));
  return updated;
};

const store = async (resource: Resource, record: StoredRecord, old: Readonly<KubeObject>, object: KubeObject, context: WriteContext): Promise<Updated> => {
  const {settings, definition} = resource;
  const {metadata} = object;
  const over = Boolean(metadata?.deletionTimestamp) && !metadata?.finalizers?.length && !metadata?.deletionGracePeriodSeconds;
  if (over && (definition.mayRemove?.(object) ?? true)) {
    if (!context.dryRun) await settings.store.delete(record.key, record.revision);
    await released(resource, object, context);
    return {object: {...object, metadata: {...metadata, resourceVersion: String(record.revision)}}, value: encodeRecord(object), revision: record.revision, outcome: 'deleted'};
  }
  if (!record.isStale && sameJson(withOldTimes(object, old), withoutVersion(old))) {
    return {object: old, value: record.value, revision: record.revision, outcome: 'unchanged'};
  }
  if (context.dryRun) return {object: {...object, metadata: {...metadata, resourceVersion: String(record.revision)}}, value: encodeRecord(object), revision: record.revision, outcome: 'updated'};
  const lease = await leaseOf(resource, object);
  return writeFitting(object, context, async value => {
    const revision = await settings.store.update(record.key, value, record.revision, lease);
    return storedAt(resource, record.key, {value: await shownAs(resource, record.key, value, revision), revision}, {outcome: 'updated'} as const);
  });
};

/** The name and namespace an object says it has must be those it is written to; only the namespace may be left out. Throws 400. */
export const checkAddress = ({metadata = {}}: KubeObject, {namespace, name}: {readonly namespace: string; readonly name: string}, {namespaced}: {readonly namespaced: boolean}): void => {
  if (namespaced && namespace && metadata.namespace && metadata.namespace !== namespace) throw badRequest(elsewhereText);
  if (!metadata.name) throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
};

const placeAt = ({resource, namespace, name}: UpdateTarget, meta: ObjectMeta): void => {
  meta.name = name;
  if (resource.kind.namespaced) meta.namespace = namespace;
  else delete meta.namespace;
};

/** The object as it is told of when it has the version that it replaces. */
const atVersion = (object: KubeObject, revision: number): KubeObject => ({...object, metadata: {...object.metadata, resourceVersion: String(revision)}});

/** The uid must be that of the stored object, or left out. */
const checkUid = ({resource, namespace, name}: UpdateTarget, meta: ObjectMeta, old: Readonly<KubeObject>, ref: ResourceRef): void => {
  const uid = old.metadata?.uid;
  if (meta.uid && meta.uid !== uid) {
    const key = resource.key(namespace, name).slice(resource.settings.prefix.length);
    throw conflict(ref, name, `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${meta.uid}, UID in object meta: ${uid}`);
  }
};

/** The resourceVersion, as admission leaves it, must be that of the stored object, or left out where the kind allows it; zero stands for any version. */
const checkVersion = ({resource, name, subresource}: UpdateTarget, {resourceVersion: statedVersion}: ObjectMeta, revision: number, ref: ResourceRef): void => {
  if (parseObjectVersion(statedVersion)) {
    if (statedVersion !== String(revision)) throw conflict(ref, name);
  } else if (resource.definition.unconditionalUpdate === false && !own(resource.definition.subresources, subresource)?.view) {
    throw invalidObject({group: resource.ref.group, kind: resource.ref.resource}, name, [invalidText('metadata.resourceVersion', '0', 'must be specified for an update')]);
  }
};

const owned = ['uid', 'creationTimestamp', 'generation'] as const;
const deletion = ['deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/** A writer that does not speak of the deletion leaves it as it is; one that changes it is refused by validation. */
const keepDeletion = (meta: ObjectMeta, stored: Readonly<ObjectMeta>): void => {
  restore(meta, stored, deletion.filter(field => meta[field] === undefined));
};

/** What only the server sets comes back from the stored object, whatever the caller sent. */
const restoreSystemFields = ({apiVersion, kind}: Resource, object: KubeObject, old: Readonly<KubeObject>): void => {
  const meta = object.metadata! as Record<string, unknown>;
  const stored = old.metadata! as Record<string, unknown>;
  object.apiVersion = apiVersion;
  object.kind = kind.kind;
  delete meta['selfLink'];
  delete meta['resourceVersion'];
  restore(meta, stored, owned);
};

const restore = (meta: Record<string, unknown> | ObjectMeta, stored: Readonly<Record<string, unknown>> | Readonly<ObjectMeta>, fields: readonly (typeof owned | typeof deletion)[number][]): void => {
  for (const field of fields) {
    if (stored[field] === undefined) delete meta[field];
    else Object.assign(meta, {[field]: stored[field]});
  }
};

const withoutVersion = ({metadata = {}, ...rest}: Readonly<KubeObject>): KubeObject => {
  const {resourceVersion: _, ...meta} = metadata;
  return {...rest, metadata: meta};
};

const countGeneration = ({definition}: Resource, object: KubeObject, old: Readonly<KubeObject>, subresource: string): void => {
  // Writing what another kind shows of an object is writing the object.
  if (!definition.generation || (subresource && !definition.subresources?.[subresource]?.view)) return;
  if (!(typeof definition.generation === 'function' ? definition.generation : changesWish)(object, old)) return;
  let generation = old.metadata!.generation ?? 0;
  object.metadata!.generation = ++generation;
};

/** Whether anything outside metadata and status differs. */
const changesWish = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean => {
  const {metadata: _, status: __, ...now} = object as KubeObject & {status?: unknown};
  const {metadata: ___, status: ____, ...before} = old as KubeObject & {status?: unknown};
  return !sameJson(now, before);
};
