import test from 'ava';
import type {KubeObject} from '#src/api/types.js';
import type {WatchSink} from '#src/api/request.js';
import {aConfigMap, admin, configMaps, csrs, settled, startWire} from './wire.js';
import {start} from './watch-start.js';

test('bookmarks are sent each minute and before the end, if requested', async t => {
  const {watch, post, clock, last} = await start();
  using marked = await watch(`${configMaps}?watch=1&resourceVersion=${last}&allowWatchBookmarks=true&timeoutSeconds=90`);
  using silent = await watch(`${configMaps}?watch=1&resourceVersion=${last}&timeoutSeconds=90`);
  const other = (await post('/api/v1/nodes', {metadata: {name: 'n'}})).json().metadata?.resourceVersion;
  await clock.advance(59_999);
  t.deepEqual(marked.summaries, []);
  await clock.advance(1);
  t.deepEqual(
    marked.events.map(({type, object}) => [type, object.kind, Object.keys(object.metadata ?? {})]),
    [['BOOKMARK', 'ConfigMap', ['resourceVersion']]],
  );
  await clock.advance(28_000);
  t.deepEqual(marked.summaries, ['BOOKMARK', 'BOOKMARK']);
  t.is(marked.events[1]?.object.metadata?.resourceVersion, other);
  t.deepEqual([marked.ended, silent.ended], [false, false]);
  await clock.advance(2000);

  t.deepEqual([marked.ended, silent.ended], [true, true]);
  t.deepEqual([marked.summaries.length, silent.summaries.length], [2, 0]);
  t.is(clock.pending, 0);
});

test('a watch without a timeout lasts between once and twice the minimum', async t => {
  const {watch, clock} = await startWire({minRequestTimeoutSeconds: 100});
  const streams = await Promise.all(Array.from({length: 20}, () => watch(`${configMaps}?watch=1&timeoutSeconds=0`)));
  await clock.advance(99_999);
  t.is(streams.filter(({ended}) => ended).length, 0);
  await clock.advance(50_000);
  const half = streams.filter(({ended}) => ended).length;
  t.true(half > 0 && half < 20);
  await clock.advance(50_001);

  t.true(streams.every(({ended}) => ended));
});

test('a watcher that stops leaves nothing behind', async t => {
  const {watch, clock, server} = await start();
  const stream = await watch(`${configMaps}?watch=1&allowWatchBookmarks=true`);
  stream[Symbol.dispose]();
  server.endWatches();

  t.is(clock.pending, 0);
  t.false(stream.ended);
});

test('a stop ends streams without an error', async t => {
  const {watch, server, clock} = await start();
  const stream = await watch(`${configMaps}?watch=1`);
  stream.clear();
  server.endWatches();

  t.deepEqual([stream.ended, stream.summaries, clock.pending], [true, [], 0]);
});

