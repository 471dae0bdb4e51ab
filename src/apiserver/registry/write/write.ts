import type {Eventually} from '#src/base/eventually.js';
import {invalidObject, type FieldError} from '#src/api/field-error.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import type {Count, Endpoint, HookContext} from '#src/resources/definition.js';
import type {Steps} from '#src/base/steps.js';
import {spanEvent} from '#src/base/span.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import {requestAttributes} from '#src/apiserver/registry/address.js';
import {withAllocation} from './allocation.js';
import {fillAlwaysPresent} from '#src/apiserver/registry/always-present.js';
import {deepFreeze} from '#src/apiserver/registry/object-cache.js';
import {dropDuplicateOwners} from './metadata.js';
import {restoreMalformed} from './field-ownership.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import type {Stored} from './stored.js';

/**
 * What a write came to: `created` also when a PUT made the object, `deleted` when an update removed the last finalizer
 * of an object that is being deleted, `unchanged` when nothing was to be stored.
 */
export interface Written extends Stored {
  readonly outcome: 'created' | 'updated' | 'deleted' | 'unchanged';
}

/** What differs between a creation and an update, by the steps of the pipeline. */
export interface WriteOperation {
  readonly type: 'CREATE' | 'UPDATE';
  readonly resource: Resource;
  readonly endpoint: Endpoint<KubeObject>;
  readonly namespace: string;
  /** Empty for the main address. */
  readonly subresource: string;
  /** The stored object; absent for a creation. */
  readonly old: Readonly<KubeObject> | undefined;
  readonly context: WriteContext;
  /** Puts the metadata that was sent in order. Throws 400 or 409 where it is not that of the request. */
  receive(meta: ObjectMeta): void;
  /** Enters into the managed fields what the client wrote. */
  recordOwners(object: KubeObject): Eventually<void>;
  /** Checks the metadata that mutating admission left. */
  checkAdmitted(meta: ObjectMeta): void;
  /**
   * The object to be stored: what the endpoint writes of the incoming one, and the fields that only the server sets.
   */
  select(incoming: KubeObject): KubeObject;
  prepare(object: KubeObject, hooks: HookContext): void;
  /** In steps: the rules of custom resources may take long. */
  validate(object: KubeObject, hooks: HookContext): Steps<FieldError[]>;
  /** The object as validating admission sees it. */
  admitted(object: KubeObject): KubeObject;
  store(object: KubeObject): Promise<Written>;
}

/**
 * The one pipeline of all writes but deletions: creations and updates, at the main address and at subresources, from an
 * object, a patch or an apply.
 *
 * receive → default → record owners → mutating admission → default → select → allocate → prepare → validate → authorize
 * → warn → validating admission → store
 *
 * The incoming object is handed over for good. Throws the Status the client gets. On a dry run everything happens but
 * the last step.
 */
export const write = async (operation: WriteOperation, incoming: KubeObject): Promise<Written> => {
  const {resource, context, old} = operation;
  const {definition, settings} = resource;
  const meta = (incoming.metadata ??= {});
  operation.receive(meta);
  definition.default?.(incoming, settings);
  const recording = operation.recordOwners(incoming);
  if (recording) await recording;
  const recorded = meta.managedFields;
  const always = definition.storage?.alwaysPresent;
  if (always && !old) fillAlwaysPresent(incoming, always);
  spanEvent('About to check admission control');
  const admitting = settings.writes.admission.run('admit', attributesOf(operation, incoming));
  if (admitting) await admitting;
  operation.checkAdmitted(meta);
  restoreMalformed(meta, recorded, context.warn);
  dropDuplicateOwners(meta, context.warn, 'admitted');
  definition.default?.(incoming, settings);
  const object = operation.select(incoming);
  if (always) fillAlwaysPresent(object, always);
  // Awaited here, since a promise that an async function returns takes two turns more.
  if (!definition.allocation || operation.subresource) return await checkAndStore(operation, object);
  return await withAllocation(definition.allocation, resource, object, old, context, () => checkAndStore(operation, object));
};

const attributesOf = ({type, resource, context, subresource, namespace, old}: WriteOperation, object: KubeObject): AdmissionAttributes =>
  requestAttributes(resource, context, {
    operation: type,
    subresource,
    namespace,
    name: object.metadata?.name ?? '',
    object,
    oldObject: old,
  });

const checkAndStore = async (operation: WriteOperation, object: KubeObject): Promise<Written> => {
  const {resource, endpoint, old, context} = operation;
  const {definition, settings} = resource;
  const loading = definition.ready?.(object);
  if (loading) await loading;
  const hooks = resource.hooks(context.user, context.warn, context.served);
  operation.prepare(object, hooks);
  const validation = new RequestTurns(settings.clock, context).run(operation.validate(object, hooks));
  const errors = await validation;
  // Authorization is asked only about a write that is valid by the rules of its fields.
  if (errors.length === 0 && endpoint.authorize) {
    errors.push(...(await endpoint.authorize(object, old, hooks, {authorizer: settings.authorizer, reader: settings.writes.pools.reader})));
  }
  if (errors.length > 0) throw invalidObject({group: resource.ref.group, kind: resource.kind.kind}, object.metadata!.name ?? '', errors);
  if (endpoint.warn) for (const text of endpoint.warn(object, old, hooks)) context.warn(text);
  const validating = settings.writes.admission.run('validate', attributesOf(operation, deepFreeze(operation.admitted(object))));
  if (validating) await validating;
  const written = await (context.annotate ? timedStore(operation, object) : operation.store(object));
  if (endpoint.counts && !context.dryRun && (written.outcome === 'created' || written.outcome === 'updated'))
    count(resource, endpoint.counts(object, old, hooks));
  return written;
};

/** Stores the object, and notes for the request's audit event how long that takes. */
const timedStore = async (operation: WriteOperation, object: KubeObject): Promise<Written> => {
  const {resource, context} = operation;
  const {clock} = resource.settings;
  const startedAt = clock.monotonic();
  const written = await operation.store(object);
  const {times} = context.original ?? {};
  if (times) times.storageMs = (times.storageMs ?? 0) + clock.monotonic() - startedAt;
  return written;
};

/** Adds to the counters that a kind keeps of its writes. */
const count = ({settings}: Resource, counts: Iterable<Count>): void => {
  for (const {name, help, labels} of counts) settings.meter.counter({name, help, labels: Object.keys(labels)}).add(labels);
};
