// Small operators of the kind Site, which has one config map, each in a correct form and with a mistake that authors of
// operators are known to make.

import {createHash} from 'node:crypto';
import type {KubeObject} from '#src/api/types.js';
import {customKind} from '#src/api/kind.js';
import {copyOf} from '#src/api/key.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {defineController, type ControllerDefinition, type OperatorController, type Stored} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';

export interface Site extends KubeObject {
  spec: {title: string};
  status?: {map?: string; published?: number};
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

type Definition = ControllerDefinition<Site>;
type Reconcile = Definition['reconcile'];
const controller = (reconcile: Reconcile, more: Partial<Definition> = {}): OperatorController =>
  defineController<Site>({name: 'sites', for: Site, owns: [ConfigMap], reconcile, ...more});

const mapOf = ({metadata, spec}: Stored<Site>, name = `site-${metadata.name}`) => ({
  metadata: {name, namespace, labels: {site: metadata.name}},
  data: {title: spec.title},
});

/** A pair of operators. */
export interface Mistake {
  readonly faulty: () => readonly OperatorController[];
  readonly correct: () => readonly OperatorController[];
  /** Whether the garbage collector is what deletes the maps of the correct form. */
  readonly isCollected?: boolean;
}

const applying: Reconcile = async ({object, client}) => {
  if (object) await client.apply(ConfigMap, mapOf(object));
};
const correct = () => [controller(applying)];

export const mistakes: Readonly<Record<string, Mistake>> = {
  'a child without an owner, deleted by the operator itself': {
    faulty: () => [
      controller(
        async ({key, object, client, caches}) => {
          const map = caches.get(ConfigMap, {namespace: key.namespace, name: `site-${key.name}`});
          if (object) await client.apply(ConfigMap, mapOf(object));
          else if (map) await client.delete(map);
        },
        {owns: [], reads: [ConfigMap]},
      ),
    ],
    correct,
    isCollected: true,
  },
  'a status that is counted up from a stale cache': {
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object) return;
        await client.apply(ConfigMap, mapOf(object));
        if (object.status?.map) return;
        const status = {map: `site-${object.metadata!.name}`, published: (object.status?.published ?? 0) + 1};
        // The publication is counted wherever the object may be by now.
        const {published = 0} = (await client.get(Site, object.metadata as never))?.status ?? {};
        await client
          .resource(Site)
          .patch(object.metadata.name, 'merge', {status: {...status, published: published + 1}}, {namespace, subresource: 'status'});
      }),
    ],
    correct: () => [
      controller(async ({object, client}) => {
        if (!object) return;
        await client.apply(ConfigMap, mapOf(object));
        if (!object.status?.map) await client.status(object, () => ({map: `site-${object.metadata!.name}`, published: 1}));
      }),
    ],
  },
  'a deletion that is only seen by an operator that runs': {
    faulty: () => {
      const known = new Map<string, string>();
      return [
        controller(
          async ({key, object, client}) => {
            if (object) {
              known.set(key.name, `site-${key.name}`);
              await client.apply(ConfigMap, mapOf(object));
            } else if (known.has(key.name)) {
              const map = await client.get(ConfigMap, {namespace, name: known.get(key.name)!});
              if (map) await client.delete(map);
              known.delete(key.name);
            }
          },
          {owns: []},
        ),
      ];
    },
    correct,
    isCollected: true,
  },
  'a finalizer that stays when its clean-up is done already': {
    faulty: () => [finalizing(false)],
    correct: () => [finalizing(true)],
  },
  'names that are given again after a restart': {
    faulty: () => {
      let count = 0;
      return [
        controller(async ({object, client, caches}) => {
          if (!object || caches.list(ConfigMap, {namespace}).some(map => map.metadata?.labels?.['site'] === object.metadata!.name)) return;
          await client.create(ConfigMap, mapOf(object, `map-${++count}`));
        }),
      ];
    },
    correct: () => [
      controller(async ({object, client}) => {
        if (!object) return;
        const id = createHash('sha256').update(object.metadata.uid).digest('hex').slice(0, 10);
        await client.apply(ConfigMap, mapOf(object, `map-${id}`));
      }),
    ],
  },
  'a change of others that is overwritten': {
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object || object.metadata?.labels?.['seen']) return;
        const site = copyOf<Site>(object);
        site.metadata = {...site.metadata, labels: {seen: 'yes'}};
        try {
          await client.resource(Site).update(site);
        } catch (error) {
          if (!isConflict(error)) throw error;
          const {resourceVersion} = (await client.get(Site, site.metadata as never))!.metadata!;
          await client.resource(Site).update({...site, metadata: {...site.metadata, resourceVersion: resourceVersion!}});
        }
      }),
    ],
    correct: () => [
      controller(async ({object, client}) => {
        if (!object || object.metadata?.labels?.['seen']) return;
        await client.patch(object, site => {
          site.metadata = {...site.metadata, labels: {seen: 'yes'}};
        });
      }),
    ],
  },
};

/** Deletes its config map before the object goes; the faulty one fails when the map is gone. */
const finalizing = (ignoresMissing: boolean): OperatorController =>
  controller(
    async ({object, client}) => {
      if (object) await client.apply(ConfigMap, mapOf(object));
    },
    {
      owns: [],
      reads: [ConfigMap],
      finalizer: 'example.com/map',
      retry: {delay: '1s', longest: '10s'},
      async finalize({object, client}) {
        try {
          await client.resource(ConfigMap).delete(`site-${object.metadata!.name}`, {namespace});
        } catch (error) {
          if (!ignoresMissing || !isNotFound(error)) throw error;
        }
      },
    },
  );
