// The router: from a request's attributes to its handler. Resources with their subresources, fixed and wildcard paths,
// discovery. It never authorizes: the request core does so before.

import type {ApiResponse} from '#src/api/request.js';
import {andThen} from '#src/base/eventually.js';
import {ownValue} from '#src/base/own.js';
import {methodNotAllowed, methodUnknown, notFound, pathUnknown} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ConnectSubresource, View} from '#src/resources/definition.js';
import {deprecationWarning} from '#src/resources/deprecation.js';
import type {Discovery} from './discovery/handler.js';
import {encoded} from './handlers/encode.js';
import {get, list, watch} from './handlers/read.js';
import {remove, removeCollection} from './handlers/remove.js';
import {carriesPatch} from './handlers/patch.js';
import {isPretty, reachesAddress, type ResourceServices} from './handlers/resource.js';
import {connect} from './handlers/connect/connect.js';
import {pageNotFound, type Route} from './handlers/route.js';
import {getView, patchView, updateView} from './handlers/view.js';
import {getVirtual, listVirtual} from './handlers/virtual.js';
import {create, patch, update} from './handlers/write.js';
import type {Handler, RequestContext, ResourceContext} from './request/context.js';
import {handleOrMove} from './request/large.js';
import {plainJson} from './request/media-type.js';
import type {RequestInfo, ResourceTarget} from './request/request-info.js';
import type {Resource, ServedResource} from './registry/resource.js';

/**
 * Returns a function that finds the handler of a request: a resource's verb, a discovery document, or one of the other
 * routes.
 */
export const router = (services: ResourceServices, discovery: Discovery, others: readonly Route[]): ((info: RequestInfo) => Handler) => {
  const exact = new Map(others.filter(({path}) => !path.endsWith('/*')).map(route => [route.path, route]));
  const below = others.filter(({path}) => path.endsWith('/*')).map(route => ({...route, prefix: route.path.slice(0, -1)}));
  const index: Handler = context => ({
    status: 200,
    headers: {},
    body: encoded(plainJson, () => ({paths: paths(discovery, others)}), isPretty(context)),
  });
  return info => {
    if (info.resource) return resourceHandler(services, info.resource, info) ?? retried(services, info.resource);
    if (info.path === '/' || info.path === '/index.html') return index;
    const route = exact.get(info.path) ?? below.find(({prefix}) => info.path.startsWith(prefix));
    if (route) return route.methods && !route.methods.includes(info.verb) ? methodRefused : route.handler;
    return discovery.handler(info.path, info.verb) ?? notFoundHandler(services, info.path);
  };
};

/**
 * Retries a resource that is not served yet, so that a client that has just read that a custom resource is established
 * can use it.
 */
const retried = (services: ResourceServices, target: ResourceTarget): Handler =>
  services.registry.hasGroup(target.group)
    ? resourceNotFound
    : async context => {
        await services.registry.waitUntilServed(target.group, target.resource);
        return (resourceHandler(services, target, context.info) ?? pageNotFound)(context);
      };

/** The 404 of an unknown path: a Status below the built-in group versions, plain text elsewhere. */
const notFoundHandler = ({registry}: ResourceServices, path: string): Handler => {
  const [, root, group] = path.split('/');
  return group !== undefined && (root === 'api' || (root === 'apis' && group !== '' && registry.hasGroup(group)))
    ? resourceNotFound
    : pageNotFound;
};

const resourceNotFound: Handler = () => {
  throw pathUnknown();
};

const methodRefused: Handler = () => {
  throw methodUnknown();
};

const resourceHandler = (services: ResourceServices, target: ResourceTarget, info: RequestInfo): Handler | undefined => {
  const {verb, onlyHeaders = false} = info;
  const served = services.registry.find(target.group, target.version, target.resource);
  if (!served) return undefined;
  const {definition} = served.resource;
  const {custom} = definition;
  // Upstream ignores what follows the subresource of a custom resource.
  if (custom && target.subresource.includes('/'))
    return subresourceHandler(services, {...info, resource: {...target, subresource: target.subresource.split('/', 1)[0]!}});
  // Upstream, custom resources without a namespace support only reads, and report a missing subresource like a missing
  // object.
  if (custom && served.kind.namespaced && !target.namespace && verb !== 'list' && verb !== 'watch') return undefined;
  if (custom && !served.resource.hasPart(target.subresource) && isAddress(served, {...target, subresource: ''})) {
    return ({warnings}) => {
      if (custom.deprecationWarning) warnings.add(custom.deprecationWarning);
      throw notFound(served.resource.ref, target.name);
    };
  }
  if (!isAddress(served, target)) return undefined;
  const connectSubresource = ownValue(definition.connectSubresources, target.subresource);
  if (connectSubresource && relays(connectSubresource, verb))
    return context => connect(connectSubresource, services, served, context as ResourceContext);
  // Only custom resources support HEAD.
  const run = offers(served, target, verb) && (custom || !onlyHeaders) ? verbs.get(verb) : undefined;
  const {naming} = services.registry.settings;
  const {deprecation} = served.version ?? definition.served ?? {};
  const warning = custom?.deprecationWarning ?? (deprecation && deprecationWarning(served.kind, deprecation, naming));
  const removal = deprecation?.until?.replace(/^v/, '');
  if (run) {
    const view = ownValue(definition.subresources, target.subresource)?.view;
    const runView = view && viewVerbs.get(verb);
    // A request that is refused for its media types gets no deprecation warning.
    const isWarned = (context: ResourceContext): boolean =>
      Boolean(custom) || (reachesAddress(context, served) && (verb !== 'patch' || carriesPatch(context)));
    const handler: Handler = context => {
      if (warning) noteDeprecation(context, target, {removal, services});
      if (warning && isWarned(context as ResourceContext)) context.warnings.add(warning);
      return runView ? runView(view, services, served, context as ResourceContext) : run(services, served, context as ResourceContext);
    };
    const {largeRequests} = services;
    const moving: Handler = !largeRequests
      ? handler
      : context => {
          // Of a request that the other thread handles, only what this thread notes is counted.
          if (warning) countDeprecated(target, {removal, services});
          return handleOrMove(largeRequests, context, handler);
        };
    return writes.has(verb) ? acknowledging(served.resource, moving) : moving;
  }
  return ({warnings}) => {
    if ((definition.virtual || custom) && warning) warnings.add(warning);
    throw custom || (definition.virtual && verb === 'watch') ? methodNotAllowed(served.resource.ref, verb) : methodUnknown();
  };
};

