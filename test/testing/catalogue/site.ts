// The kind Site, and the scenario that all operators of the catalogue go through.

import {customKind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {
  defineController,
  type ControllerDefinition,
  type OperatorController,
  type ReconcileContext,
  type Stored,
} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import type {Stage, SurviveOptions} from '#src/testing/index.js';
import {restful} from '#test/controllers/plane.js';

export interface SiteStatus {
  map?: string;
  published?: number;
  phase?: string;
  at?: string;
  observedGeneration?: number;
  conditions?: {type: string; status: string; reason: string; message: string; lastTransitionTime: string}[];
}
export interface Site extends KubeObject {
  spec: {title: string};
  status?: SiteStatus;
}
export const Site = customKind<Site>({group: 'example.com', version: 'v1', kind: 'Site', plural: 'sites'});

const open = {type: 'object', 'x-kubernetes-preserve-unknown-fields': true};
export const siteDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {name: 'sites.example.com'},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {kind: 'Site', plural: 'sites', singular: 'site', listKind: 'SiteList'},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {openAPIV3Schema: {type: 'object', properties: {spec: open, status: open}}},
      },
    ],
  },
};

export const namespace = 'default';
export const aSite = (name: string, title = name): Site => ({
  apiVersion: 'example.com/v1',
  kind: 'Site',
  metadata: {name, namespace},
  spec: {title},
});

export type Definition = ControllerDefinition<Site>;
export type Context = ReconcileContext<Site>;
type Reconcile = Definition['reconcile'];

export const controller = (reconcile: Reconcile, more: Partial<Definition> = {}): OperatorController =>
  defineController<Site>({name: 'sites', for: Site, owns: [ConfigMap], reconcile, ...more});

/** A config map without its kind. */
export interface Map {
  readonly metadata: {readonly name: string; readonly namespace: string; readonly labels: Record<string, string>};
  readonly data: Record<string, string>;
}

export const mapOf = ({metadata, spec}: Stored<Site>, name = `site-${metadata.name}`): Map => ({
  metadata: {name, namespace, labels: {site: metadata.name}},
  data: {title: spec.title},
});

type Client = Context['client'];
export const apply = (client: Client, map: Map) => client.apply(ConfigMap, map);
export const create = (client: Client, map: Map) => client.create(ConfigMap, map);
/** Creates a map under a name that the server makes. */
export const generate = (client: Client, {metadata: {labels}, data}: Map) =>
  client.create(ConfigMap, {metadata: {generateName: 'site-', namespace, labels}, data});
export const setStatus = (client: Client, site: Stored<Site>, status: SiteStatus) => client.status(site, () => status);
export const deleteMap = (client: Client, name: string) => client.resource(ConfigMap).delete(name, {namespace});
export const settingsOf = ({caches}: Context): string => caches.get(ConfigMap, {namespace, name: 'settings'})?.data?.['color'] ?? 'none';

/** A system outside of the cluster: what it keeps, and how often it was asked for something. */
export const outside = {kept: new Set<string>(), sent: [] as string[]};

const wait = '10s';

/** Two sites are created, one is renamed and one deleted, and then the settings change. */
export const scenario = async ({client, advance}: Stage): Promise<void> => {
  outside.kept.clear();
  outside.sent.length = 0;
  const [sites, maps] = [client.resource(Site), client.resource(ConfigMap)];
  await maps.create({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'settings', namespace}, data: {color: 'red'}});
  await sites.create(aSite('a'));
  await sites.create(aSite('b'));
  await advance(wait);
  await sites.patch('a', 'merge', {spec: {title: 'renamed'}}, {namespace});
  await sites.delete('b', {namespace});
  await advance(wait);
  await maps.patch('settings', 'merge', {data: {color: 'blue'}}, {namespace});
};

/** What the catalogue compares: all that a user sees. */
export const described: Omit<SurviveOptions, 'controllers'> = {
  manifests: [siteDefinition],
  plane: {apiserverArgs: restful},
  scenario,
  settle: '20s',
  async end({list}) {
    const sites = await list(Site);
    const maps = (await list(ConfigMap, {namespace})).filter(({metadata}) => metadata?.labels?.['site']);
    return {
      sites: sites.map(({metadata, status}) => [metadata?.name, metadata?.labels?.['seen'], status?.published, status?.phase]),
      maps: maps.map(({metadata, data}) => [metadata?.labels?.['site'], data]),
      outside: [[...outside.kept].sort(), [...outside.sent].sort()],
    };
  },
};
