import {invalid, invalidObject, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {alreadyExists, badRequest, forbidden, nameNotGenerated, statusError, type ResourceRef} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {nameSuffix} from '#src/base/random.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {validateNames, validateObjectMeta} from '#src/resources/validation/object-meta.js';
import {KeyExists} from '#src/storage/errors.js';
import {holdable} from '#src/storage/local/keys.js';
import type {Eventually} from '#src/storage/store.js';
import {runPhase, type AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {allocating} from './allocation.js';
import {count} from './count.js';
import {authorizationErrors} from './write-authorization.js';
import {metadataValidationOf, metadataRules} from './metadata-rules.js';
import {deepFreeze} from './object-cache.js';
import {withoutDoubleOwners} from './owners.js';
import {recordCreation, restoreMalformed} from './ownership.js';
import {carriedOver, withMetadata} from './paths.js';
import {encodeRecord} from './record.js';
import type {Resource, WriteContext} from './registry.js';
import {writeFitting} from './size.js';

/** Generated names: the prefix is cut so that prefix and suffix fit into a label (the API reference, ObjectMeta.generateName). */
const longestPrefix = 58;
const suffixLength = 5;
const attempts = 8;

/** Why an object cannot be written that says it lies in another namespace. */
export const elsewhereText = 'the namespace of the provided object does not match the namespace sent on the request';

/** An object as it is stored now; the revision is 0 for one that is not. */
export interface Stored {
  /** Parsed when first asked for: most callers are told the bytes. */
  readonly object: KubeObject;
  readonly value: Buffer;
  readonly revision: number;
}

/** What readers find where a value was written. */
export const shownAs = ({settings}: Resource, key: string, value: Buffer, revision: number): Eventually<Buffer> => settings.shownAs?.(key, value, revision) ?? value;

/** What a write has put into the store. */
export const storedAt = <T extends object>(resource: Resource, key: string, {value, revision}: Pick<Stored, 'value' | 'revision'>, more: T): Stored & T => ({
  get object() {
    return resource.objects.of(key, value, revision);
  },
  value,
  revision,
  ...more,
});

/**
 * Creates an object from the caller's (which is handed over for good). Throws the Status the caller gets. On a dry run everything happens but the
 * writing.
 */
export const createObject = async (resource: Resource, incoming: KubeObject, namespace: string, context: WriteContext): Promise<Stored> => {
  const generated = !incoming.metadata?.name && Boolean(incoming.metadata?.generateName);
  for (let attempt = 1; ; attempt++) {
    const candidate = generated && attempt < attempts ? structuredClone(incoming) : incoming;
    try {
      return await createOnce(resource, candidate, namespace, context);
    } catch (error) {
      if (!(error instanceof KeyExists)) throw error;
      const name = candidate.metadata?.name ?? '';
      if (generated && attempt < attempts) continue;
      const ref = resource.refIn(context.served);
      throw generated ? nameNotGenerated(ref, name) : await existing(resource, ref, namespace, name);
    }
  }
};

const createOnce = async (resource: Resource, incoming: KubeObject, namespace: string, context: WriteContext): Promise<Stored> => {
  const {definition, settings} = resource;
  const meta = (incoming.metadata ??= {});
  placeIn(resource, meta, namespace);
  const statedVersion = meta.resourceVersion;
  withoutDoubleOwners(meta, context.warn, 'sent');
  // Nobody owns what only the server sets.
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  definition.default?.(incoming, settings);
  const recording = recordCreation(resource, incoming, context);
  if (recording) await recording;
  const recorded = meta.managedFields;
  fillAlwaysPresent(resource, incoming);
  const attributes = attributesFor(resource, incoming, namespace, context);
  if (definition.refusesCreation) throw forbidden(resource.ref, attributes.name, definition.refusesCreation);
  await runPhase(settings.writes.admission, 'admit', attributes);
  placeIn(resource, meta, namespace);
  restoreMalformed(meta, recorded, context.warn);
  withoutDoubleOwners(meta, context.warn, 'admitted');
  definition.default?.(incoming, settings);

  const object = carriedOver(incoming, undefined, withMetadata(definition.main.writes.create ?? definition.main.writes.update));
  fillSystemFields(resource, object);
  fillAlwaysPresent(resource, object);
  return allocating(resource, object, undefined, context, () => store(resource, object, attributes, namespace, {...context, statedVersion}));
};

/** How an object is created. */
interface CreationContext extends WriteContext {
  /** The resourceVersion it came with, which nothing that is stored may have. */
  readonly statedVersion: string | undefined;
}

const store = async (resource: Resource, object: KubeObject, attributes: AdmissionAttributes, namespace: string, context: CreationContext): Promise<Stored> => {
  const {definition, settings} = resource;
  const loading = definition.ready?.(object);
  if (loading) await loading;
  const hooks = resource.hooks(context.user, context.warn, context.served);
  definition.main.prepare?.(object, undefined, hooks);
  const isCommon = metadataValidationOf(definition.main, hooks) === 'common';
  const errors = collectErrors(
    isCommon ? [] : validateObjectMeta(object.metadata!, metadataRules(resource, hooks)),
    definition.main.validate?.(object, undefined, hooks) ?? [],
    resource.versionErrors(context.served, object, undefined, hooks),
  );
  if (errors.length === 0) errors.push(...collectErrors(unstorableName(resource, namespace, object.metadata!.name)));
  // What holds for the metadata of all kinds comes last, so that the kind's own words go before it.
  if (errors.length === 0) {
    errors.push(...collectErrors(isCommon ? validateObjectMeta(object.metadata!, {namespaced: resource.kind.namespaced, nameProblems: pathSegmentName}) : validateNames(object.metadata!, pathSegmentName)));
  }
  if (errors.length === 0) errors.push(...(await authorizationErrors(resource, definition.main, object, undefined, hooks)));
  if (errors.length > 0) throw invalidObject({group: resource.ref.group, kind: resource.kind.kind}, object.metadata!.name ?? '', errors);
  for (const text of definition.main.warn?.(object, undefined, hooks) ?? []) context.warn(text);
  await runPhase(settings.writes.admission, 'validate', {...attributes, object: deepFreeze(object), name: object.metadata!.name ?? ''});
  const made = await put(resource, object, namespace, context);
  if (!context.dryRun) count(resource, definition.main.counts?.(object, undefined, hooks));
  return made;
};

/** Some kinds take any name a path can carry; a store takes fewer. */
function* unstorableName(resource: Resource, namespace: string, name: string | undefined): Iterable<FieldError> {
  if (name && !holdable(resource.key(namespace, name))) yield invalid('metadata.name', name, 'may not be that long, nor contain NUL or half of a surrogate pair');
}

/** What is no number, or zero, counts as not stated. */
const isVersion = (text: string | undefined): boolean => text !== undefined && /^0*[1-9]\d*$/.test(text) && BigInt.asUintN(64, BigInt(text)) === BigInt(text);

const put = async (resource: Resource, object: KubeObject, namespace: string, context: CreationContext): Promise<Stored> => {
  const {store} = resource.settings;
  const name = object.metadata!.name!;
  const key = resource.key(namespace, name);
  if (context.dryRun) {
    if (await store.get(key)) throw new KeyExists();
    const {statedVersion: resourceVersion} = context;
    return {object: resourceVersion ? {...object, metadata: {...object.metadata, resourceVersion}} : object, value: encodeRecord(object), revision: 0};
  }
  if (isVersion(context.statedVersion)) throw badRequest('resourceVersion should not be set on objects to be created');
  const lease = await leaseOf(resource, object);
  return writeFitting(object, context, async value => {
    const revision = await store.create(key, value, lease);
    return storedAt(resource, key, {value: await shownAs(resource, key, value, revision), revision}, {});
  });
};

/** The lease a record is written under, if its kind does not live for ever. */
export const leaseOf = async ({definition, settings}: Resource, object: KubeObject): Promise<{lease: number} | undefined> => {
  const seconds = definition.ttlSeconds?.(object, settings);
  return seconds === undefined ? undefined : {lease: await settings.leases.for(seconds)};
};

const placeIn = ({kind}: Resource, meta: ObjectMeta, namespace: string): void => {
  if (!kind.namespaced) delete meta.namespace;
  else if (!meta.namespace) meta.namespace = namespace;
  else if (meta.namespace !== namespace) throw badRequest(elsewhereText);
};

const fillSystemFields = ({settings, definition, apiVersion, kind}: Resource, object: KubeObject): void => {
  const meta = object.metadata!;
  object.apiVersion = apiVersion;
  object.kind = kind.kind;
  for (const field of ['selfLink', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'resourceVersion'] as const) delete meta[field];
  meta.uid = settings.random.uuid();
  meta.creationTimestamp = wireTime(settings.clock.now());
  if (definition.generation) meta.generation = 1;
  if (!meta.name && meta.generateName) meta.name = meta.generateName.slice(0, longestPrefix) + nameSuffix(settings.random, suffixLength);
};

/** Puts in the fields that the kind shows even when they are empty. */
export const fillAlwaysPresent = ({definition}: Pick<Resource, 'definition'>, object: KubeObject): void => fill(object as PlainObject, definition.alwaysPresent ?? {});

const fill = (fields: PlainObject, always: Readonly<Record<string, unknown>>): void => {
  for (const [field, empty] of Object.entries(always)) {
    const value = fields[field];
    // A list that is shown as null when there is none tells an empty one from none no more.
    if (value === undefined || value === null || (empty === null && Array.isArray(value) && value.length === 0)) fields[field] = structuredClone(empty);
    else if (isPlainObject(value) && isPlainObject(empty)) fill(value, empty);
  }
};

const attributesFor = (resource: Resource, object: KubeObject, namespace: string, context: WriteContext): AdmissionAttributes => ({
  operation: 'CREATE',
  ...addressOf(resource, context),
  subresource: '',
  namespace,
  name: object.metadata?.name ?? '',
  object,
});

/** What admission is told of every request on a resource. */
export const addressOf = ({settings, kind}: Resource, {served, user, dryRun, warn, original, ofCollection}: WriteContext) => ({
  group: settings.naming.group(served.group),
  version: served.version,
  resource: served.plural,
  kind: kind.kind,
  namespaced: kind.namespaced,
  user,
  dryRun,
  warn,
  original,
  ofCollection,
});

const existing = async (resource: Resource, ref: ResourceRef, namespace: string, name: string): Promise<Error> => {
  const error = alreadyExists(ref, name);
  const key = resource.key(namespace, name);
  const record = await resource.settings.store.get(key);
  if (!record || !resource.objects.of(key, record.value, record.revision).metadata?.deletionTimestamp) return error;
  return statusError('AlreadyExists', `object is being deleted: ${error.message}`, error.status.details ? {details: error.status.details} : {});
};
