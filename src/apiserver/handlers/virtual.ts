import type {ApiResponse} from '#src/api/exchange.js';
import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {filterOf, listOptions} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/registry.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {encoded} from './encode.js';
import {isPretty, objectResponse, representationFor, type ResourceServices} from './resource.js';

const made = async (services: ResourceServices, {kind, resource}: ServedResource): Promise<KubeObject[]> => {
  const {naming} = resource.settings;
  const objects = (await resource.definition.virtual?.({naming, components: services.components})) ?? [];
  return objects.map(object => ({kind: kind.kind, apiVersion: resource.apiVersion, ...object}));
};

/** GET of one object of a kind that is made up when it is read. */
export const getVirtual = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const shown = representationFor(context, served, 'item');
  const {name} = context.target;
  const object = (await made(services, served)).find(({metadata}) => metadata?.name === name);
  if (!object) throw plainFailure(`Component not found: ${name}`);
  return objectResponse(context, shown, object);
};

/** GET of all objects of a kind that is made up when it is read. */
export const listVirtual = async (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const shown = representationFor(context, served, 'list');
  const filter = filterOf(served, listOptions(served.resource.settings, context.info.query, false));
  const objects = (await made(services, served)).filter(object => filter.matches(object));
  return {status: 200, headers: {}, body: encoded(shown.accepted, () => shown.list(objects, {}), isPretty(context))};
};
