import {getEventListeners} from 'node:events';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {keyOf, keyText} from '#src/api/key.js';
import {expired, forbidden, notFound, pathUnknown, serviceUnavailable} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {isResync, type Change} from '#informers/change.js';
import type {Grouping, Index} from '#informers/lister.js';
import {listerWatcher} from '#informers/lister-watcher.js';
import {resolveSelection} from '#informers/selection.js';
import {ListRefused} from '#informers/refusal.js';
import {SharedInformer} from '#informers/shared.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';
import {FaultyApi} from './faults.js';

const hour = 3_600_000;

const spoken = (change: Change): string =>
  `${change.type} ${keyText(keyOf(change.object))}${change.type === 'deleted' && change.tombstone ? ' (tombstone)' : ''}`;

const informing = (t: ExecutionContext, {minResyncMs = 0, log = noLog}: {minResyncMs?: number; log?: Log} = {}) => {
  const {clock, clientOf} = startServer();
  const client = clientOf();
  const maps = client.resource(kinds.configMaps);
  const api = new FaultyApi<ConfigMap>(listerWatcher(client, resolveSelection(kinds.configMaps, client.naming)));
  const meter = new MetricsRegistry();
  const life = new AbortController();
  t.teardown(() => life.abort());
  const informer = new SharedInformer<ConfigMap>(api, {
    clock,
    random: seededRandom(3),
    log,
    meter,
    name: 'configmaps',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    minResyncMs,
    freeze: true,
  });
  const received: string[] = [];
  const subscribe = (into = received) => informer.listen(change => into.push(spoken(change)));
  const create = async (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) => {
    const created = await maps.create({metadata: {namespace: 'default', name, labels}, data});
    await clock.drain();
    return created;
  };
  const start = async () => {
    informer.start(life.signal);
    await clock.drain();
  };
  return {clock, client, maps, api, meter, life, informer, received, subscribe, create, start};
};

test('early and late handlers receive the same', async t => {
  const {informer, subscribe, received, create, start} = informing(t);
  subscribe();
  await create('a');
  await start();
  await create('b');

  const late: string[] = [];
  subscribe(late);
  await create('c');

  t.deepEqual(received, ['added default/a', 'added default/b', 'added default/c']);
  t.deepEqual(late, received);
  t.is(informer.lister.size, 3);
});

test('the cache is updated before a change is delivered', async t => {
  const {informer, create, start} = informing(t);
  const found: unknown[] = [];
  informer.listen(({object}) => found.push(informer.lister.get(keyOf(object)) === object));
  await start();

  await create('a');

  t.deepEqual(found, [true]);
});

test('synced means that every object of the first list was handled', async t => {
  const {informer, received, subscribe, create, start, life} = informing(t);
  await create('a');
  await create('b');
  subscribe();
  const atSync = informer.whenSynced(life.signal).then(() => received.length);
  t.false(informer.isSynced);

  await start();

  t.is(await atSync, 2);
  t.true(informer.isSynced);
});

test('waiting for a sync ends with the signal', async t => {
  const {informer, api, start} = informing(t);
  api.listFaults.push('hang');
  await start();
  const stop = new AbortController();

  const waiting = informer.whenSynced(stop.signal);
  stop.abort(new Error('enough'));

  await t.throwsAsync(waiting, {message: 'enough'});
});

test('objects missing from a relist are delivered with a tombstone, unchanged ones are not delivered', async t => {
  const {api, maps, clock, received, subscribe, create, start} = informing(t);
  subscribe();
  await create('a');
  await create('b');
  await start();
  await clock.advance(5000);
  api.goSilent();
  await maps.delete('a', {namespace: 'default'});
  api.watchFaults.push(expired('too old resource version'));

  api.disconnect();
  await clock.advance(60_000);

  t.deepEqual(received, ['added default/a', 'added default/b', 'deleted default/a (tombstone)']);
});

test('an object that replaces another of its name is delivered as a deletion and an addition', async t => {
  const {api, maps, clock, received, subscribe, create, start} = informing(t);
  subscribe();
  await create('a');
  await start();
  await clock.advance(5000);
  api.goSilent();
  await maps.delete('a', {namespace: 'default'});
  await create('a');
  api.watchFaults.push(expired('too old resource version'));

  api.disconnect();
  await clock.advance(60_000);

  t.deepEqual(received, ['added default/a', 'deleted default/a (tombstone)', 'added default/a']);
});

