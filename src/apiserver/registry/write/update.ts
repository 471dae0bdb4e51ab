import type {Eventually} from '#src/base/eventually.js';
import {sameFieldsBut} from '#src/api/equal.js';
import {invalidObject, invalidText, type FieldError} from '#src/api/field-error.js';
import {collectErrorsInSteps} from '#src/api/collect-errors.js';
import {conflict, isAlreadyExists, notFound, type ResourceRef} from '#src/api/status.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {dropField} from '#src/base/json/drop-field.js';
import type {Steps} from '#src/base/steps.js';
import {ownValue} from '#src/base/own.js';
import type {Endpoint, HookContext} from '#src/resources/definition.js';
import {validateObjectMetaUpdate} from '#src/resources/validation/object-meta.js';
import {RevisionMismatch} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {checkStored} from '#src/apiserver/request/large.js';
import {releaseAllocated} from './allocation.js';
import {createObject} from './create.js';
import {dropDuplicateOwners, metadataRules, metadataValidationOf, raiseGeneration} from './metadata.js';
import {parseObjectVersion} from '#src/apiserver/registry/options.js';
import {entriesOf, recordUpdate, setEntries, sameOwners} from './field-ownership.js';
import {mergeWrittenFields} from './written-paths.js';
import {checkPreconditions} from './preconditions.js';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import {atVersion, unstored, writeRecord} from './stored.js';
import {untilUncontended} from './races.js';
import {reportRemoval} from './recorded.js';
import {write, type WriteOperation, type Written} from './write.js';

/**
 * Makes the updated object from the stored one, which is undefined when there is none. Called again after each lost
 * race.
 */
export type Transform = (old: Readonly<KubeObject> | undefined) => KubeObject | Promise<KubeObject>;

export interface UpdateTarget {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** Empty for the main address. */
  readonly subresource: string;
  /** Whether the client sent a patch instead of an object. */
  readonly patches?: boolean;
  /** Whether a missing object is created; by default the kind decides. */
  readonly createsMissing?: boolean;
  /** Throws 403 where the client may not create; called when an update turns out to be a creation. */
  authorizeCreate?(): Promise<void>;
}

/** Updates one object, again and again until no other writer came between. Throws the Status the client gets. */
export const updateObject = (target: UpdateTarget, transform: Transform, context: WriteContext): Promise<Written> => {
  const {resource, namespace, name} = target;
  const key = resource.key(namespace, name);
  return untilUncontended({resource, name, served: context.served, original: context.original}, async () => {
    const reading = resource.settings.store.get(key);
    const record = await reading;
    if (record && context.original) checkStored(context.original, record.value);
    try {
      if (!record) return await createInstead(target, transform, context);
      const old = resource.objects.of(key, record.value, record.revision);
      const made = transform(old);
      return await write(new Update(target, record, old, context), await made);
    } catch (error) {
      const overtaken = record ? error instanceof RevisionMismatch : isAlreadyExists(error);
      if (!overtaken) throw error;
      return undefined;
    }
  });
};

