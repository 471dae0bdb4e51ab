import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {keyText} from '#src/api/key.js';
import type {Secret} from '#src/api/types.js';
import {defineController, every, forLoop, mapped, owned, sameKey, settled, singletonKey, type Reconcile} from '#src/runtime/controller.js';
import {startManager} from './environment.js';
import {aMap, minute, noting} from './noting.js';

test('a dependent enqueues its owner, before and after a change of owner, and resyncs enqueue nothing', async t => {
  const seen: string[] = [];
  const controller = noting(
    async key => {
      seen.push(key.name);
      return settled;
    },
    {watches: [owned(kinds.secrets)]},
  );
  const {client, clock, create, start} = startManager(t, [controller], {minResyncMs: 60 * minute});
  await start();
  const ownerOf = (name: string) => [{apiVersion: 'v1', kind: 'ConfigMap', name, uid: `u-${name}`, controller: true}];
  const secret = await create(kinds.secrets, {metadata: {namespace: 'default', name: 's', ownerReferences: ownerOf('first')}} as Secret);
  t.deepEqual(seen.splice(0), ['first']);

  await client.resource(kinds.secrets).update({...secret, metadata: {...secret.metadata, ownerReferences: ownerOf('second')}});
  await clock.drain();
  t.deepEqual(seen.splice(0), ['first', 'second']);
  await create(kinds.secrets, {
    metadata: {namespace: 'default', name: 'alien', ownerReferences: [{...ownerOf('x')[0]!, apiVersion: 'apps/v1'}]},
  } as Secret);
  await clock.advance(180 * minute);

  t.deepEqual(seen, []);
});

test('keys of changes are reconciled before those of a first list and of a resync', async t => {
  const seen: string[] = [];
  const controller = noting(async (key, attempt) => {
    if (seen.push(key.name) === 1) await attempt.pause(1000);
    return settled;
  });
  const {client, clock, create, start} = startManager(t, [controller], {minResyncMs: 60 * minute});
  for (const name of ['a', 'b', 'c', 'd']) await create(kinds.configMaps, aMap(name));
  await start();
  t.deepEqual(seen, ['a']);

  await create(kinds.configMaps, aMap('new'));
  await client.resource(kinds.configMaps).patch('d', 'merge', {data: {k: 'v'}}, {namespace: 'default'});
  await clock.drain();
  t.deepEqual(seen, ['a']);
  await clock.advance(1000);

  t.deepEqual(seen.splice(0), ['a', 'new', 'd', 'b', 'c']);
  await clock.advance(120 * minute);
  t.deepEqual([...new Set(seen)].toSorted(), ['a', 'b', 'c', 'd', 'new']);
});

test('a mapping names any keys, at once or later, and may read caches', async t => {
  const seen: string[] = [];
  const controller = noting(
    async key => {
      seen.push(`${key.name} at ${clock.monotonic()}`);
      return settled;
    },
    {
      watches: [
        mapped(kinds.secrets, ({object}, {lister}) => [
          ...lister(kinds.configMaps)
            .list(object.metadata?.namespace)
            .map(({metadata}) => ({namespace: 'default', name: metadata?.name ?? ''})),
          {key: {namespace: '', name: 'later'}, afterMs: 1000},
        ]),
        sameKey(kinds.namespaces, ({type}) => type === 'added'),
      ],
    },
  );
  const {clock, create, start} = startManager(t, [controller]);
  await create(kinds.configMaps, aMap('a'));
  await start();
  seen.length = 0;

  await create(kinds.secrets, {metadata: {namespace: 'default', name: 's'}});
  await create(kinds.namespaces, {metadata: {name: 'n'}});
  await clock.advance(1000);

  t.deepEqual(seen, ['a at 0', 'n at 0', 'later at 1000']);
});

