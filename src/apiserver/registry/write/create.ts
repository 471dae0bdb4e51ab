import type {Eventually} from '#src/base/eventually.js';
import {invalid, type FieldError} from '#src/api/field-error.js';
import {collectErrors, collectErrorsInSteps} from '#src/api/collect-errors.js';
import {generatedName} from '#src/api/names.js';
import {alreadyExists, badRequest, forbidden, nameNotGenerated, plainFailure, statusError, type ResourceRef} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import type {Endpoint, HookContext} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {validateNames, validateObjectMeta} from '#src/resources/validation/object-meta.js';
import {dropField} from '#src/base/json/drop-field.js';
import {copied} from '#src/schema/decode/plain.js';
import {KeyExists} from '#src/storage/errors.js';
import {holdable} from '#src/storage/local/keys.js';
import {namespaceMismatch} from '#src/apiserver/registry/address.js';
import {dropDuplicateOwners, metadataRules, metadataValidationOf} from './metadata.js';
import {recordCreation} from './field-ownership.js';
import {createdFields} from './written-paths.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import {unstored, writeRecord} from './stored.js';
import {write, type WriteOperation, type Written} from './write.js';

const attempts = 8;

/**
 * Creates an object from the client's, which is handed over for good. A generated name that is taken is generated
 * again. Throws the Status the client gets. On a dry run everything happens but the writing.
 */
export const createObject = async (
  resource: Resource,
  incoming: KubeObject,
  namespace: string,
  context: WriteContext,
): Promise<Written> => {
  const generated = !incoming.metadata?.name && Boolean(incoming.metadata?.generateName);
  if (generated) resource.definition.default?.(incoming, resource.settings);
  for (let attempt = 1; ; attempt++) {
    // The copy separates parts that defaults share, such as the labels of a job and of its template.
    const candidate = generated && attempt < attempts ? copied(incoming) : incoming;
    try {
      return await write(new Creation(resource, namespace, context), candidate);
    } catch (error) {
      if (!(error instanceof KeyExists)) throw error;
      const name = candidate.metadata?.name ?? '';
      if (generated && attempt < attempts) continue;
      const ref = resource.refIn(context.served);
      throw generated ? nameNotGenerated(ref, name) : await existing(resource, ref, namespace, name);
    }
  }
};

/** The steps of a write that makes an object. */
class Creation implements WriteOperation {
  readonly type = 'CREATE';
  readonly subresource = '';
  readonly old = undefined;
  readonly resource: Resource;
  readonly namespace: string;
  readonly context: WriteContext;
  /** The resourceVersion as admission left it, which nothing that is to be stored may have. */
  #statedVersion: string | undefined;

  constructor(resource: Resource, namespace: string, context: WriteContext) {
    this.resource = resource;
    this.namespace = namespace;
    this.context = context;
  }

  get endpoint(): Endpoint<KubeObject> {
    return this.resource.definition.main;
  }

  receive(meta: ObjectMeta): void {
    const {resource, context} = this;
    this.#place(meta);
    dropDuplicateOwners(meta, context.warn, 'sent');
    // Nobody owns what only the server sets, or a webhook.
    dropField(meta, 'deletionTimestamp');
    dropField(meta, 'deletionGracePeriodSeconds');
    const refusesCreation = resource.definition.custom?.refusesCreation;
    if (refusesCreation) throw forbidden(resource.ref, meta.name ?? '', refusesCreation);
  }

  recordOwners(object: KubeObject): Eventually<void> {
    return recordCreation(this.resource, object, this.context);
  }

  checkAdmitted(meta: ObjectMeta): void {
    this.#place(meta);
    this.#statedVersion = meta.resourceVersion;
  }

  select(incoming: KubeObject): KubeObject {
    const {create, update} = this.endpoint.writes;
    const object = createdFields(incoming, create ?? update);
    fillSystemFields(this.resource, object);
    return object;
  }

