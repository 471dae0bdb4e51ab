import {sweepServer} from '#test/sweep/server.js';
import type {GroupDiscoveryList} from './aggregated.js';
import type {ResourceList} from './discovery.js';
import type {NamedDocument} from './openapi.js';

/** Starts a server with every API and every feature, as the original's reference data were recorded. */
export const referenceServer = () => sweepServer({thread: false, flags: ['--feature-gates=AllAlpha=true,AllBeta=true']});

type Server = Awaited<ReturnType<typeof referenceServer>>;

const groupVersionPaths = async ({get}: Server): Promise<string[]> => {
  const {groups} = (await get('/apis')).json<{groups: {versions: {groupVersion: string}[]}[]}>();
  return ['api/v1', ...groups.flatMap(({versions}) => versions.map(({groupVersion}) => `apis/${groupVersion}`))];
};

/** Returns the discovery documents of all group versions. */
export const discoveryOf = async (server: Server): Promise<ResourceList[]> => {
  const paths = await groupVersionPaths(server);
  return Promise.all(paths.map(async path => (await server.get(`/${path}`)).json<ResourceList>()));
};

/** Returns the OpenAPI v3 documents of these names. One that is not served is empty. */
export const openApiOf = (server: Server, names: ReadonlySet<string>): Promise<NamedDocument[]> =>
  Promise.all(
    [...names].map(async name => {
      const answer = await server.get(`/openapi/v3/${name}`);
      return {name, document: answer.status === 200 ? answer.json<Record<string, unknown>>() : {}};
    }),
  );

/** Returns the aggregated discovery document of all groups but the core one. */
export const aggregatedOf = async ({get}: Server): Promise<GroupDiscoveryList> =>
  (
    await get('/apis', {headers: {accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'}})
  ).json<GroupDiscoveryList>();
