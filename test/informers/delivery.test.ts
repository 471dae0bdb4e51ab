import test, {type ExecutionContext} from 'ava';
import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {expired} from '#src/api/status.js';
import type {ConfigMap, KubeObject} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {seededRandom} from '#src/base/random.js';
import type {Index} from '#informers/lister.js';
import {listerWatcher} from '#informers/lister-watcher.js';
import {resolveSelection, type Shape} from '#informers/selection.js';
import {SharedInformer} from '#informers/shared.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';
import {FaultyApi} from './faults.js';

const count = 250;

/** An informer over more objects than are taken in at once, with a listener that takes a millisecond for each. */
const crowded = async (t: ExecutionContext) => {
  const clock = new WorkingClock();
  const client = startServer({clock}).clientOf();
  const maps = client.resource(kinds.configMaps);
  const create = (name: string) => maps.create({metadata: {namespace: 'default', name}});
  for (let index = 0; index < count; index++) await create(`map-${String(index).padStart(3, '0')}`);
  const life = new AbortController();
  t.teardown(() => life.abort());
  const api = listerWatcher(client, resolveSelection(kinds.configMaps, client.naming));
  const informer = new SharedInformer<ConfigMap>(api, {
    clock,
    random: seededRandom(3),
    log: noLog,
    meter: noMeter,
    name: 'configmaps',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    minResyncMs: 0,
  });
  const received: string[] = [];
  const hooks: {received?: (name: string) => void} = {};
  informer.listen(({type, object}) => {
    clock.work(1);
    received.push(`${type} ${object.metadata?.name}`);
    hooks.received?.(object.metadata?.name ?? '');
  });
  return {clock, maps, create, life, informer, received, hooks};
};

test('a long list is delivered in pieces, and synced means all of it was', async t => {
  const {clock, informer, received, life} = await crowded(t);

  informer.start(life.signal);
  const atSync = informer.whenSynced(life.signal).then(() => received.length);
  await clock.drain();

  t.is(await atSync, count);
  t.true(clock.longestMs <= 10, `${clock.longestMs} ms in one turn`);
});

test('the event loop runs between the listeners of one change that take long, and all receive it in order', async t => {
  const {clock, create, informer, life} = await crowded(t);
  informer.start(life.signal);
  await clock.drain();
  const received: string[] = [];
  const late = Array.from({length: 4}, (_, listener) =>
    informer.listen(({type, object}) => {
      if (type !== 'added' || !object.metadata?.name?.startsWith('large')) return;
      clock.work(6);
      received.push(`${listener} ${object.metadata.name}`);
    }),
  );
  await clock.drain();
  clock.longestMs = 0;

  await create('large-1');
  await create('large-2');
  await clock.drain();

  t.deepEqual(
    received,
    ['large-1', 'large-2'].flatMap(name => late.map((_, listener) => `${listener} ${name}`)),
  );
  t.true(clock.longestMs <= 12, `${clock.longestMs} ms in one turn`);
});

test('a listener may take the objects of the first list many at a time, and all that follows one by one', async t => {
  const {clock, create, informer, received, life} = await crowded(t);
  const listed: number[] = [];
  const names = new Set<string>();
  const changes: string[] = [];
  informer.listen(
    ({type, object}) => changes.push(`${type} ${object.metadata?.name}`),
    objects => {
      clock.work(4);
      listed.push(objects.length);
      for (const {metadata} of objects) names.add(metadata!.name!);
      t.true(objects.every(object => informer.lister.get(keyOf(object)) === object));
      if (listed.length === 1) void create('map-new');
    },
  );

  informer.start(life.signal);
  await clock.drain();

  t.deepEqual(listed, [200, 50]);
  t.is(names.size, count);
  t.deepEqual(changes, ['added map-new']);
  t.deepEqual([received.length, new Set(received).size], [count + 1, count + 1]);
  t.true(informer.isSynced);
  t.true(clock.longestMs <= 10, `${clock.longestMs} ms in one turn`);
});

test('a listener that fails on the objects of a first list is reported, and receives the rest of them', async t => {
  const {clock, informer, life} = await crowded(t);
  const listed: number[] = [];
  informer.listen(
    () => t.fail('no change follows'),
    objects => {
      listed.push(objects.length);
      throw new Error('not these');
    },
  );

  informer.start(life.signal);
  await clock.drain();

  t.deepEqual(listed, [200, 50]);
  t.true(informer.isSynced);
});

test('changes during the delivery of a list follow it, and enter the cache then', async t => {
  const {clock, create, maps, informer, received, hooks, life} = await crowded(t);
  let cachedAtLast: unknown;
  hooks.received = name => {
    if (name === 'map-000') void create('map-new').then(() => maps.delete('map-050', {namespace: 'default'}));
    if (name === 'map-249') cachedAtLast = informer.lister.get({namespace: 'default', name: 'map-050'});
  };

  informer.start(life.signal);
  await clock.drain();

  t.deepEqual(received.slice(count - 1), ['added map-249', 'added map-new', 'deleted map-050']);
  t.truthy(cachedAtLast);
  t.is(informer.lister.size, count);
});

test('a handler added during the delivery of a list receives each object once', async t => {
  const {clock, informer, hooks, life} = await crowded(t);
  const late: string[] = [];
  hooks.received = name => {
    if (name === 'map-042') informer.listen(({type, object}) => late.push(`${type} ${object.metadata?.name}`));
  };

  informer.start(life.signal);
  await clock.drain();

  t.is(late.length, count);
  t.is(new Set(late).size, count);
});