  prepare(object: KubeObject, hooks: HookContext): void {
    this.endpoint.prepare?.(object, undefined, hooks);
  }

  *validate(object: KubeObject, hooks: HookContext): Steps<FieldError[]> {
    const {resource, endpoint, namespace, context} = this;
    const isCommon = metadataValidationOf(endpoint, hooks) === 'common';
    const errors = yield* collectErrorsInSteps(
      isCommon ? [] : validateObjectMeta(object.metadata!, metadataRules(resource, hooks)),
      endpoint.validate?.(object, undefined, hooks) ?? [],
      resource.versionErrors(context.served, object, undefined, hooks),
    );
    if (errors.length > 0) return errors;
    const unstorable = collectErrors(unstorableName(resource, namespace, object.metadata!.name));
    if (unstorable.length > 0) return unstorable;
    // The rules for the metadata of all kinds come last, so that the kind's own messages precede them.
    return collectErrors(
      isCommon
        ? validateObjectMeta(object.metadata!, {namespaced: resource.kind.namespaced, nameProblems: pathSegmentName})
        : validateNames(object.metadata!, pathSegmentName),
    );
  }

  admitted(object: KubeObject): KubeObject {
    return object;
  }

  async store(object: KubeObject): Promise<Written> {
    const {resource, namespace, context} = this;
    const key = resource.key(namespace, object.metadata!.name!);
    const statedVersion = this.#statedVersion;
    if (context.dryRun) {
      if (await resource.settings.store.get(key)) throw new KeyExists();
      const shown = await unstored(resource, object, 0);
      return {
        ...shown,
        object: statedVersion ? {...shown.object, metadata: {...shown.object.metadata, resourceVersion: statedVersion}} : shown.object,
        outcome: 'created',
      };
    }
    if (isVersion(statedVersion)) throw plainFailure('resourceVersion should not be set on objects to be created');
    return Object.assign(await writeRecord(resource, key, undefined, object, context), {outcome: 'created'} as const);
  }

  #place(meta: ObjectMeta): void {
    if (!this.resource.kind.namespaced) dropField(meta, 'namespace');
    else if (!meta.namespace) meta.namespace = this.namespace;
    else if (meta.namespace !== this.namespace) throw badRequest(namespaceMismatch);
  }
}

/** Some kinds allow any name a path can carry; a store allows fewer. */
function* unstorableName(resource: Resource, namespace: string, name: string | undefined): Iterable<FieldError> {
  if (name && !holdable(resource.key(namespace, name)))
    yield invalid('metadata.name', name, 'may not be that long, nor contain NUL or half of a surrogate pair');
}

/** A resourceVersion that is not a number, or zero, counts as absent. */
const isVersion = (text: string | undefined): boolean =>
  text !== undefined && /^0*[1-9]\d*$/.test(text) && BigInt.asUintN(64, BigInt(text)) === BigInt(text);

const fillSystemFields = ({settings, definition, apiVersion, kind}: Resource, object: KubeObject): void => {
  const meta = object.metadata!;
  object.apiVersion = apiVersion;
  object.kind = kind.kind;
  dropField(meta, 'selfLink');
  dropField(meta, 'resourceVersion');
  meta.uid = settings.random.uuid();
  meta.creationTimestamp = wireTime(settings.clock.now());
  if (definition.metadata.generation) meta.generation = 1;
  if (!meta.name && meta.generateName)
    meta.name = definition.metadata.hasPlainGeneratedNames ? meta.generateName : generatedName(meta.generateName, settings.random);
};

const existing = async (resource: Resource, ref: ResourceRef, namespace: string, name: string): Promise<Error> => {
  const error = alreadyExists(ref, name);
  const key = resource.key(namespace, name);
  const record = await resource.settings.store.get(key);
  if (!record || !resource.objects.of(key, record.value, record.revision).metadata?.deletionTimestamp) return error;
  return statusError(
    'AlreadyExists',
    `object is being deleted: ${error.message}`,
    error.status.details ? {details: error.status.details} : {},
  );
};
