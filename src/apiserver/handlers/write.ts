// The handlers of create, update and patch: they read and check the body, and pass the change to the registry's write
// pipeline, which admits, validates and stores it.

import type {ApiResponse} from '#src/api/request.js';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {ownValue} from '#src/base/own.js';
import {currentSpan, spanEvent} from '#src/base/span.js';
import {copied} from '#src/schema/decode/plain.js';
import {checkAddress} from '#src/apiserver/registry/address.js';
import {createObject} from '#src/apiserver/registry/write/create.js';
import {parseWriteQuery, type WriteQuery} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {updateObject, type UpdateTarget} from '#src/apiserver/registry/write/update.js';
import {readObject, type BodyReader} from '#src/apiserver/request/body.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {runAction} from './action.js';
import {applyIntentOf} from './apply.js';
import {noteWritten} from './audited.js';
import {applyPatch, patchTypeOf} from './patch.js';
import {checkCreatePermission, representationFor, storedResponse, wantedItem, writeContext, type ResourceServices} from './resource.js';

/** The object of a body in the hub's version. */
const hubObject = ({resource, version}: ServedResource, object: KubeObject): KubeObject =>
  version ? version.toHub(object, resource.settings.naming) : object;

/** Runs the write of an operation, with the events of its span. */
const tracedWrite = <T>(write: () => Promise<T>): Promise<T> => (currentSpan() ? writeInSpan(write) : write());

const writeInSpan = async <T>(write: () => Promise<T>): Promise<T> => {
  spanEvent('About to store object in database');
  try {
    const written = await write();
    spanEvent('Write to database call succeeded');
    spanEvent('About to write a response');
    return written;
  } catch (error) {
    spanEvent('Write to database call failed', {err: messageOf(error)});
    throw error;
  }
};

/** Reads bodies in the served kind. */
export const bodyReader = (served: ServedResource, context: ResourceContext, {fieldValidation}: WriteQuery): BodyReader => ({
  request: context.request,
  naming: served.resource.settings.naming,
  schemas: served.resource.settings.schemas,
  cbor: served.resource.settings.cbor,
  yaml: served.resource.settings.yaml,
  flow: context.user.name,
  kind: served.kind,
  custom: served.resource.isCustom,
  fieldValidation,
  warn: text => context.warnings.add(text),
});

/**
 * POST: creates an object, or runs the action of the resource or subresource. As with every write, the checks that do
 * not need the body come first, in particular whether the client accepts any form of the response: nothing must be
 * written whose result cannot be sent.
 */
export const create = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const {definition, settings} = resource;
  const {subresource, namespace} = context.target;
  const action = subresource ? ownValue(definition.actions, subresource) : definition.review;
  if (action) return runAction(services, served, context, action);
  const shown = representationFor(context, served, 'item');
  const query = parseWriteQuery(settings.naming, context.info.query, 'CreateOptions');
  const incoming = await readObject(bodyReader(served, context, query));
  if (context.notes) noteWritten(context.notes, served, incoming);
  served.version?.default?.(incoming, resource.hooks(context.user));
  const hub = hubObject(served, incoming);
  spanEvent('Conversion done');
  const made = await tracedWrite(() => createObject(resource, hub, namespace, writeContext(context, served, query.dryRun)));
  return storedResponse(context, shown, made, 201);
};

/** The target of a write. */
export const targetOf = (services: ResourceServices, served: ServedResource, context: ResourceContext): UpdateTarget => {
  const {namespace, name, subresource} = context.target;
  return {resource: served.resource, namespace, name, subresource, authorizeCreate: () => checkCreatePermission(services, context)};
};

/** PUT: replaces an object, or a part of it through a subresource. */
export const update = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const shown = representationFor(context, served, wantedItem(served, context));
  const query = parseWriteQuery(resource.settings.naming, context.info.query, 'UpdateOptions');
  const incoming = await readObject(bodyReader(served, context, query));
  if (context.notes) noteWritten(context.notes, served, incoming);
  checkAddress(incoming, context.target, resource.kind);
  served.version?.default?.(incoming, resource.hooks(context.user));
  const hub = hubObject(served, incoming);
  spanEvent('Conversion done');
  const done = await tracedWrite(() =>
    updateObject(targetOf(services, served, context), () => copied(hub), writeContext(context, served, query.dryRun)),
  );
  return storedResponse(context, shown, done, done.outcome === 'created' ? 201 : 200);
};

/** PATCH: changes an object by a patch, and retries on conflicts with other writers. */
export const patch = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const type = patchTypeOf(context, served);
  const shown = representationFor(context, served, wantedItem(served, context));
  const query = parseWriteQuery(served.resource.settings.naming, context.info.query, 'PatchOptions', {applies: type === 'apply'});
  const write = writeContext(context, served, query.dryRun);
  const target = {...targetOf(services, served, context), patches: true};
  const done =
    type === 'apply'
      ? await updateObject({...target, createsMissing: true}, await applyIntentOf(served, context, write, query), {
          ...write,
          isOwnershipRecorded: true,
        })
      : await updateObject(target, await applyPatch(served, context, type, query), write);
  spanEvent('Object stored in database');
  spanEvent('About to write a response');
  return storedResponse(context, shown, done, done.outcome === 'created' ? 201 : 200);
};