interface Deprecated {
  readonly removal: string | undefined;
  readonly services: ResourceServices;
}

const countDeprecated = ({group, version, resource, subresource}: ResourceTarget, {removal, services}: Deprecated): void =>
  services.deprecatedRequests.set(1, {group, version, resource, subresource, removed_release: removal ?? ''});

/**
 * Records that the requested version is deprecated: in the audit event, and in the metric for administrators who look
 * for clients of old versions.
 */
const noteDeprecation = ({notes}: RequestContext, target: ResourceTarget, {removal, services}: Deprecated): void => {
  const {apiSuffix} = services.registry.settings.naming;
  countDeprecated(target, {removal, services});
  notes?.annotate(`${apiSuffix}/deprecated`, 'true');
  if (removal) notes?.annotate(`${apiSuffix}/removed-release`, removal);
};

const subresourceHandler = (services: ResourceServices, info: RequestInfo & {readonly resource: ResourceTarget}): Handler | undefined => {
  const handler = resourceHandler(services, info.resource, info);
  return handler && (context => handler(context.withInfo(info)));
};

/** Whether the resource has this URL, whatever the verb. */
const isAddress = (served: ServedResource, target: ResourceTarget): boolean => {
  const {kind} = served;
  const {definition} = served.resource;
  const {group, item, namespace, resource} = target;
  if (!served.resource.hasPart(target.subresource)) return false;
  if (!kind.namespaced) return (!namespace || (group === '' && resource === 'namespaces')) && !(definition.review && item);
  return definition.review ? Boolean(namespace) && !item : Boolean(namespace) || !item;
};

/** Whether a verb is supported at this URL. */
const offers = (
  {kind, resource: {definition}}: ServedResource,
  {subresource, item, namespace, inNoNamespace = false}: ResourceTarget,
  verb: string,
): boolean => {
  if (definition.review) return verb === 'create';
  if (definition.virtual) return verb === (item ? 'get' : 'list');
  if (subresource) {
    if (verb === 'create') return ownValue(definition.actions, subresource) !== undefined;
    const endpoint = ownValue(definition.subresources, subresource);
    return endpoint !== undefined && (endpoint.verbs ?? endpointVerbs).some(offered => offered === verb);
  }
  if (verb === 'deletecollection' && definition.deletion?.excludesCollection) return false;
  if (item) return verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete' || verb === 'watch';
  return (
    verb === 'list' ||
    verb === 'watch' ||
    ((verb === 'create' || verb === 'deletecollection') && (!kind.namespaced || Boolean(namespace) || (verb === 'create' && inNoNamespace)))
  );
};

/** Whether a connect subresource relays a verb; discovery does not list all that it relays. */
const relays = ({mode, verbs}: ConnectSubresource, verb: string): boolean =>
  (mode === 'calls' && verb === 'options') || verbs.some(offered => offered === verb);

const endpointVerbs = ['get', 'update', 'patch'];

const viewVerbs: ReadonlyMap<string, (view: View<KubeObject>, ...rest: Parameters<Run>) => Promise<ApiResponse>> = new Map([
  ['get', (view: View<KubeObject>, ...[, served, context]: Parameters<Run>) => getView(view, served, context)],
  ['update', updateView],
  ['patch', patchView],
]);

const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * Responds to a write when all parts of the server that follow the resource know of it: a permission that is revoked,
 * or a webhook that is configured, counts for the next request, however long the object or those before it take to be
 * parsed.
 */
const acknowledging =
  (resource: Resource, handler: Handler): Handler =>
  context =>
    andThen(handler(context), response => {
      const behind = resource.takenIn();
      return behind ? behind.then(() => response) : response;
    });

type Run = (services: ResourceServices, served: ServedResource, context: ResourceContext) => ApiResponse | Promise<ApiResponse>;

const verbs: ReadonlyMap<string, Run> = new Map<string, Run>(
  Object.entries({
    get: (services, served, context) => {
      const {virtual} = served.resource.definition;
      return virtual ? getVirtual(virtual, services, served, context) : get(served, context);
    },
    list: (services, served, context) => {
      const {virtual} = served.resource.definition;
      return virtual ? listVirtual(virtual, services, served, context) : list(served, context);
    },
    watch,
    create,
    update,
    patch,
    delete: remove,
    deletecollection: (_, served, context) => removeCollection(served, context),
  } satisfies Record<string, Run>),
);

/** The paths of the index at `/`. */
const paths = (discovery: Discovery, others: readonly Route[]): string[] =>
  [
    ...new Set([
      '/api',
      '/apis',
      '/apis/',
      ...discovery.paths,
      ...others
        .filter(({hidden}) => !hidden)
        .flatMap(({path, below}) => below?.().map(name => path.slice(0, -1) + name) ?? [path.replace(/\*$/, '')]),
    ]),
  ].sort();
