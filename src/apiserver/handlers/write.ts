import type {ApiResponse} from '#src/api/exchange.js';
import {badRequest, methodNotAllowed, notFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {createObject} from '#src/apiserver/registry/create.js';
import {writeQuery, type WriteQuery} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/registry.js';
import {updateObject, type UpdateTarget} from '#src/apiserver/registry/update.js';
import {readObject, type BodyReader} from '#src/apiserver/request/body.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {runAction} from './action.js';
import {applyPatch} from './patch.js';
import {mayCreate, objectResponse, representationFor, writeContext, type ResourceServices} from './resource.js';

/** The object of a body in the hub's version. */
const hubObject = ({version}: ServedResource, object: KubeObject): KubeObject => (version ? version.toHub(object) : object);

const bodyReader = (served: ServedResource, context: ResourceContext, {fieldValidation}: WriteQuery): BodyReader => ({
  request: context.request,
  naming: served.resource.settings.naming,
  schemas: served.resource.settings.schemas,
  kind: served.kind,
  fieldValidation,
  warn: text => context.warnings.add(text),
});

/** POST: creates an object, or does what the resource or subresource does instead of storing. */
export const create = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const {definition, settings} = resource;
  const {subresource, namespace, name} = context.target;
  const action = subresource ? definition.actions?.[subresource] : definition.review;
  if (!action && (subresource || context.target.item)) throw methodNotAllowed(resource.ref, 'create');
  const query = writeQuery(settings.naming, context.info.query, 'CreateOptions');
  if (action) return runAction(services, served, context, action, query);
  const incoming = await readObject(bodyReader(served, context, query));
  served.version?.default?.(incoming, resource.hooks(context.user));
  const hub = hubObject(served, incoming);
  if (name && hub.metadata?.name && hub.metadata.name !== name) throw badRequest(`the name of the object (${hub.metadata.name}) does not match the name on the URL (${name})`);
  if (resource.kind.namespaced && !namespace) throw badRequest('an empty namespace may not be set during creation');
  const made = await createObject(resource, hub, namespace, writeContext(context, served, query.dryRun));
  return objectResponse(context, representationFor(context, served, 'item'), made.object, 201);
};

const targetOf = (services: ResourceServices, served: ServedResource, context: ResourceContext): UpdateTarget => {
  const {namespace, name, subresource} = context.target;
  return {resource: served.resource, namespace, name, subresource, authorizeCreate: () => mayCreate(services, context)};
};

/** Refuses a subresource the resource does not have, or a verb it does not take. */
const checkSubresource = ({resource}: ServedResource, {subresource, name}: ResourceContext['target'], verb: 'update' | 'patch'): void => {
  if (!subresource) {
    if (resource.definition.review) throw methodNotAllowed(resource.ref, verb);
    return;
  }
  const endpoint = resource.definition.subresources?.[subresource];
  if (!endpoint && !resource.definition.actions?.[subresource]) throw notFound(resource.ref, name);
  if (!endpoint || (endpoint.verbs && !endpoint.verbs.includes(verb))) throw methodNotAllowed(resource.ref, verb);
};

/** PUT: replaces an object at its main address or one of its subresources. */
export const update = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  checkSubresource(served, context.target, 'update');
  const query = writeQuery(resource.settings.naming, context.info.query, 'UpdateOptions');
  const incoming = await readObject(bodyReader(served, context, query));
  const {name} = context.target;
  if (!incoming.metadata?.name) throw badRequest('name must be provided');
  if (incoming.metadata.name !== name) throw badRequest(`the name of the object (${incoming.metadata.name}) does not match the name on the URL (${name})`);
  served.version?.default?.(incoming, resource.hooks(context.user));
  const hub = hubObject(served, incoming);
  const done = await updateObject(targetOf(services, served, context), () => structuredClone(hub), writeContext(context, served, query.dryRun));
  return objectResponse(context, representationFor(context, served, 'item'), done.object, done.outcome === 'created' ? 201 : 200);
};

/** PATCH: changes an object by a patch, on the newest object until no other writer comes between. */
export const patch = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  checkSubresource(served, context.target, 'patch');
  const query = writeQuery(served.resource.settings.naming, context.info.query, 'PatchOptions');
  const transform = await applyPatch(served, context, query);
  const done = await updateObject(targetOf(services, served, context), transform, writeContext(context, served, query.dryRun));
  return objectResponse(context, representationFor(context, served, 'item'), done.object);
};
