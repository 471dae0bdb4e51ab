import type {ApiResponse} from '#src/api/exchange.js';
import {methodNotAllowed} from '#src/api/status.js';
import type {Discovery} from './discovery/handler.js';
import {encoded} from './handlers/encode.js';
import {get, list, watch} from './handlers/read.js';
import {remove, removeCollection} from './handlers/remove.js';
import {isPretty, type ResourceServices} from './handlers/resource.js';
import {create, patch, update} from './handlers/write.js';
import type {Handler, ResourceContext} from './request/context.js';
import {plainJson} from './request/media-type.js';
import type {RequestInfo, ResourceTarget} from './request/request-info.js';
import type {ServedResource} from './registry/registry.js';

/** A path that is not a resource's, and what answers it; `path` may end in `/*` to mean everything below. */
export interface Route {
  readonly path: string;
  readonly methods?: readonly string[];
  readonly handler: Handler;
  /** Left out of the index at `/`. */
  readonly hidden?: boolean;
}

/** The plain 404 of an unknown path. */
export const pageNotFound = (): ApiResponse => ({
  status: 404,
  headers: {'X-Content-Type-Options': 'nosniff'},
  body: {kind: 'bytes', bytes: '404 page not found\n', contentType: 'text/plain; charset=utf-8'},
});

/** Finds what answers a request: a resource's verb, a discovery document, or one of the other routes. */
export const router = (services: ResourceServices, discovery: Discovery, others: readonly Route[]): ((info: RequestInfo) => Handler) => {
  const exact = new Map(others.filter(({path}) => !path.endsWith('/*')).map(route => [route.path, route]));
  const below = others.filter(({path}) => path.endsWith('/*')).map(route => ({...route, prefix: route.path.slice(0, -1)}));
  const index: Handler = context => ({status: 200, headers: {}, body: encoded(plainJson, () => ({paths: paths(discovery, others)}), isPretty(context))});
  return info => {
    if (info.resource) return resourceHandler(services, info.resource, info.verb) ?? pageNotFound;
    if (info.path === '/') return index;
    const route = exact.get(info.path) ?? below.find(({prefix}) => info.path.startsWith(prefix));
    if (route) return route.methods && !route.methods.includes(info.verb) ? methodRefused : route.handler;
    return discovery.handler(info.path) ?? pageNotFound;
  };
};

const methodRefused: Handler = ({info}) => {
  throw methodNotAllowed({group: '', resource: info.path}, info.verb);
};

const resourceHandler = (services: ResourceServices, target: ResourceTarget, verb: string): Handler | undefined => {
  const served = services.registry.find(target.group, target.version, target.resource);
  if (!served) return undefined;
  const {definition} = served.resource;
  const {subresource} = target;
  if (subresource && !definition.subresources?.[subresource] && !definition.actions?.[subresource]) return undefined;
  if (served.kind.namespaced ? target.item && !target.namespace : target.namespace && target.resource !== 'namespaces') return undefined;
  const run = verbs[verb];
  const refuse = (): never => {
    throw methodNotAllowed(served.resource.ref, verb);
  };
  if (!run) return refuse;
  if (definition.review && verb !== 'create') return refuse;
  if (definition.lacks?.some(lacked => lacked === verb)) return refuse;
  const offered: readonly string[] | undefined = subresource ? definition.subresources?.[subresource]?.verbs : undefined;
  if (offered && !offered.includes(verb)) return refuse;
  if (subresource && (verb === 'delete' || verb === 'watch' || (verb === 'get' && !definition.subresources?.[subresource]))) return refuse;
  return context => run(services, served, context as ResourceContext);
};

type Run = (services: ResourceServices, served: ServedResource, context: ResourceContext) => ApiResponse | Promise<ApiResponse>;

const verbs: Readonly<Record<string, Run>> = {
  get: (_, served, context) => get(served, context),
  list: (_, served, context) => list(served, context),
  watch,
  create,
  update,
  patch,
  delete: (_, served, context) => remove(served, context),
  deletecollection: (_, served, context) => removeCollection(served, context),
};

/** The index of paths at `/`. */
const paths = (discovery: Discovery, others: readonly Route[]): string[] => {
  const {groups} = discovery;
  const api = groups.flatMap(({group, versions}) => {
    const root = discovery.rootOf(group);
    return [root, ...versions.map(({version}) => `${root}/${version}`)];
  });
  return [...new Set(['/api', '/apis', ...api, ...others.filter(({hidden}) => !hidden).map(({path}) => path.replace(/\/\*$/, ''))])].sort();
};
