// Operators with a bug each that authors of operators are known to write.

import {copyOf} from '#src/api/key.js';
import {isConflict} from '#src/api/status.js';
import {againAfter, type OperatorController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import type {SurviveOptions} from '#src/testing/index.js';
import {apply, controller, create, deleteMap, generate, mapOf, namespace, outside, setStatus, settingsOf, Site} from './site.js';

/** A bug, and how the scenario is looked at if not as usual. */
export interface Bug {
  /** The run that finds it: of the seed alone if it is one without any fault. */
  readonly seed: string;
  readonly faulty: () => readonly OperatorController[];
  readonly options?: Partial<SurviveOptions>;
}

/** Operators whose children have no owner: the garbage collector has nothing to do. */
const uncollected = {owns: [], reads: [ConfigMap]};
const finalizer = 'example.com/outside';

export const bugs: Readonly<Record<string, Bug>> = {
  'it never works: the server refuses what it applies': {
    seed: '1',
    faulty: () => [
      controller(async ({object, client}) => {
        if (object) await apply(client, mapOf(object, `Site_${object.metadata.name}`));
      }),
    ],
  },
  'it wakes itself by a time in the status': {
    seed: '1',
    faulty: () => [
      controller(async ({object, client, clock}) => {
        if (object) await setStatus(client, object, {at: new Date(clock.now()).toISOString()});
      }),
    ],
  },
  'it wakes itself by a time in whole seconds': {
    seed: '1/run 1/slow',
    faulty: () => [
      controller(async ({object, client, clock}) => {
        if (object) await setStatus(client, object, {at: new Date(clock.now()).toISOString().slice(0, 19)});
      }),
    ],
    options: {settle: '45s'},
  },
  'a condition flaps: each reconcile says Progressing, and then Ready': {
    seed: '1',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object) return;
        const progressing = await setStatus(client, object, {phase: 'Progressing'});
        await apply(client, mapOf(object));
        await setStatus(client, progressing, {phase: 'Ready'});
      }),
    ],
  },
  'it asks to be called again at once, for ever': {
    seed: '1',
    faulty: () => [controller(async ({object}) => (object ? againAfter(0) : undefined))],
  },
  'a child has no owner, and the operator deletes it itself when it sees the deletion': {
    seed: '1/write 3/stopped before',
    faulty: () => [
      controller(async ({key, object, client, caches}) => {
        if (object) await apply(client, mapOf(object));
        else if (caches.get(ConfigMap, {namespace, name: `site-${key.name}`})) await deleteMap(client, `site-${key.name}`);
      }, uncollected),
    ],
  },
  'an object outside is made before its finalizer is set': {
    seed: '1/write 2/down until next act',
    faulty: () => [
      controller(async ({key, object, client}) => {
        if (!object) return;
        if (object.metadata?.deletionTimestamp) {
          outside.kept.delete(key.name);
          await client.removeFinalizer(object, finalizer);
          return;
        }
        outside.kept.add(key.name);
        await client.addFinalizer(object, finalizer);
      }, uncollected),
    ],
  },
  'a finalizer is removed before the clean-up': {
    seed: '1/write 3/stopped after',
    faulty: () => [
      controller(async ({key, object, client}) => {
        if (!object) return;
        if (!object.metadata?.deletionTimestamp) {
          await client.addFinalizer(object, finalizer);
          outside.kept.add(key.name);
          return;
        }
        if (!object.metadata.finalizers?.includes(finalizer)) return;
        await client.removeFinalizer(object, finalizer);
        outside.kept.delete(key.name);
      }, uncollected),
    ],
  },
  'a deletion is ignored: the finalizer stays': {
    seed: '1',
    faulty: () => [
      controller(async ({key, object, client}) => {
        if (!object) return;
        await client.addFinalizer(object, finalizer);
        outside.kept.add(key.name);
      }, uncollected),
    ],
  },
  'a clean-up fails where there is nothing left to clean up': {
    seed: '1/write 6/stopped after',
    faulty: () => [
      controller(
        async ({object, client}) => {
          if (object) await apply(client, mapOf(object));
        },
        {
          ...uncollected,
          finalizer,
          async finalize({key, client}) {
            await deleteMap(client, `site-${key.name}`);
          },
        },
      ),
    ],
  },
  'a child is created without a thought of one that exists': {
    seed: '1/write 1/stopped after',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object || object.status?.map) return;
        await create(client, mapOf(object));
        await setStatus(client, object, {map: `site-${object.metadata.name}`});
      }),
    ],
  },
  'a child with a generated name is created where the cache shows none': {
    seed: '1/write 1/stale caches',
    faulty: () => [
      controller(async ({object, client, caches}) => {
        if (!object || caches.list(ConfigMap, {namespace}).some(map => map.metadata?.labels?.['site'] === object.metadata.name)) return;
        await generate(client, mapOf(object));
      }),
    ],
  },
  'a child with a generated name is created where the server shows none': {
    seed: '1/write 1/another leads',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object) return;
        const {items} = await client.list(ConfigMap, {namespace, labelSelector: `site=${object.metadata.name}`});
        if (items.length === 0) await generate(client, mapOf(object));
      }),
    ],
  },
  'a child has a random name, which the status keeps': {
    seed: '1/write 1/stopped after',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object || object.status?.map) return;
        const name = `site-${Math.random().toString(36).slice(2)}`;
        await create(client, mapOf(object, name));
        await setStatus(client, object, {map: name});
      }),
    ],
  },
  'the clock of the machine is read': {
    seed: '1',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object || object.status?.map) return;
        const {metadata, data} = mapOf(object);
        await apply(client, {metadata, data: {...data, at: String(Date.now())}});
        await setStatus(client, object, {map: metadata.name!});
      }),
    ],
  },
  'a status is counted up from a stale cache': {
    seed: '1/write 1/stale caches',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object || object.status?.map) return;
        const name = object.metadata.name!;
        await apply(client, mapOf(object));
        // The publication is counted wherever the object may be by now.
        const {status} = await client.resource(Site).get(name, {namespace});
        const counted = {map: `site-${name}`, published: (status?.published ?? 0) + 1};
        await client.resource(Site).patch(name, 'merge', {status: counted}, {namespace, subresource: 'status'});
      }),
    ],
  },
  'a change of others is overwritten by a whole object': {
    seed: '1/write 1/changed meanwhile',
    faulty: () => [
      controller(async ({object, client}) => {
        if (!object || object.metadata?.labels?.['seen']) return;
        const site = copyOf<Site>(object);
        site.metadata = {...site.metadata, labels: {seen: 'yes'}};
        const sites = client.resource(Site);
        try {
          await sites.update(site);
        } catch (error) {
          if (!isConflict(error)) throw error;
          const {metadata} = await sites.get(site.metadata.name!, {namespace});
          await sites.update({...site, metadata: {...site.metadata, resourceVersion: metadata!.resourceVersion!}});
        }
      }),
    ],
  },
  'a change is acted upon instead of a state': {
    seed: '1/write 3/stopped before',
    faulty: () => [
      controller(
        async ({object, client}) => {
          if (object) await apply(client, mapOf(object));
        },
        {
          ...uncollected,
          // A new title is seen only by one who has seen the old one.
          when: change => change.type !== 'added' || change.object.metadata?.generation === 1,
        },
      ),
    ],
  },
  'the operator remembers in memory what it has made': {
    seed: '1/write 3/stopped before',
    faulty: () => {
      const known = new Set<string>();
      return [
        controller(async ({key, object, client}) => {
          if (object) {
            known.add(key.name);
            await apply(client, mapOf(object));
          } else if (known.delete(key.name)) await deleteMap(client, `site-${key.name}`);
        }, uncollected),
      ];
    },
  },
  'names are numbered in memory': {
    seed: '1/write 1/answer lost',
    faulty: () => {
      let count = 0;
      return [
        controller(async ({object, client, caches}) => {
          if (!object || caches.list(ConfigMap, {namespace}).some(map => map.metadata?.labels?.['site'] === object.metadata.name)) return;
          await create(client, mapOf(object, `map-${++count}`));
        }),
      ];
    },
  },
  'settings are read but not watched': {
    seed: '1/write 1/webhook away',
    faulty: () => [
      controller(
        async context => {
          const {object, client} = context;
          if (!object) return;
          const {metadata, data} = mapOf(object);
          await apply(client, {metadata, data: {...data, color: settingsOf(context)}});
        },
        {owns: [], reads: [ConfigMap]},
      ),
    ],
  },
  'the generation that was acted upon is read afterwards': {
    seed: '1/write 1/user first',
    faulty: () => [
      controller(async ({key, object, client}) => {
        if (!object || object.status?.observedGeneration === object.metadata?.generation) return;
        await apply(client, mapOf(object));
        const fresh = await client.get(Site, key);
        if (fresh) await setStatus(client, fresh, {observedGeneration: fresh.metadata.generation!});
      }),
    ],
  },
  'a call outside is made again when its success was not noted': {
    seed: '1/write 1/stopped before',
    faulty: () => [
      controller(async ({key, object, client}) => {
        if (!object || object.status?.phase === 'Sent') return;
        outside.sent.push(key.name);
        await setStatus(client, object, {phase: 'Sent'});
      }),
    ],
  },
  'an error is caught and forgotten': {
    seed: '1/write 2/webhook away',
    faulty: () => [
      controller(async ({object, client, log}) => {
        if (!object) return;
        try {
          await apply(client, mapOf(object));
        } catch {
          log.info('the map could not be applied');
        }
      }),
    ],
  },
  'a child is deleted and made anew where it could be changed': {
    seed: '1',
    faulty: () => [
      controller(async ({object, client, caches}) => {
        if (!object || object.metadata?.deletionTimestamp) return;
        const map = caches.get(ConfigMap, {namespace, name: `site-${object.metadata.name}`});
        if (map?.data?.['title'] === object.spec.title) return;
        if (map) await client.delete(map);
        await create(client, mapOf(object));
      }),
    ],
    options: {
      // Whoever has been published stays so.
      async invariant({list}) {
        const published = new Set((await list(ConfigMap, {namespace})).map(({metadata}) => metadata?.labels?.['site']));
        for (const name of published) if (name) outside.kept.add(name);
        const sites = (await list(Site)).map(({metadata}) => metadata!.name!);
        const missing = sites.filter(name => outside.kept.has(name) && !published.has(name));
        return missing.length > 0 ? `the map of ${missing.join(', ')} is gone` : undefined;
      },
    },
  },
};
