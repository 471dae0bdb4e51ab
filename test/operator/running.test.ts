import {Subject} from 'rxjs';
import test, {type ExecutionContext} from 'ava';
import {noLog, type Log} from '#src/base/log.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {seededRandom} from '#src/base/random.js';
import {
  createManager,
  defineController,
  fromEvents,
  index,
  mapped,
  selection,
  type ManagerOptions,
  type ObjectKey,
  type ReconcileContext,
  type RateLimit,
} from '#src/operator/index.js';
import {ConfigMap, Namespace, Secret} from '#src/operator/kinds.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';

/** Lets a reconcile that is in progress wait until what it caused has arrived, which the virtual clock does not do. */
const turns = async (count: number) => {
  for (let left = count; left > 0; left--) await yieldToEventLoop();
};

const aWorld = (t: ExecutionContext) => {
  const {clock, clientOf} = startServer();
  const client = clientOf();
  const create = (name: string, namespace = 'default') => client.resource(ConfigMap).create({metadata: {name, namespace}});
  const change = async (name: string) => {
    const map = await client.resource(ConfigMap).get(name, {namespace: 'default'});
    await client.resource(ConfigMap).update({...map, data: {changed: String(clock.now())}});
  };
  const run = async (options: Partial<ManagerOptions>) => {
    const stop = new AbortController();
    const manager = createManager({controllers: [], client, clock, random: seededRandom(1), log: noLog, freeze: true, ...options});
    const ended = manager.run(stop.signal);
    t.teardown(async () => {
      stop.abort();
      await clock.drain();
      await ended;
    });
    await manager.ready;
    await clock.drain();
    return {manager, ended, stop: () => stop.abort()};
  };
  return {clock, client, create, change, run};
};

/** A controller of ConfigMaps that notes the names it reconciles. */
const noting = (name: string, seen: string[], more: object = {}) =>
  defineController<ConfigMap>({
    name,
    for: ConfigMap,
    reconcile: ({key}) => {
      seen.push(key.name);
      return Promise.resolve();
    },
    ...more,
  });

test('the client and the log of a reconcile are made once, when they are read', async t => {
  const {create, run} = aWorld(t);
  await create('map');
  const keys: unknown[] = [];
  const log: Log = {
    ...noLog,
    child(fields) {
      if ('key' in fields) keys.push(fields['key']);
      return log;
    },
  };
  const same: boolean[] = [];
  const reading = async (context: ReconcileContext): Promise<void> => {
    const {client, log: own} = context;
    same.push(client === context.client, own === context.log);
    return Promise.resolve();
  };
  await run({log, controllers: [noting('reads', [], {reconcile: reading}), noting('reads-neither', [])]});

  t.deepEqual(same, [true, true]);
  t.deepEqual(keys, ['default/map']);
});

test('what changed is reconciled before what was only listed, and a change of a listed object lets it pass the others', async t => {
  const {create, change, run} = aWorld(t);
  const names = Array.from({length: 10}, (_, at) => `old-${at}`);
  for (const name of names) await create(name);
  const seen: string[] = [];
  await run({
    controllers: [
      noting('maps', seen, {
        reconcile: async ({key}: {key: ObjectKey}) => {
          seen.push(key.name);
          if (key.name !== 'old-0') return;
          await create('new');
          await change('old-7');
          await turns(100);
        },
      }),
    ],
  });

  t.deepEqual(seen, ['old-0', 'new', 'old-7', ...names.filter(name => !['old-0', 'old-7'].includes(name))]);
});

test('a periodic look at all objects does not delay a change', async t => {
  const {clock, create, change, run} = aWorld(t);
  for (const name of ['a', 'b', 'c']) await create(name);
  const seen: string[] = [];
  await run({
    controllers: [
      noting('maps', seen, {
        every: '1m',
        reconcile: async ({key}: {key: ObjectKey}) => {
          if (seen.length === 3) await change('c');
          seen.push(key.name);
        },
      }),
    ],
  });
  await clock.advance(60_000);

  t.deepEqual(seen, ['a', 'b', 'c', 'a', 'c', 'b']);
});