const createInstead = async (target: UpdateTarget, transform: Transform, context: WriteContext): Promise<Written> => {
  const {resource, namespace, name, subresource} = target;
  if (subresource || !(target.createsMissing ?? resource.definition.update?.createsMissing))
    throw notFound(resource.refIn(context.served), name);
  const object = await transform(undefined);
  const {uid} = object.metadata ?? {};
  if (uid)
    throw conflict(
      resource.refIn(context.served),
      name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  await target.authorizeCreate?.();
  delete object.metadata?.resourceVersion;
  return createObject(resource, object, namespace, context);
};

/** The steps of a write that changes a stored object. */
class Update implements WriteOperation {
  readonly type = 'UPDATE';
  readonly endpoint: Endpoint<KubeObject>;
  readonly old: Readonly<KubeObject>;
  readonly context: WriteContext;
  readonly #target: UpdateTarget;
  readonly #record: StoredRecord;

  constructor(target: UpdateTarget, record: StoredRecord, old: Readonly<KubeObject>, context: WriteContext) {
    this.endpoint = target.resource.endpoint(target.subresource);
    this.old = old;
    this.context = context;
    this.#target = target;
    this.#record = record;
  }

  get resource(): Resource {
    return this.#target.resource;
  }

  get namespace(): string {
    return this.#target.namespace;
  }

  get subresource(): string {
    return this.#target.subresource;
  }

  receive(meta: ObjectMeta): void {
    const {resource, namespace, name, patches} = this.#target;
    meta.name = name;
    if (resource.kind.namespaced) meta.namespace = namespace;
    else dropField(meta, 'namespace');
    // The uid of an object is a precondition, that of a patch a change, which validation refuses. A patch starts from
    // the stored object, which is clean; what it adds is checked after admission.
    if (!patches) {
      checkPreconditions(resource, this.#record.key, {uid: meta.uid}, this.old, {ref: this.#ref, dryRun: this.context.dryRun});
      dropDuplicateOwners(meta, this.context.warn, 'sent');
    }
    keepDeletion(meta, this.old.metadata!);
  }

  recordOwners(object: KubeObject): Eventually<void> {
    return recordUpdate(this.resource, this, object, this.old, this.context);
  }

  checkAdmitted(meta: ObjectMeta): void {
    checkVersion(this.#target, meta, this.#record.revision, this.#ref);
  }

  select(incoming: KubeObject): KubeObject {
    const object = mergeWrittenFields(incoming, this.old, this.endpoint.writes.update);
    restoreSystemFields(this.resource, object, this.old, this.context.dryRun);
    setEntries(object.metadata!, entriesOf(incoming));
    return object;
  }

  prepare(object: KubeObject, hooks: HookContext): void {
    const {resource, endpoint, old, subresource} = this;
    const {generationCountsUnprepared} = resource.definition.metadata;
    const raise = () => raiseGeneration(resource, object, old, subresource);
    if (generationCountsUnprepared) raise();
    endpoint.prepare?.(object, old, hooks);
    if (!generationCountsUnprepared) raise();
  }

  *validate(object: KubeObject, hooks: HookContext): Steps<FieldError[]> {
    const {resource, endpoint, old, subresource, context} = this;
    return yield* collectErrorsInSteps(
      validateObjectMetaUpdate(object.metadata!, old.metadata!, metadataValidationOf(endpoint, hooks), metadataRules(resource, hooks)),
      endpoint.validate?.(object, old, hooks) ?? [],
      subresource ? [] : resource.versionErrors(context.served, object, old, hooks),
    );
  }

  admitted(object: KubeObject): KubeObject {
    return atVersion(object, this.#record.revision);
  }

  async store(object: KubeObject): Promise<Written> {
    const {resource, old, context} = this;
    const record = this.#record;
    if (isOver(resource, object)) {
      if (!context.dryRun) reportRemoval(resource, context, record, old, await resource.settings.store.delete(record.key, record.revision));
      await releaseAllocated(resource, object, context);
      return {object: atVersion(object, record.revision), value: encodeRecord(object), revision: record.revision, outcome: 'deleted'};
    }
    if (!record.isStale && isUnchanged(object, old)) {
      return {object: old, value: record.value, revision: record.revision, outcome: 'unchanged'};
    }
    if (context.dryRun) {
      const shown = await unstored(resource, object, record.revision);
      return {...shown, object: atVersion(shown.object, record.revision), outcome: 'updated'};
    }
    return Object.assign(await writeRecord(resource, record.key, record, object, context), {outcome: 'updated'} as const);
  }

  get #ref(): ResourceRef {
    return this.resource.refIn(this.context.served);
  }
}

/** Whether nothing holds an object any longer that is being deleted. */
const isOver = ({definition}: Resource, object: KubeObject): boolean => {
  const {deletionTimestamp, deletionGracePeriodSeconds, finalizers} = object.metadata!;
  return (
    Boolean(deletionTimestamp) && !finalizers?.length && !deletionGracePeriodSeconds && (definition.deletion?.mayRemove?.(object) ?? true)
  );
};

/**
 * The resourceVersion, as admission leaves it, must be that of the stored object, or absent where the kind allows it;
 * zero stands for any version.
 */
const checkVersion = (
  {resource, name, subresource}: UpdateTarget,
  {resourceVersion: statedVersion}: ObjectMeta,
  revision: number,
  ref: ResourceRef,
): void => {
  if (parseObjectVersion(statedVersion)) {
    if (statedVersion !== String(revision)) throw conflict(ref, name);
  } else if (resource.definition.update?.unconditional === false && !ownValue(resource.definition.subresources, subresource)?.view) {
    throw invalidObject({group: resource.ref.group, kind: resource.ref.resource}, name, [
      invalidText('metadata.resourceVersion', '0', 'must be specified for an update'),
    ]);
  }
};

/**
 * An update without the fields of a deletion leaves them as they are; one that changes them is refused by validation.
 */
const keepDeletion = (meta: ObjectMeta, stored: Readonly<ObjectMeta>): void => {
  if (meta.deletionTimestamp === undefined) restore(meta, stored, 'deletionTimestamp');
  if (meta.deletionGracePeriodSeconds === undefined) restore(meta, stored, 'deletionGracePeriodSeconds');
};

/** Restores what only the server sets from the stored object, whatever the client sent. */
const restoreSystemFields = ({apiVersion, kind}: Resource, object: KubeObject, old: Readonly<KubeObject>, dryRun: boolean): void => {
  const meta = object.metadata!;
  object.apiVersion = apiVersion;
  object.kind = kind.kind;
  // A selfLink is never stored; a dry run, which stores nothing, shows it as given.
  if (!dryRun) dropField(meta, 'selfLink');
  dropField(meta, 'resourceVersion');
  if (!meta.uid) restore(meta, old.metadata!, 'uid');
  restore(meta, old.metadata!, 'creationTimestamp');
  restore(meta, old.metadata!, 'generation');
};

/** Gives a field the stored value, or none. */
const restore = (meta: ObjectMeta, stored: Readonly<ObjectMeta>, field: keyof ObjectMeta): void => {
  if (stored[field] === undefined) dropField(meta, field);
  else (meta as Record<string, unknown>)[field] = stored[field];
};

const comparedApart: ReadonlySet<string> = new Set(['metadata']);
const metadataComparedApart: ReadonlySet<string> = new Set(['resourceVersion', 'managedFields']);

/** Whether an update leaves the stored object as it is, apart from its version and the times of its owners. */
const isUnchanged = (object: Readonly<KubeObject>, old: Readonly<KubeObject>): boolean =>
  sameFieldsBut(object.metadata!, old.metadata ?? {}, metadataComparedApart) &&
  sameFieldsBut(object, old, comparedApart) &&
  sameOwners(object, old);
