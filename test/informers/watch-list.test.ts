// Informers whose first list is the beginning of a watch (KEP-3157, the gate WatchListClient).

import {mkdtemp, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {Observable} from 'rxjs';
import {kinds} from '#src/api/kinds/index.js';
import {keyOf, keyText} from '#src/api/key.js';
import {expired, pathUnknown, serviceUnavailable, timeout, tooManyRequests} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import {systemClock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {openConnection} from '#src/cli/program/connection.js';
import type {WatchOptions} from '#src/client/client.js';
import {UnreadableEvent} from '#src/client/errors.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {startPlane} from '#src/plane/plane.js';
import type {Change} from '#informers/change.js';
import {InformerFactory} from '#informers/factory.js';
import {listerWatcher, type ListerWatcher} from '#informers/lister-watcher.js';
import {resolveSelection, type Selection} from '#informers/selection.js';
import {SharedInformer, type SharedInformerOptions} from '#informers/shared.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';
import {FaultyApi} from './faults.js';

const second = 1000;
const minute = 60 * second;

interface Setting {
  readonly gate?: string;
  readonly selection?: Partial<Selection<ConfigMap>>;
  readonly log?: Log;
  readonly options?: Partial<SharedInformerOptions>;
}

/** An informer of config maps that streams its first list, from a real server. */
const streaming = (t: ExecutionContext, {gate = 'WatchList', selection = {}, log = noLog, options = {}}: Setting = {}) => {
  const {clock, clientOf} = startServer({gate: name => name === gate});
  const client = {...clientOf(), watchList: true};
  const maps = client.resource(kinds.configMaps);
  const meter = new MetricsRegistry();
  const life = new AbortController();
  t.teardown(() => life.abort());
  const source = resolveSelection<ConfigMap>({kind: kinds.configMaps, ...selection}, client.naming);
  const informerOf = (of: ListerWatcher<ConfigMap>) =>
    new SharedInformer<ConfigMap>(of, {
      clock,
      random: seededRandom(3),
      log,
      meter,
      name: 'configmaps',
      apiVersion: 'v1',
      kind: 'ConfigMap',
      minResyncMs: 0,
      freeze: true,
      ...options,
    });
  const api = new FaultyApi<ConfigMap>(listerWatcher(client, source));
  const informer = informerOf(api);
  const received: string[] = [];
  const spoken = (change: Change<ConfigMap>) => `${change.type} ${keyText(keyOf(change.object))}`;
  informer.listen(change => received.push(spoken(change)));
  const create = async (name: string, labels: Record<string, string> = {}) => {
    await maps.create({metadata: {namespace: 'default', name, labels}});
    await clock.drain();
  };
  const start = async (of = informer) => {
    of.start(life.signal);
    await clock.drain();
  };
  const names = (of = informer) => of.lister.list().map(({metadata}) => metadata!.name!);
  return {clock, maps, meter, api, informer, informerOf, received, create, start, names};
};

/**
 * Streams that a server could send; each watch takes the next. A stream stays open after its events unless it `ends`.
 */
const scripted = (...streams: readonly {readonly events: readonly WatchEvent<ConfigMap>[]; readonly ends?: boolean}[]) => {
  const left = [...streams];
  const calls: WatchOptions[] = [];
  const listed = {
    apiVersion: 'v1',
    kind: 'ConfigMapList',
    metadata: {resourceVersion: '7'},
    items: [{metadata: {name: 'listed', resourceVersion: '7'}}],
  };
  const api: ListerWatcher<ConfigMap> = {
    initialEventsEnd: ['k8s.io/initial-events-end'],
    list: () => Promise.resolve(listed),
    watch(options) {
      calls.push(options);
      return new Observable(subscriber => {
        const {events, ends} = left.shift() ?? {events: []};
        for (const event of events) subscriber.next(event);
        if (ends) subscriber.complete();
      });
    },
  };
  return {api, calls};
};

const aMap = (name: string, resourceVersion: string): ConfigMap => ({metadata: {name, namespace: 'default', resourceVersion}});
const added = (name: string, version: string): WatchEvent<ConfigMap> => ({type: 'ADDED', object: aMap(name, version)});
const bookmark = (resourceVersion: string, annotations?: Record<string, string>): WatchEvent<ConfigMap> => ({
  type: 'BOOKMARK',
  object: {metadata: {resourceVersion, ...(annotations ? {annotations} : {})}},
});
const end = (version: string) => bookmark(version, {'k8s.io/initial-events-end': 'true'});

test('the objects there are and their changes come by one watch, without a list', async t => {
  const {api, create, start, names, received, meter} = streaming(t);
  for (const name of ['a', 'b', 'c']) await create(name);

  await start();
  await create('d');

  t.deepEqual(received, ['added default/a', 'added default/b', 'added default/c', 'added default/d']);
  t.deepEqual(names(), ['a', 'b', 'c', 'd']);
  t.deepEqual(api.calls, ['stream rv=']);
  t.is(meter.value('informer_attempts_total', {name: 'configmaps', call: 'list'}), undefined);
});

test('an empty collection is synced, too', async t => {
  const {api, informer, start} = streaming(t);

  await start();

  t.true(informer.isSynced);
  t.deepEqual(api.calls, ['stream rv=']);
});

test('a stream asks for the objects as the original does', async t => {
  const {api, calls} = scripted({events: [end('5')]});
  const {informerOf, start} = streaming(t);
  await start(informerOf(api));

  const {timeoutSeconds, ...rest} = calls[0]!;

  t.deepEqual(rest, {resourceVersionMatch: 'NotOlderThan', sendInitialEvents: true, allowWatchBookmarks: true});
  t.true(timeoutSeconds! >= 300 && timeoutSeconds! <= 600);
});

for (const [title, selection, expected] of [
  ['a label selector', {labelSelector: 'part=x'}, ['a']],
  ['a field selector', {fieldSelector: 'metadata.name=b'}, ['b']],
  ['a namespace without objects', {namespace: 'other'}, []],
] as const) {
  test(`a stream is of the selected objects: ${title}`, async t => {
    const {api, create, start, names} = streaming(t, {selection});
    await create('a', {part: 'x'});
    await create('b');

    await start();

    t.deepEqual(names(), [...expected]);
    t.deepEqual(api.calls, ['stream rv=']);
  });
}

test('a stream of metadata is kept as metadata, under the kind of the objects', async t => {
  const {api, create, start, informer} = streaming(t, {selection: {metadataOnly: true}, options: {metadataOnly: true}});
  await create('a');

  await start();

  const [kept] = informer.lister.list();
  t.deepEqual([kept?.kind, kept?.metadata?.name, kept?.metadata?.managedFields, 'data' in kept!], ['ConfigMap', 'a', undefined, false]);
  t.deepEqual(api.calls, ['stream rv=']);
});

test('objects are trimmed as they come, each knowing how many were before it', async t => {
  const held: number[] = [];
  const shape = {name: 'counted', of: <T>(object: T, before: number): T => (held.push(before), object)};
  const {create, start, informer} = streaming(t, {options: {shape}});
  for (const name of ['a', 'b', 'c']) await create(name);

  await start();

  t.deepEqual(held, [0, 1, 2]);
  t.true(informer.lister.list().every(({metadata}) => metadata?.managedFields === undefined));
});

test('nothing of a stream is seen before the bookmark that marks its end, and that is its version', async t => {
  const changed = {type: 'MODIFIED', object: aMap('a', '8')} as const;
  const gone = {type: 'DELETED', object: aMap('b', '9')} as const;
  const {api} = scripted({
    events: [added('a', '1'), added('b', '2'), changed, gone, bookmark('9'), bookmark('9', {'k8s.io/other': 'true'})],
  });
  const {informerOf, start, names} = streaming(t);
  const informer = informerOf(api);

  await start(informer);

  t.false(informer.isSynced);
  t.deepEqual(names(informer), []);

  const {api: whole, calls} = scripted({events: [added('a', '1'), added('b', '2'), changed, gone, end('12')], ends: true});
  const synced = informerOf(whole);
  await start(synced);

  t.true(synced.isSynced);
  t.deepEqual(
    synced.lister.list().map(({metadata}) => `${metadata!.name}@${metadata!.resourceVersion}`),
    ['a@8'],
  );
  t.is(calls[1]?.resourceVersion, '12');
  t.is(calls[1]?.sendInitialEvents, undefined);
});

test('a server that refuses to stream is asked for a list, with one line in the log, and then watched', async t => {
  const {log: recording, lines} = recordingLog();
  const log: Log = {...recording, v: level => (level > 4 ? noLog : recording)};
  const {api, create, start, names, clock} = streaming(t, {gate: 'none', log});
  await create('a');

  await start();
  await create('b');
  await clock.advance(5 * second);

  t.deepEqual(names(), ['a', 'b']);
  t.deepEqual(api.calls, ['stream rv=', 'list rv=0 limit=500', 'watch']);
  t.deepEqual(lines, ['info the objects of a collection could not be streamed and are listed']);
});

test('a stream that broke before its end shows nothing, is waited for, and begins anew', async t => {
  const {api, create, start, names, clock, informer, received} = streaming(t);
  await create('a');
  await create('b');
  api.silentAfter.push(1);
  await start();
  t.false(informer.isSynced);

  api.cut();
  await clock.drain();
  t.deepEqual(names(), []);
  t.deepEqual(received, []);
  t.deepEqual(api.calls, ['stream rv=']);
  await clock.advance(2 * second);

  t.deepEqual(names(), ['a', 'b']);
  t.deepEqual(api.calls, ['stream rv=', 'stream rv=']);
});

test('a server that is away or busy is asked to stream again, ever more rarely, and never for a list', async t => {
  const {api, start, clock, informer} = streaming(t);
  const refused = () => new Error('connection refused');
  api.watchFaults.push(refused(), tooManyRequests('later', 1), refused(), refused());

  await start();
  await clock.advance(2 * minute);

  t.true(informer.isSynced);
  t.deepEqual(new Set(api.calls), new Set(['stream rv=']));
  t.is(api.calls.length, 5);
});

for (const [title, fault] of [
  ['is not found', pathUnknown()],
  ['fails', serviceUnavailable('starting')],
  ['sends what cannot be read', new UnreadableEvent()],
  ['ends before its objects', 'close'],
] as const) {
  test(`the objects are listed where a stream ${title}`, async t => {
    const {api, create, start, names} = streaming(t);
    await create('a');
    api.watchFaults.push(fault);

    await start();

    t.deepEqual(names(), ['a']);
    t.deepEqual(api.calls, ['stream rv=', 'list rv=0 limit=500', 'watch']);
  });
}

test('the objects are listed where a stream sends them and never marks their end', async t => {
  const {api} = scripted({events: [added('a', '1')]});
  const {informerOf, start, names, clock} = streaming(t);
  const informer = informerOf(api);

  await start(informer);
  await clock.advance(3 * minute);
  t.deepEqual(names(informer), []);
  await clock.advance(2 * minute);

  t.deepEqual(names(informer), ['listed']);
});

test('after expired history the objects are streamed from the last version seen, and the newest if that is gone too', async t => {
  const {api, create, start, clock, names} = streaming(t);
  await create('a');
  await start();
  await create('b');
  await clock.advance(5 * second);
  api.watchFaults.push(expired('too old resource version'), expired('too old resource version'));

  api.disconnect();
  await clock.advance(20 * second);

  t.deepEqual(names(), ['a', 'b']);
  t.regex(api.calls[2]!, /^stream rv=\d+$/);
  t.deepEqual([api.calls[0], api.calls[1], ...api.calls.slice(3)], ['stream rv=', 'watch', 'stream rv=']);
});

test('the newest objects are streamed when the server is behind the last version seen', async t => {
  const {api, start, clock} = streaming(t);
  await start();
  await clock.advance(5 * second);
  api.watchFaults.push(
    timeout('Too large resource version', 1, [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}]),
  );

  api.disconnect();
  await clock.advance(5 * second);

  t.deepEqual(api.calls, ['stream rv=', 'watch', 'stream rv=']);
});

test('a streamed list replaces the cache: what is missing in it is deleted', async t => {
  const {api, maps, create, start, clock, received} = streaming(t);
  await create('a');
  await create('b');
  await start();
  await clock.advance(5 * second);
  api.goSilent();
  await maps.delete('a', {namespace: 'default'});
  await clock.drain();
  api.watchFaults.push(expired('too old resource version'));
  received.length = 0;

  api.disconnect();
  await clock.advance(5 * second);

  t.deepEqual(received, ['deleted default/a']);
  t.false(api.calls.some(call => call.startsWith('list')));
});

test('without the gate a client lists before it watches', t => {
  const client = startServer().clientOf();
  const selection = resolveSelection(kinds.configMaps, client.naming);

  t.is(listerWatcher(client, selection).initialEventsEnd, undefined);
  t.deepEqual(listerWatcher({...client, watchList: true}, selection).initialEventsEnd, client.naming.annotations.initialEventsEnd);
});

test('the programs stream over the network in each encoding with the gate, and list without it', async t => {
  const reads: string[] = [];
  for (const [on, contentType, cbor, expected] of [
    [true, 'application/json', false, ['watch']],
    [true, 'application/vnd.kubernetes.protobuf', false, ['watch']],
    [true, 'application/json', true, ['watch']],
    [false, 'application/json', false, ['list', 'watch']],
  ] as const) {
    const plane = await startPlane({controllers: 'none', apiserverArgs: ['--feature-gates=CBORServingAndStorage=true']});
    const file = join(await mkdtemp(join(tmpdir(), 'plat-informers-')), 'kubeconfig');
    await writeFile(file, plane.kubeconfig);
    const life = new AbortController();
    const common = {clock: systemClock, log: noLog, meter: noMeter, signal: life.signal};
    const connection = await openConnection({
      ...common,
      program: 'plat-tester',
      options: {platconfig: file, master: '', naming: 'auto', platApiQps: -1, platApiBurst: 0, platApiContentType: contentType},
      version: {gitVersion: 'v1.35.0', gitCommit: ''} as never,
      env: {},
      gate: name => (name === 'WatchListClient' ? on : cbor && (name === 'ClientsAllowCBOR' || name === 'ClientsPreferCBOR')),
    });
    await plane
      .client()
      .resource(kinds.configMaps)
      .create({metadata: {name: 'a', namespace: 'default'}, data: {k: 'ü'}});
    using _ = plane.intercept(({verb, resource, userAgent}) => {
      if (resource === 'configmaps' && userAgent.startsWith('plat-tester')) reads.push(verb);
      return undefined;
    });
    const informers = new InformerFactory({...common, client: connection.client('informers'), random: seededRandom(1), minResyncMs: 0});
    const informer = informers.informer({kind: kinds.configMaps, namespace: 'default', fieldSelector: 'metadata.name=a'});
    informers.start();
    await informers.whenSynced();
    await plane
      .client()
      .resource(kinds.configMaps)
      .patch('a', 'merge', {data: {k: '2'}}, {namespace: 'default'});
    while (informer.lister.get('default/a')?.data?.['k'] !== '2') await new Promise(resolve => setImmediate(resolve));

    t.deepEqual(reads.splice(0), [...expected], `${contentType} ${on}`);
    life.abort();
    await connection[Symbol.asyncDispose]();
    await plane.stop();
  }
});