test('an async iterable queues keys, is opened again after an error with backoff, and waits while a thousand keys do', async t => {
  const {clock, run} = aWorld(t);
  const seen: string[] = [];
  const opened: number[] = [];
  let given = 0;
  const events = async function* () {
    opened.push(clock.now());
    if (opened.length === 1) {
      yield 'first';
      throw new Error('the connection broke');
    }
    if (opened.length === 2) throw new Error('again');
    while (given < 3000) yield `event-${given++}`;
  };
  const {log, lines} = recordingLog();
  let givenWhileWaiting = 0;
  const controller = noting('maps', seen, {
    sources: [fromEvents(events, {name: 'bucket', keys: name => [{namespace: 'default', name}]})],
    reconcile: async ({key}: {key: ObjectKey}) => {
      seen.push(key.name);
      if (key.name !== 'event-0') return;
      await turns(3000);
      givenWhileWaiting = given;
    },
  });
  await run({controllers: [controller], log});
  t.deepEqual([seen, opened.length], [['first'], 1]);
  await clock.advance(10_000);
  t.is(opened.length, 3);
  t.true(opened[1]! - opened[0]! >= 1000 && opened[2]! - opened[1]! >= 2000, JSON.stringify(opened));
  t.true(givenWhileWaiting > 900 && givenWhileWaiting < 1100, `${givenWhileWaiting} were taken`);
  t.is(seen.length, 3001);
  t.is(opened.length, 3);
  t.true(lines.some(line => JSON.stringify(line).includes('a source of events failed')));
});

test('an observable queues keys until the manager stops, and an iterable that never answers does not hold the stop up', async t => {
  const {clock, run} = aWorld(t);
  const seen: string[] = [];
  const events = new Subject<{readonly map: string}>();
  const silent = {[Symbol.asyncIterator]: () => ({next: () => new Promise<IteratorResult<ObjectKey>>(() => {})})};
  const controller = noting('maps', seen, {
    sources: [fromEvents<{readonly map: string}>(events, {keys: ({map}) => [{namespace: 'default', name: map}]}), fromEvents(silent)],
  });
  const {ended, stop} = await run({controllers: [controller]});
  events.next({map: 'one'});
  events.next({map: 'two'});
  await clock.drain();
  t.deepEqual(seen, ['one', 'two']);
  t.true(events.observed);

  stop();
  await clock.drain();
  t.is(await ended, 'stopped');
  t.false(events.observed);
});

