import type {ApiResponse} from '#src/api/request.js';
import type {KubeObject} from '#src/api/types.js';
import {filterOf} from '#src/apiserver/registry/read/filter.js';
import {parseListOptions} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import type {Virtual, VirtualContext} from '#src/resources/definition.js';
import {encoded} from './encode.js';
import {isPretty, objectResponse, representationFor, type ResourceServices} from './resource.js';

const contextOf = (
  {components, usage}: ResourceServices,
  {resource: {settings}}: ServedResource,
  {target}: ResourceContext,
): VirtualContext => ({
  naming: settings.naming,
  now: settings.clock.now(),
  namespace: target.namespace,
  usage,
  components,
});

const marked = ({kind, resource}: ServedResource, object: KubeObject): KubeObject => ({
  kind: kind.kind,
  apiVersion: resource.apiVersion,
  ...object,
});

/** GET of one object of a kind that is computed on reads. */
export const getVirtual = async (
  virtual: Virtual<KubeObject>,
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const shown = representationFor(context, served, 'item');
  return objectResponse(context, shown, marked(served, await virtual.get(context.target.name, contextOf(services, served, context))));
};

/** GET of all objects of a kind that is computed on reads. */
export const listVirtual = async (
  virtual: Virtual<KubeObject>,
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const shown = representationFor(context, served, 'list');
  const filter = filterOf(served, parseListOptions(served.resource.settings, context.info.query, false));
  const objects = (await virtual.list(contextOf(services, served, context)))
    .map(object => marked(served, object))
    .filter(object => filter.matches(object));
  return {status: 200, headers: {}, body: encoded(shown.accepted, () => shown.list(objects, {}), isPretty(context))};
};