test('an informer that stops during the delivery of a list delivers no more and never becomes synced', async t => {
  const {clock, informer, received, hooks, life} = await crowded(t);
  hooks.received = name => {
    if (name === 'map-042') life.abort();
  };

  informer.start(life.signal);
  await clock.drain();

  t.is(received.length, 43);
  t.false(informer.isSynced);
});

test('an index function that throws is reported and counted, and handlers receive that object and all others', async t => {
  const clock = new WorkingClock();
  const client = startServer({clock}).clientOf();
  const maps = client.resource(kinds.configMaps);
  const create = (name: string) => maps.create({metadata: {namespace: 'default', name}});
  const life = new AbortController();
  t.teardown(() => life.abort());
  const {log, lines} = recordingLog();
  const meter = new MetricsRegistry();
  const api = listerWatcher(client, resolveSelection(kinds.configMaps, client.naming));
  const informer = new SharedInformer<ConfigMap>(api, {
    clock,
    random: seededRandom(3),
    log,
    meter,
    name: 'configmaps',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    minResyncMs: 0,
  });
  const byName: Index<ConfigMap> = {
    name: 'name',
    values({metadata}) {
      if (metadata?.name === 'bad') throw new Error('no value');
      return [metadata?.name ?? ''];
    },
  };
  const received: string[] = [];
  informer.lister.by(byName, 'any');
  informer.listen(({type, object}) => {
    received.push(`${type} ${object.metadata?.name}`);
    if (object.metadata?.name === 'worse') throw new Error('not received');
  });
  informer.listen(({object}) => void received.push(`also ${object.metadata?.name}`));
  await create('first');
  informer.start(life.signal);
  await clock.drain();
  for (const name of ['bad', 'worse', 'last']) await create(name);
  await maps.delete('bad', {namespace: 'default'});
  await clock.drain();

  t.deepEqual(received, [
    'added first',
    'also first',
    'added bad',
    'also bad',
    'added worse',
    'also worse',
    'added last',
    'also last',
    'deleted bad',
    'also bad',
  ]);
  t.deepEqual(
    ['first', 'bad', 'last'].map(name => informer.lister.by(byName, name).length),
    [1, 0, 1],
  );
  t.is(lines.filter(line => line.includes('an index failed on an object')).length, 2);
  t.is(lines.filter(line => line.includes('a listener failed on a change')).length, 1);
  t.is(meter.value('informer_handler_failures_total', {name: 'configmaps'}), 3);
});

test('late handlers receive a large cache in pieces, then changes in order, and synced means they know of all objects', async t => {
  const {clock, create, maps, informer, life} = await crowded(t);
  informer.start(life.signal);
  await clock.drain();
  clock.longestMs = 0;
  const late: string[] = [];
  const leaving: string[] = [];
  const known: number[] = [];
  const listening = informer.listen(({type, object}) => {
    clock.work(1);
    late.push(`${type} ${object.metadata?.name}`);
    if (late.length === 40) void create('map-new').then(() => maps.delete('map-200', {namespace: 'default'}));
  });
  const brief = informer.listen(({object}) => {
    clock.work(1);
    leaving.push(object.metadata!.name!);
    if (leaving.length === 30) brief[Symbol.dispose]();
  });
  void informer.whenSynced(life.signal).then(() => known.push(new Set(late.map(text => text.split(' ')[1])).size));
  t.true(late.length < count, 'delivered in pieces');
  await clock.drain();

  t.deepEqual(late.slice(count), ['added map-new', 'deleted map-200']);
  t.is(new Set(late.slice(0, count)).size, count);
  t.is(leaving.length, 30);
  t.true(known.length === 1 && known[0]! >= count, `${known.join()} of ${count} objects`);
  t.true(clock.longestMs <= 15, `${clock.longestMs} ms in one turn`);
  listening[Symbol.dispose]();
});

test('an informer that stops while a late handler receives its cache delivers no more', async t => {
  const {clock, informer, life} = await crowded(t);
  informer.start(life.signal);
  await clock.drain();
  const late: string[] = [];
  informer.listen(({object}) => {
    clock.work(1);
    late.push(object.metadata!.name!);
    if (late.length === 30) life.abort();
  });
  await clock.drain();

  t.is(late.length, 30);
});

test('the objects of a list that is not paged, as after 410 Gone, are trimmed in pieces', async t => {
  const clock = new WorkingClock();
  const client = startServer({clock}).clientOf();
  const maps = client.resource(kinds.configMaps);
  for (let index = 0; index < count; index++) await maps.create({metadata: {namespace: 'default', name: `map-${index}`}});
  const life = new AbortController();
  t.teardown(() => life.abort());
  const api = new FaultyApi<ConfigMap>(listerWatcher(client, resolveSelection(kinds.configMaps, client.naming)));
  api.listFaults.push(expired('the page is too old'));
  /** How many objects were trimmed in each turn of the event loop. */
  const turns: number[] = [];
  let isNewTurn = true;
  const shape: Shape<KubeObject> = {
    name: 'counted',
    of(object) {
      if (isNewTurn) {
        isNewTurn = false;
        turns.push(0);
        setImmediate(() => (isNewTurn = true));
      }
      turns[turns.length - 1]!++;
      clock.work(1);
      return object;
    },
  };
  const informer = new SharedInformer<ConfigMap>(api, {
    clock,
    random: seededRandom(3),
    log: noLog,
    meter: noMeter,
    name: 'configmaps',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    minResyncMs: 0,
    shape,
  });

  informer.start(life.signal);
  await clock.advance(60_000);

  t.deepEqual(api.calls.slice(1), ['list rv= limit=', 'watch']);
  t.is(informer.lister.list().length, count);
  t.is(
    turns.reduce((sum, each) => sum + each),
    count,
  );
  t.true(Math.max(...turns) <= 6, `${Math.max(...turns)} objects in one turn`);
});