test('controllers are added and removed while a manager runs, with informers that stop when nobody uses them', async t => {
  const {clock, client, create, run} = aWorld(t);
  await create('one');
  const [first, second]: [string[], string[]] = [[], []];
  const {manager} = await run({controllers: [noting('first', first)]});
  const informers = async () => (await manager.metrics()).body.match(/^informer_synced\{.*$/gm)?.length ?? 0;
  t.is(await informers(), 1);

  const added = noting('second', second, {
    watches: [mapped(Secret, ({metadata}) => [{namespace: 'default', name: `secret-${metadata?.name}`}])],
  });
  await manager.add(added);
  await clock.drain();
  t.deepEqual(second, ['one']);
  await t.throwsAsync(manager.add(added), {message: 'controller second is declared twice'});
  await client.resource(Secret).create({metadata: {name: 's', namespace: 'default'}});
  await create('two');
  await clock.drain();
  t.deepEqual(second, ['one', 'secret-s', 'two']);
  t.is(await informers(), 2);

  t.true(await manager.remove('second'));
  await create('three');
  await clock.drain();
  t.deepEqual(
    [first, second],
    [
      ['one', 'two', 'three'],
      ['one', 'secret-s', 'two'],
    ],
  );
  const rest = {timers: clock.pending, informers: 1};
  t.deepEqual({timers: clock.pending, informers: await informers()}, rest);
  t.regex((await manager.health()).body, /^ok$/);

  for (let times = 0; times < 20; times++) {
    await manager.add(added);
    await manager.remove('second');
  }
  await clock.drain();
  t.deepEqual({timers: clock.pending, informers: await informers()}, rest);
});

test('a manager of some namespaces caches and reconciles only what is in them, and all that is cluster-scoped', async t => {
  const {clock, client, create, run} = aWorld(t);
  for (const namespace of ['default', 'kube-public', 'kube-other']) await create(`in-${namespace}`, namespace);
  const seen: string[] = [];
  let all: string[] = [];
  let refusal = '';
  const byLetter = index(ConfigMap, ({metadata}) => [metadata.name.slice(0, 2)]);
  const controller = noting('maps', seen, {
    reads: [Namespace],
    indexes: [byLetter],
    async reconcile({key, caches, client: own}: Parameters<Parameters<typeof defineController<ConfigMap>>[0]['reconcile']>[0]) {
      seen.push(key.name);
      all = caches.by(byLetter, 'in').map(({metadata}) => metadata.name);
      t.true(caches.list(Namespace).length >= 1);
      try {
        caches.get(ConfigMap, {namespace: 'kube-other', name: 'in-kube-other'});
      } catch (error) {
        refusal = (error as Error).message;
      }
      await own.apply(ConfigMap, {metadata: {name: 'copy', namespace: 'kube-other'}, data: {of: key.name}});
    },
  });
  await client.resource(Namespace).create({metadata: {name: 'here'}});
  await run({controllers: [controller], namespaces: ['default', 'kube-public'], concurrency: 1});
  await create('late', 'kube-public');
  await clock.drain();

  t.deepEqual(seen, ['in-default', 'in-kube-public', 'late']);
  t.deepEqual(all, ['in-default', 'in-kube-public']);
  t.is(refusal, 'the caches of this manager hold only the namespaces default, kube-public, not "kube-other"');
  t.is((await client.resource(ConfigMap).get('copy', {namespace: 'kube-other'})).data?.['of'], 'late');
});

test('a cache of metadata alone, and one of a selection, hold what they say', async t => {
  const {clock, client, run} = aWorld(t);
  for (const app of ['a', 'b'])
    await client.resource(ConfigMap).create({metadata: {name: app, namespace: 'default', labels: {app}}, data: {big: 'x'}});
  const named = selection(ConfigMap, {labelSelector: 'app=a'});
  const names = selection(ConfigMap, {metadataOnly: true});
  const seen: unknown[] = [];
  const same = selection(ConfigMap, {labelSelector: 'app=a'});
  const controller = defineController({
    name: 'maps',
    for: names,
    reads: [named, selection(ConfigMap, {labelSelector: 'app=a'})],
    reconcile: ({key, object, caches}) => {
      seen.push([key.name, object && 'data' in object, caches.get(same, key)?.data?.['big'] ?? 'none']);
      return Promise.resolve();
    },
  });
  const {manager} = await run({controllers: [controller]});
  await clock.drain();
  t.is((await manager.metrics()).body.match(/^informer_synced\{.*$/gm)?.length, 2, 'equal selections share a cache');
  t.deepEqual(seen, [
    ['a', false, 'x'],
    ['b', false, 'none'],
  ]);
});

test('the retries of all keys together are limited as the controller declares', async t => {
  const {clock, create, run} = aWorld(t);
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) await create(name);
  const retried = async (rateLimit: RateLimit | 'none') => {
    const seen: string[] = [];
    const reconcile = ({key}: {key: ObjectKey}) => {
      seen.push(key.name);
      return Promise.reject(new Error('not yet'));
    };
    const {stop, ended} = await run({controllers: [noting('maps', seen, {retry: {delay: '10ms', limit: 1, rateLimit}, reconcile})]});
    await clock.advance(2500);
    stop();
    await clock.drain();
    await ended;
    return seen.length - names.length;
  };

  t.is(await retried({perSecond: 1, burst: 1}), 3);
  t.is(await retried('none'), 4);
});