test('events that come twice or late change nothing', async t => {
  const {api, maps, clock, received, subscribe, create, start, informer} = informing(t);
  api.repeatsEvents = true;
  subscribe();
  await start();
  const first = await create('a', {k: '1'});
  await maps.update({...first, data: {k: '2'}});
  await clock.drain();

  api.report({type: 'MODIFIED', object: first});
  api.report({type: 'DELETED', object: {...first, metadata: {...first.metadata, uid: 'another'}}});

  t.deepEqual(received, ['added default/a', 'updated default/a']);
  t.is(informer.lister.get('default/a')?.data?.k, '2');
});

test('objects are frozen, have their kind, and no managed fields', async t => {
  const {api, informer, create, start} = informing(t);
  await create('a', {k: '1'});
  await start();
  api.report({
    type: 'ADDED',
    object: {metadata: {name: 'b', namespace: 'x', uid: 'u', resourceVersion: '99', managedFields: [{manager: 'm'}]}},
  });

  const [a, b] = [informer.lister.get('default/a'), informer.lister.get('x/b')];

  t.is(a?.kind, 'ConfigMap');
  t.is(a?.apiVersion, 'v1');
  t.throws(() => ((a as ConfigMap).data!.k = '2'), {instanceOf: TypeError});
  t.true(Object.isFrozen(b?.metadata));
  t.false('managedFields' in b!.metadata!);
});

const byTeam: Index<ConfigMap> = {name: 'team', values: ({metadata}) => (metadata?.labels?.team ? [metadata.labels.team] : [])};

test('an index follows its objects, whenever it was added', async t => {
  const {informer, maps, clock, create, start} = informing(t);
  const names = (team: string) => informer.lister.by(byTeam, team).map(({metadata}) => metadata?.name);
  await create('a', {}, {team: 'red'});
  await start();
  t.deepEqual(names('red'), ['a']);

  const b = await create('b', {}, {team: 'red'});
  t.deepEqual(names('red'), ['a', 'b']);
  await maps.update({...b, metadata: {...b.metadata, labels: {team: 'blue'}}});
  await maps.delete('a', {namespace: 'default'});
  await clock.drain();

  t.deepEqual([names('red'), names('blue')], [[], ['b']]);
  t.deepEqual(informer.lister.list('default').length, 1);
  t.deepEqual(informer.lister.list('elsewhere'), []);
});

test('an index counts its objects', async t => {
  const {informer, create, start} = informing(t);
  await start();
  await create('a', {}, {team: 'red'});
  await create('b', {}, {team: 'red'});

  t.deepEqual([informer.lister.count(byTeam, 'red'), informer.lister.count(byTeam, 'blue')], [2, 0]);
});

const byTeamAndRank: Grouping<ConfigMap> = {
  name: 'team and rank',
  place: ({metadata}) => [metadata?.labels?.team ?? '', metadata?.labels?.rank ?? ''],
};

test('a grouping follows its objects, whenever it was added', async t => {
  const {informer, maps, clock, create, start} = informing(t);
  const names = (team: string) =>
    Array.from(informer.lister.groups(byTeamAndRank, team), group => Array.from(group.values(), ({metadata}) => metadata?.name));
  await create('a', {}, {team: 'red', rank: '1'});
  await start();
  t.deepEqual(names('red'), [['a']]);

  await create('b', {}, {team: 'red', rank: '2'});
  const c = await create('c', {}, {team: 'red', rank: '2'});
  t.deepEqual(names('red'), [['a'], ['b', 'c']]);
  await maps.update({...c, metadata: {...c.metadata, labels: {team: 'blue'}}});
  await maps.delete('a', {namespace: 'default'});
  await clock.drain();

  t.deepEqual([names('red'), names('blue'), names('green')], [[['b']], [['c']], []]);
});

test('a resync reminds of every object once in a time between the period and twice that', async t => {
  const {informer, clock, create, start} = informing(t, {minResyncMs: 12 * hour});
  await create('a');
  const reminders: number[] = [];
  informer.listen(
    change => isResync(change) && change.type === 'updated' && change.old === change.object && reminders.push(clock.monotonic()),
  );
  await start();

  await clock.advance(72 * hour);

  const period = reminders[0]!;
  t.true(period >= 12 * hour && period < 24 * hour);
  t.deepEqual(
    reminders,
    reminders.map((_, index) => period * (index + 1)),
  );
  t.true(reminders.length >= 3);
});

test('the error of a listener is logged, and it and the others receive the next change', async t => {
  const errors: unknown[] = [];
  const log: Log = {...noLog, error: (fields: unknown) => void errors.push(fields)};
  const {informer, received, subscribe, create, start} = informing(t, {log});
  let calls = 0;
  informer.listen(() => {
    calls++;
    throw new Error('bug');
  });
  subscribe();
  await start();

  await create('a');
  await create('b');

  t.is(calls, 2);
  t.is(errors.length, 2);
  t.is(received.length, 2);
});