test('handlers of a controller are called before keys are reconciled, and not after its end', async t => {
  const reported: string[] = [];
  const controller = noting(async () => settled, {
    create({listen, enqueue}) {
      listen(kinds.secrets, ({type, object}) => {
        reported.push(`${type} ${object.metadata?.name}`);
        enqueue({namespace: 'default', name: object.metadata?.name ?? ''});
      });
      return async key => {
        reported.push(`looked at ${key.name}`);
        return settled;
      };
    },
  });
  const {clock, create, start, stop} = startManager(t, [controller]);
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 'early'}});
  await start();
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 'late'}});
  t.deepEqual(reported, ['added early', 'looked at early', 'added late', 'looked at late']);

  stop();
  await clock.drain();
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 'later'}});

  t.is(reported.length, 4);
});

test('a period enqueues all keys of the primary kind, or the only one, while the options request it', async t => {
  const seen: string[] = [];
  const note =
    (name: string): Reconcile =>
    async key => {
      seen.push(`${name} ${keyText(key)}`);
      return settled;
    };
  const each = noting(note('each'), {name: 'each-controller', watches: [every('5m')]});
  const one = defineController<{period: number}>({
    doc: 'One.',
    name: 'one-controller',
    serviceAccount: 'one',
    watches: [every((options: {period: number}) => options.period)],
    create({enqueue}) {
      enqueue(singletonKey);
      return note('one');
    },
  });
  const {clock, create, start} = startManager(t, [each, one], {options: {period: 4 * minute}});
  await create(kinds.configMaps, aMap('a'));
  await create(kinds.configMaps, aMap('b'));
  await start();
  t.deepEqual(seen.splice(0).sort(), ['each default/a', 'each default/b', 'one all']);

  await clock.advance(6 * minute);

  t.deepEqual(seen.sort(), ['each default/a', 'each default/b', 'one all']);
});

test('several loops each have a queue of their own', async t => {
  const seen: string[] = [];
  const controller = noting(async () => settled, {
    watches: [forLoop('secrets', sameKey(kinds.secrets))],
    create: () => ({
      maps: async key => {
        seen.push(`maps ${key.name}`);
        return settled;
      },
      secrets: async key => {
        seen.push(`secrets ${key.name}`);
        return settled;
      },
    }),
  });
  const {create, start, meter} = startManager(t, [controller]);
  await start();

  await create(kinds.secrets, {metadata: {namespace: 'default', name: 's'}});
  await create(kinds.configMaps, aMap('a'));

  t.deepEqual(seen, ['secrets s', 'maps a', 'secrets a']);
  t.is(meter.value('workqueue_adds_total', {name: 'noting-controller-secrets'}), 2);
});

test('a loop may have workers and a queue name of its own, and a queue no bucket', async t => {
  const most: Record<string, number> = {wide: 0, narrow: 0};
  const now: Record<string, number> = {wide: 0, narrow: 0};
  const counting =
    (loop: string): Reconcile =>
    async (_, {pause, retries}) => {
      now[loop]!++;
      most[loop] = Math.max(most[loop]!, now[loop]!);
      await pause(1);
      now[loop]!--;
      if (retries === 0) throw new Error('not yet');
      return settled;
    };
  const controller = noting(async () => settled, {
    workers: 4,
    queue: {baseDelayMs: 100, unshared: true},
    create: () => ({wide: counting('wide'), narrow: {reconcile: counting('narrow'), workers: 1, queueName: 'narrow_one'}}),
  });
  const {clock, create, start, meter} = startManager(t, [controller]);
  for (let i = 0; i < 150; i++) await create(kinds.configMaps, aMap(`m${i}`));
  await start();
  await clock.advance(400);

  t.deepEqual(most, {wide: 4, narrow: 1});
  t.is(meter.value('workqueue_adds_total', {name: 'narrow_one'}), 300);
  t.is(meter.value('workqueue_adds_total', {name: 'noting-controller-wide'}), 300);
});

test('no worker begins before every cache is synced, sources requested in create included', async t => {
  const sizes: number[] = [];
  const controller = noting(async () => settled, {
    create: ({lister}) => {
      const secrets = lister(kinds.secrets);
      t.is(secrets.size, 0);
      return async () => {
        sizes.push(secrets.size);
        return settled;
      };
    },
  });
  const {create, start} = startManager(t, [controller]);
  await create(kinds.configMaps, aMap('a'));
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 's'}});

  await start();

  t.deepEqual(sizes, [1]);
});
