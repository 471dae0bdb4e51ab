import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {createManager, defineController, selection, type ReconcileContext, type Selection} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {aPlane} from '#test/controllers/plane.js';
import {inject, type InjectOptions} from '#src/testing/index.js';

const namespace = 'default';
const agent = 'operator/1';

/** A plane with a controller of config maps that caches secrets, whose events are disturbed. */
const running = async (
  t: ExecutionContext,
  {
    fault,
    reads = [Secret],
    ...declared
  }: {
    readonly fault: Pick<InjectOptions, 'fault' | 'count' | 'after'>;
    readonly reads?: readonly (typeof Secret | Selection<Secret, 'Secret'>)[];
    readonly ownWritesWait?: '0s' | '10s';
    reconcile(context: ReconcileContext<ConfigMap>): Promise<void>;
  },
) => {
  const plane = await aPlane({naming: 'kubernetes', controllers: []});
  const {clock} = plane;
  t.teardown(() => plane.stop());
  const injected = inject(plane, {...fault, kind: Secret, verb: 'watch', userAgent: agent});
  const client = plane.client();
  const admin = plane.client(undefined, agent);
  const seen: string[] = [];
  const controller = defineController<ConfigMap>({
    name: 'maps',
    for: selection(ConfigMap, {namespace}),
    reads,
    ...declared,
    async reconcile(context) {
      if (context.object) seen.push(context.key.name);
      await declared.reconcile(context);
    },
  });
  const manager = createManager({controllers: [controller], client: admin, clock, log: noLog, freeze: true});
  const stop = new AbortController();
  const run = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await run;
  });
  await manager.ready;
  await clock.drain();
  seen.length = 0;
  const change = async (name: string, value: string) => {
    await client.apply(ConfigMap, {metadata: {name, namespace}, data: {value}});
    await clock.drain();
  };
  const secrets = async () => (await client.list(Secret, {namespace})).items.map(({metadata}) => metadata.name);
  const metric = async (name: string) =>
    Number(
      new RegExp(`^plat_operator_stale_cache_${name}\\{controller="maps"\\} (.*)$`, 'm').exec((await manager.metrics()).body)?.[1] ?? 0,
    );
  return {clock, client, change, secrets, metric, seen, injected, stop, run};
};

/** Creates a secret for a map that has none: from a stale cache, another one. */
const creating = async ({object, key, caches, client}: ReconcileContext<ConfigMap>) => {
  if (!object || caches.list(Secret, {namespace}).some(({metadata}) => metadata.labels?.['of'] === key.name)) return;
  await client.create(Secret, {metadata: {generateName: `${key.name}-`, namespace, labels: {of: key.name}}});
};

test('a reconcile sees what the last one of its key wrote, though the event is late, and other keys do not wait for it', async t => {
  const {clock, change, secrets, metric, seen} = await running(t, {
    fault: {fault: 'delayed event', count: 'always', after: '1500ms'},
    reconcile: creating,
  });

  await change('a', '1');
  await change('a', '2');
  await change('b', '1');
  t.deepEqual(seen, ['a', 'b']);
  t.is((await secrets()).length, 2);
  await clock.advance(2000);

  t.deepEqual(seen, ['a', 'b', 'a']);
  t.is((await secrets()).length, 2);
  t.deepEqual([await metric('wait_seconds_count'), await metric('wait_seconds_sum'), await metric('timeouts_total')], [1, 1.5, 0]);
});

test('a key waits two seconds for a cache that stays stale, and then is reconciled all the same', async t => {
  const {clock, change, secrets, metric, seen} = await running(t, {fault: {fault: 'stale cache'}, reconcile: creating});

  await change('a', '1');
  await change('a', '2');
  await clock.advance(1999);
  t.deepEqual(seen, ['a']);
  await clock.advance(1);
  await clock.drain();

  t.deepEqual(seen, ['a', 'a']);
  t.is((await secrets()).length, 2);
  t.deepEqual([await metric('wait_seconds_count'), await metric('timeouts_total')], [1, 1]);
});

test('the wait can be turned off', async t => {
  const {change, secrets, seen} = await running(t, {fault: {fault: 'stale cache'}, ownWritesWait: '0s', reconcile: creating});

  await change('a', '1');
  await change('a', '2');

  t.deepEqual([seen.length, (await secrets()).length], [2, 2]);
});

test('what cannot be in the caches of the controller is not waited for', async t => {
  const {change, metric, seen} = await running(t, {
    fault: {fault: 'stale cache'},
    reads: [
      selection(Secret, {labelSelector: 'of=others'}),
      selection(Secret, {namespace: 'kube-system'}),
      selection(Secret, {fieldSelector: 'metadata.name=c'}),
    ],
    async reconcile({object, key, client}) {
      if (object) await client.apply(Secret, {metadata: {name: key.name, namespace, labels: {of: object.data?.['value'] ?? ''}}});
    },
  });

  await change('a', '1');
  await change('a', '2');

  t.deepEqual(seen, ['a', 'a']);
  t.is(await metric('wait_seconds_count'), 0);
});

for (const by of ['object', 'key'] as const)
  test(`a change and a deletion by ${by} are waited for`, async t => {
    const states: unknown[] = [];
    const {clock, change, metric} = await running(t, {
      fault: {fault: 'delayed event', count: 'always', after: '1s'},
      async reconcile({object, key, client, caches}) {
        if (!object) return;
        const secret = caches.get(Secret, key);
        states.push(secret ? (secret.metadata.labels?.['a'] ?? 'is there') : 'is gone');
        if (object.data?.['value'] === 'make') await client.resource(Secret).create({metadata: key});
        if (object.data?.['value'] === 'label') await client.patch(secret!, draft => void (draft.metadata!.labels = {a: 'label'}));
        if (object.data?.['value'] === 'delete') await (by === 'object' ? client.delete(secret!) : client.delete(Secret, key));
      },
    });

    for (const value of ['make', 'label', 'delete', 'after']) {
      await change('a', value);
      await clock.advance(900); // The event of the write before comes in 100 ms.
    }
    await clock.advance(3000);

    t.deepEqual(states, ['is gone', 'is there', 'label', 'is gone']);
    t.is(await metric('wait_seconds_count'), 3);
    t.is(await metric('timeouts_total'), 0);
  });

test('an object that goes with its last finalizer, and one that others delete at once, are not waited for', async t => {
  const {clock, change, client, metric} = await running(t, {
    fault: {fault: 'delayed event', count: 'always', after: 0},
    async reconcile({object, key, client: own}) {
      if (!object) return;
      if (object.metadata.deletionTimestamp) return own.removeFinalizer(object, 'example.com/a');
      const kept = await own.addFinalizer(object, 'example.com/a');
      await own.create(Secret, {metadata: {name: key.name, namespace}});
      await own.delete(Secret, {name: key.name, namespace});
      await own.patch(kept, draft => (draft.data = {...draft.data, done: 'yes'}));
    },
  });

  await change('a', '1');
  await client.delete(ConfigMap, {name: 'a', namespace});
  await clock.drain();
  await change('a', '2');
  await clock.drain();

  t.is((await client.get(ConfigMap, {name: 'a', namespace}))?.data?.['done'], 'yes');
  t.is(await metric('timeouts_total'), 0);
});

test('a stop does not wait for a key that waits', async t => {
  const {clock, change, seen, stop, run} = await running(t, {fault: {fault: 'stale cache'}, ownWritesWait: '10s', reconcile: creating});

  await change('a', '1');
  await change('a', '2');
  stop.abort();
  await clock.drain();

  t.is(await run, 'stopped');
  t.deepEqual(seen, ['a']);
});
