// The paths by which an API server is observed: health, metrics, profiles and z-pages.

import {healthRoutes} from '#src/apiserver/handlers/health.js';
import type {Route} from '#src/apiserver/handlers/route.js';
import {tableAt} from '#src/apiserver/present/representation.js';
import {passAll} from '#src/apiserver/registry/read/filter.js';
import {readRange, scopeOf} from '#src/apiserver/registry/read/list.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {Clock} from '#src/base/clock.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {zPages} from '#src/plane/component/zpages.js';
import type {RecordedObject} from '#src/observe/flight-recorder.js';
import type {StoredObject, StoredObjects} from '#src/recorder/objects.js';
import {Recorder} from '#src/recorder/recorder.js';
import {ReadApi} from '#src/recorder/routes.js';
import type {StoredRecord} from '#src/storage/store.js';
import {metricsRoute, slisRoute} from '#src/serving/administration/metrics.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import type {AdministrativeRoute} from '#src/serving/administration/route.js';
import type {ServerHealth} from './health.js';
import type {ApiServerParts} from './parts.js';

/** Health, metrics, profiles and z-pages. */
export const observationRoutes = (parts: ApiServerParts, {healthz, livez, readyz}: ServerHealth): Route[] => {
  const {options, naming, clock, metrics, metricsBeside: beside = []} = parts;
  const resets = options.profiling;
  const routes = [
    asRoute(metricsRoute(metrics, {beside, resets})),
    asRoute(slisRoute(naming, [healthz, livez, readyz], {resets})),
    ...Object.entries({healthz, livez, readyz}).flatMap(([endpoint, checks]) => healthRoutes(endpoint, checks)),
    ...(options.profiling ? profiling(options, clock).map(route => ({...asRoute(route), hidden: true})) : []),
  ];
  // As upstream, the name differs between the two pages.
  const component = {statusz: 'apiserver', flagz: naming.component('apiserver')};
  return [...routes, ...zPages({...parts, component}, () => [...routes.map(({path}) => path), '/version']).map(asRoute)];
};

/** The profiles of this process. */
export const profiling = ({contentionProfiling}: Pick<ApiserverOptions, 'contentionProfiling'>, clock: Clock): AdministrativeRoute[] =>
  profilingRoutes({clock, argv: process.argv, contention: contentionProfiling});

/** The read API of the flight recorder, if there is one. */
export const recorderRoutes = ({recorder, clock}: ApiServerParts, registry: Registry): Route[] => {
  if (!(recorder instanceof Recorder)) return [];
  const api = new ReadApi({recorder, authorizer: registry.settings.authorizer, clock, stored: storedObjects(registry)});
  return ReadApi.paths.map(path => ({
    path,
    handler: ({request, info, user}) => api.answer({method: request.method, path: info.path, query: info.query, request}, user),
  }));
};

/** The objects of the store at present, as the recorder reads them. */
const storedObjects = (registry: Registry): StoredObjects => {
  const resourceOf = ({group, resource}: RecordedObject) =>
    registry.served.find(({resource: {ref}}) => ref.group === group && ref.resource === resource)?.resource;
  const storedObject = (resource: Resource, record: StoredRecord): StoredObject => ({
    ...resource.parseKey(record.key),
    read: hasOwners => (hasOwners ? resource.object(record) : resource.withoutOwners(record)),
  });
  return {
    async list(object) {
      const resource = resourceOf(object);
      if (!resource) return [];
      const {namespace = '', name} = object;
      if (name !== undefined && !(resource.kind.namespaced && namespace === '')) {
        const record = await resource.settings.store.get(resource.key(namespace, name));
        return record ? [storedObject(resource, record)] : [];
      }
      const scope = scopeOf(resource, resource.kind.namespaced ? namespace : '', passAll);
      const all: StoredObject[] = [];
      for await (const {records} of readRange(resource, scope, undefined))
        for (const record of records) all.push(storedObject(resource, record));
      return name === undefined ? all : all.filter(each => each.name === name);
    },
    table(object, objects, now) {
      const resource = resourceOf(object);
      return resource && tableAt(resource, objects, now);
    },
    showsOwners: object => resourceOf(object)?.isCustom ?? false,
  };
};

const asRoute = ({path, answer}: AdministrativeRoute): Route => ({
  path,
  handler: ({request, info}) => answer({method: request.method, path: info.path, query: info.query, request}),
});