test('a handler added during a delivery receives everything once', async t => {
  const {informer, subscribe, create, start} = informing(t);
  await create('a');
  await create('b');
  const late: string[] = [];
  let joined = false;
  informer.listen(() => {
    if (!joined) subscribe(late);
    joined = true;
  });

  await start();
  await create('c');

  t.deepEqual(late, ['added default/a', 'added default/b', 'added default/c']);
});

test('liveness is a metric: silence grows while nothing comes, failures are counted by reason', async t => {
  const {api, meter, clock, start} = informing(t);
  for (let time = 0; time < 3; time++) api.listFaults.push(serviceUnavailable('away'));
  const value = (name: string, labels = {}) => meter.value(name, {name: 'configmaps', ...labels});

  await start();
  t.is(value('informer_synced'), 0);
  await clock.advance(1000);
  t.is(value('informer_silence_seconds'), 1);
  await clock.advance(60_000);

  t.is(value('informer_synced'), 1);
  t.is(value('informer_failures_total', {reason: 'ServiceUnavailable'}), 3);
  t.is(value('informer_attempts_total', {call: 'list'}), 4);
});

test('a collection that is gone, or whose history is, is no fault; one that never was is warned of', async t => {
  const {log, lines} = recordingLog();
  const {api, clock, start} = informing(t, {log});
  api.listFaults.push(pathUnknown());
  await start();
  await clock.advance(10_000);
  t.deepEqual(lines, ['warn following a collection failed and is tried again']);

  api.watchFaults.push(expired('too old'));
  api.listFaults.push(pathUnknown());
  api.disconnect();
  await clock.advance(30_000);

  t.deepEqual(lines.slice(1), [
    'info following a collection failed and is tried again',
    'info following a collection failed and is tried again',
  ]);
});

test('a stopped informer leaves no watch, no timer and no listener', async t => {
  const {api, informer, clock, life, start} = informing(t, {minResyncMs: hour});
  const before = clock.pending;
  let completed = false;
  informer.changes.subscribe({complete: () => (completed = true)});
  await start();

  life.abort();
  await clock.drain();

  t.is(api.open, 0);
  t.true(completed);
  t.is(clock.pending, before);
});

const mapsResource = {group: '', resource: 'configmaps'};

for (const refusal of [forbidden(mapsResource, '', 'no'), notFound(mapsResource, '')]) {
  test(`waiting for the first list fails when the server keeps refusing it with ${refusal.code}, and the list is used once it succeeds`, async t => {
    const {clock, api, informer, life, start} = informing(t);
    for (let time = 0; time < 8; time++) api.listFaults.push(refusal);
    const waiting = informer.whenSynced(life.signal);
    let failure: unknown;
    waiting.catch((error: unknown) => (failure = error));
    await start();
    await clock.advance(29_000);
    t.is(failure, undefined);
    await clock.advance(60_000);

    t.true(failure instanceof ListRefused);
    t.regex((failure as Error).message, /^the cache of configmaps is not synced: the server has refused to list them for \d+ s: /);
    await clock.advance(hour);
    await informer.whenSynced(life.signal);
  });
}

test('a server that is away now and then refuses nothing', async t => {
  const {clock, api, informer, life, start} = informing(t);
  for (let time = 0; time < 12; time++) api.listFaults.push(time % 2 === 0 ? new Error('connection refused') : notFound(mapsResource, ''));
  const waiting = informer.whenSynced(life.signal);
  await start();
  await clock.advance(hour);

  await t.notThrowsAsync(waiting);
});

test('an informer keeps its process running until it is stopped, and however many there are they are one listener of a signal', async t => {
  const {api} = informing(t);
  const life = new AbortController();
  const keeping = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
  const before = keeping();
  api.listFaults.push(...Array.from({length: 11}, () => 'hang' as const));
  const informers = Array.from(
    {length: 11},
    () =>
      new SharedInformer<ConfigMap>(api, {
        clock: systemClock,
        random: seededRandom(3),
        log: noLog,
        meter: new MetricsRegistry(),
        name: 'configmaps',
        apiVersion: 'v1',
        kind: 'ConfigMap',
        minResyncMs: 0,
      }),
  );
  for (const informer of informers) informer.start(life.signal);
  for (const informer of informers) informer.whenSynced(life.signal).catch(() => {});

  t.is(keeping(), before + 11);
  t.is(getEventListeners(life.signal, 'abort').length, 1);
  life.abort();
  t.is(keeping(), before);
});
