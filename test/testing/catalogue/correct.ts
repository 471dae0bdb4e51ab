// Correct operators of the same kind: none of them may be found.

import {createHash} from 'node:crypto';
import {isNotFound} from '#src/api/status.js';
import {againAfter, mapped, setCondition, type OperatorController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {apply, controller, deleteMap, mapOf, namespace, outside, setStatus, settingsOf, Site} from './site.js';

export const correctOperators: Readonly<Record<string, () => readonly OperatorController[]>> = {
  'it applies an owned child': () => [
    controller(async ({object, client}) => {
      if (object) await apply(client, mapOf(object));
    }),
  ],
  'a finalizer is set before an object outside is made': () => [
    controller(
      async ({key, object}) => {
        if (object) outside.kept.add(key.name);
      },
      {
        owns: [],
        finalizer: 'example.com/outside',
        async finalize({key}) {
          outside.kept.delete(key.name);
        },
      },
    ),
  ],
  'a clean-up ignores what is gone already': () => [
    controller(
      async ({object, client}) => {
        if (object) await apply(client, mapOf(object));
      },
      {
        owns: [],
        reads: [ConfigMap],
        finalizer: 'example.com/map',
        async finalize({key, client}) {
          await deleteMap(client, `site-${key.name}`).catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
        },
      },
    ),
  ],
  'a condition and the observed generation are written when they change': () => [
    controller(async ({object, client}) => {
      if (!object) return;
      await apply(client, mapOf(object));
      const {generation} = object.metadata!;
      await client.status<Site>(
        object,
        status => ({...status, phase: 'Ready', observedGeneration: generation!}) as never,
        setCondition('Ready', 'True', 'Applied') as never,
      );
    }),
  ],
  'names are made of the uid': () => [
    controller(async ({object, client}) => {
      if (!object) return;
      const id = createHash('sha256').update(object.metadata.uid!).digest('hex').slice(0, 10);
      await apply(client, mapOf(object, `map-${id}`));
    }),
  ],
  'settings are watched': () => [
    controller(
      async context => {
        const {object, client} = context;
        if (!object) return;
        const {metadata, data} = mapOf(object);
        await apply(client, {metadata, data: {...data, color: settingsOf(context)}});
      },
      {watches: [mapped(ConfigMap, ({metadata}, {caches}) => (metadata?.name === 'settings' ? caches.list(Site) : []))]},
    ),
  ],
  'phases follow each other, one in a reconcile': () => [
    controller(async ({object, client, caches}) => {
      if (!object || object.metadata?.deletionTimestamp) return;
      const {phase = 'Pending'} = object.status ?? {};
      const map = caches.get(ConfigMap, {namespace, name: `site-${object.metadata.name}`});
      if (!map) return void (await apply(client, mapOf(object)));
      if (map.data?.['title'] !== object.spec.title) return void (await apply(client, mapOf(object)));
      if (phase === 'Pending') return void (await setStatus(client, object, {phase: 'Starting'}));
      if (phase === 'Starting') await setStatus(client, object, {phase: 'Ready'});
    }),
  ],
  'something outside is looked at again and again': () => [
    controller(async ({key, object, client}) => {
      if (!object) return;
      outside.kept.add(`checked ${key.name}`);
      await setStatus(client, object, {phase: outside.kept.has(`checked ${key.name}`) ? 'Checked' : 'Unknown'});
      return againAfter('5s');
    }),
  ],
};