test('a consumer under backpressure gets the initial state in pieces, and then the later events', async t => {
  const {server, post, clock} = await start();
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  const slow: WatchSink = {
    event: event => (lines.push(event.type), false),
    drained: () => new Promise(resolve => void waiting.push(resolve)),
    end() {},
  };
  const url = `${configMaps}?watch=1&allowWatchBookmarks=true`;
  const {body} = await server.handler({
    method: 'GET',
    url,
    headers: {},
    caller: {user: admin},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  if (body.kind !== 'watch') return t.fail();
  using _ = body.start(slow);
  await post(configMaps, aConfigMap('c'));
  await clock.advance(60_000);
  t.deepEqual(lines, ['ADDED'], 'no bookmark overtakes the initial state');
  waiting.shift()?.();
  await settled(clock);
  t.deepEqual(lines, ['ADDED', 'ADDED']);
  waiting.shift()?.();
  await settled(clock);

  t.deepEqual(lines, ['ADDED', 'ADDED', 'BOOKMARK', 'ADDED']);
});

const table = {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'};
test('a bookmark has the fields that objects of its kind have when nothing is set', async t => {
  const {watch, clock, last} = await start();
  const bookmarkOf = async (path: string) => {
    using stream = await watch(`${path}?watch=1&resourceVersion=${last}&allowWatchBookmarks=true&timeoutSeconds=90`);
    await clock.advance(60_000);
    const {metadata: _, ...rest} = stream.events[0]!.object as KubeObject;
    return rest;
  };

  t.deepEqual(await bookmarkOf('/apis/apps/v1/deployments'), {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    spec: {replicas: 0, selector: null, strategy: {}, template: {metadata: {}, spec: {containers: null}}},
    status: {},
  } as object);
  t.deepEqual(await bookmarkOf('/api/v1/services'), {kind: 'Service', apiVersion: 'v1', spec: {}, status: {loadBalancer: {}}} as object);
  t.deepEqual(await bookmarkOf('/apis/autoscaling/v1/horizontalpodautoscalers'), {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    spec: {maxReplicas: 0, scaleTargetRef: {kind: '', name: ''}},
    status: {currentReplicas: 0, desiredReplicas: 0},
  } as object);
});

test('a watch of tables sends the columns once, and bookmarks carry metadata', async t => {
  const {watch, post, clock, last} = await start();
  using stream = await watch(`${configMaps}?watch=1&allowWatchBookmarks=true`, {headers: table});
  await post(configMaps, aConfigMap('c'));
  await settled(clock);
  const tables = stream.events.map(
    ({object}) =>
      object as unknown as {
        kind: string;
        metadata: {resourceVersion: string};
        columnDefinitions: unknown[] | null;
        rows: {cells: unknown[]; object: {kind: string; metadata: {name?: string}}}[];
      },
  );

  t.deepEqual(
    tables.map(({kind, columnDefinitions, rows}) => [kind, columnDefinitions?.length ?? null, rows.length]),
    [
      ['Table', 3, 1],
      ['Table', null, 1],
      ['Table', null, 1],
      ['Table', null, 1],
    ],
  );
  t.deepEqual(tables[0]?.rows[0]?.cells, ['a', 0, '0s']);
  t.like(tables[0]?.rows[0]?.object, {kind: 'PartialObjectMetadata', apiVersion: 'meta.plat.io/v1', metadata: {name: 'a'}});
  t.is(tables[2]?.metadata.resourceVersion, last);
  t.like(tables[2]?.rows[0]?.object.metadata, {resourceVersion: last, annotations: {'plat.io/initial-events-end': 'true'}});
});

for (const [path, cells] of [
  [csrs, ['', '<unknown>', '<none>', '', '<none>', 'Pending']],
  [configMaps, ['', 0, '<unknown>']],
  ['/apis/apps/v1/deployments', ['', '0/0', 0, 0, '<unknown>', '', '', '']],
  ['/apis/rbac.authorization.plat.io/v1/clusterroles', ['', '0001-01-01T00:00:00Z']],
] as const) {
  test(`a bookmark in a watch of tables of ${path} has the cells of an object of which nothing is set`, async t => {
    const {watch} = await startWire();
    using stream = await watch(`${path}?watch=1&allowWatchBookmarks=true`, {headers: table});
    const {rows} = stream.events[0]!.object as unknown as {rows: {cells: unknown[]}[]};

    t.is(stream.events[0]?.type, 'BOOKMARK');
    t.deepEqual(rows[0]?.cells, cells);
  });
}

test('a watch of metadata sends metadata alone, bookmarks too', async t => {
  const {watch, last} = await start();
  using stream = await watch(`${configMaps}?watch=1&allowWatchBookmarks=true`, {
    headers: {accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.plat.io'},
  });

  t.deepEqual(
    stream.events.map(({object}) => [object.kind, object.apiVersion]),
    Array.from({length: 3}, () => ['PartialObjectMetadata', 'meta.plat.io/v1']),
  );
  t.deepEqual(Object.keys(stream.events[0]?.object ?? {}), ['kind', 'apiVersion', 'metadata']);
  t.is(stream.events[2]?.object.metadata?.resourceVersion, last);
});

test('every list leads to a watch that loses and repeats nothing', async t => {
  const {watch, get, post, remove, clock} = await startWire();
  const streams = [];
  for (let i = 0; i < 10; i++) {
    await post(configMaps, aConfigMap(`m${i}`));
    if (i % 3 === 2) await remove(`${configMaps}/m${i - 1}`);
    const {metadata} = (await get(configMaps)).json();
    streams.push([i, await watch(`${configMaps}?watch=1&resourceVersion=${metadata?.resourceVersion}`)] as const);
  }
  await settled(clock);
  const whole = streams[0]![1].summaries;

  for (const [, stream] of streams) {
    t.deepEqual(stream.summaries, whole.slice(whole.length - stream.summaries.length));
    stream[Symbol.dispose]();
  }
  t.is(whole.length, 9 + 3);
  t.is(streams[9]![1].summaries.length, 0);
});

test('a bookmark has the fields that are shown as null, as its kind has', async t => {
  const {watch} = await startWire({gate: name => name === 'WatchList'});
  const bookmarkOf = async (path: string) => {
    using stream = await watch(`${path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1`);
    return stream.events.find(({type}) => type === 'BOOKMARK')?.object;
  };

  t.like(await bookmarkOf('/apis/rbac.authorization.plat.io/v1/roles'), {rules: null});
  t.like(await bookmarkOf('/apis/discovery.plat.io/v1/endpointslices'), {endpoints: null, ports: null});
  t.like(await bookmarkOf('/apis/events.plat.io/v1/events'), {deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null});
});
