import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {aConfigMap, configMaps, settled, startWire} from './wire.js';
import {start} from './watch-start.js';

const labelled = (name: string, labels: Record<string, string>) => ({metadata: {name, labels}});

test('each event is a line of JSON with the whole object', async t => {
  const {post, get, watch, clock} = await startWire();
  using stream = await watch(`${configMaps}?watch=true`);
  await post(configMaps, aConfigMap('a'));
  await settled(clock);
  const stored = (await get(`${configMaps}/a`)).text.trimEnd();

  t.is(stream.type, 'application/json');
  t.deepEqual(stream.lines, [`{"type":"ADDED","object":${stored}}\n`]);
});

for (const [query, initial] of [
  ['', ['ADDED a', 'ADDED b']],
  ['resourceVersion=0', ['ADDED a', 'ADDED b']],
  ['resourceVersion=FIRST', ['ADDED b']],
  ['resourceVersion=LAST', []],
  ['resourceVersion=0&resourceVersionMatch=NotOlderThan&sendInitialEvents=false', []],
  ['resourceVersionMatch=NotOlderThan&sendInitialEvents=false', []],
  ['resourceVersion=FIRST&resourceVersionMatch=NotOlderThan&sendInitialEvents=false', ['ADDED b']],
  ['resourceVersionMatch=NotOlderThan&sendInitialEvents=true', ['ADDED a', 'ADDED b']],
  ['resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true', ['ADDED a', 'ADDED b', 'BOOKMARK']],
  [
    'resourceVersion=LAST&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=1',
    ['ADDED a', 'ADDED b', 'BOOKMARK'],
  ],
  ['allowWatchBookmarks=true', ['ADDED a', 'ADDED b', 'BOOKMARK']],
  ['resourceVersion=0&allowWatchBookmarks=true', ['ADDED a', 'ADDED b', 'BOOKMARK']],
  ['resourceVersion=LAST&allowWatchBookmarks=true', []],
] as const) {
  test(`a watch with '${query}' begins with [${initial.join()}] and goes on from there`, async t => {
    const {watch, post, clock, versions, last} = await start();
    using stream = await watch(`${configMaps}?watch=1&${query.replace('FIRST', versions[0]!).replace('LAST', last)}`);
    await post(configMaps, aConfigMap('c'));
    await settled(clock);

    t.deepEqual(stream.summaries, [...initial, 'ADDED c']);
  });
}

test('the end of the initial events is marked in both spellings', async t => {
  const {watch, last} = await start();
  using stream = await watch(`${configMaps}?watch=1&allowWatchBookmarks=true`);

  t.deepEqual(stream.events[2], {
    type: 'BOOKMARK',
    object: {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {resourceVersion: last, annotations: {'plat.io/initial-events-end': 'true', 'k8s.io/initial-events-end': 'true'}},
    },
  });
});

test('without its gate a streaming list is refused, and a legacy watch marks nothing', async t => {
  const {watch, get} = await start({gate: () => false});
  using stream = await watch(`${configMaps}?watch=1&allowWatchBookmarks=true`);

  t.deepEqual(stream.summaries, ['ADDED a', 'ADDED b']);
  t.deepEqual(
    (await get(`${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`)).json<Status>().details?.causes,
    [
      {
        reason: 'FieldValueForbidden',
        message: 'Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
        field: 'sendInitialEvents',
      },
    ],
  );
});

for (const [query, message] of [
  ['sendInitialEvents=true', 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'],
  ['resourceVersionMatch=NotOlderThan', 'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'],
  ['continue=x', 'Forbidden: resourceVersionMatch is forbidden when continue is provided'],
  [
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x',
    'Forbidden: resourceVersionMatch is forbidden when continue is provided',
  ],
] as const) {
  test(`a watch with '${query}' is invalid`, async t => {
    const {get} = await startWire();
    const {json, status} = await get(`${configMaps}?watch=1&${query}`);

    t.is(status, 422);
    t.deepEqual(json<Status>().details, {
      group: 'meta.plat.io',
      kind: 'ListOptions',
      causes: [{reason: 'FieldValueForbidden', message, field: 'resourceVersionMatch'}],
    });
  });
}

test('other matches of a watch are listed with the existing objects', async t => {
  const {get} = await startWire();
  const {details} = (await get(`${configMaps}?watch=1&resourceVersionMatch=Exact&sendInitialEvents=true`)).json<Status>();

  t.deepEqual(
    details?.causes?.map(({message}) => message),
    [
      'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ],
  );
});

test('a watch from a future version begins at once and sends the changes after it', async t => {
  const {watch, post, clock, versions} = await start();
  const now = Number(versions.at(-1));
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${now + 1}`);
  for (const name of ['c', 'd']) await post(configMaps, aConfigMap(name));
  await settled(clock);

  t.deepEqual(stream.summaries, ['ADDED d']);
});

test('a watch from a version that does not come to a store of its own ends, so that its watcher lists again', async t => {
  const {watch, clock, versions} = await start();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${Number(versions.at(-1)) + 9}`);
  await clock.advance(3100);

  t.like(stream.events[0], {type: 'ERROR', object: {code: 504, details: {causes: [{reason: 'ResourceVersionTooLarge'}]}}} as object);
  t.true(stream.ended);
});

test('a future resource version that is never reached ends its watch', async t => {
  const {watch, clock, versions} = await start();
  const opened = watch(
    `${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${Number(versions.at(-1)) + 9}`,
  );
  await clock.advance(3100);
  using stream = await opened;

  t.like(stream.events[0], {
    type: 'ERROR',
    object: {
      code: 504,
      details: {retryAfterSeconds: 1, causes: [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}]},
    },
  } as object);
  t.deepEqual([stream.events.length, stream.ended], [1, true]);
});

test('compacted history is an error event in the stream', async t => {
  const {watch, store, post, versions, clock} = await start();
  const newest = Number((await post(configMaps, aConfigMap('c'))).json().metadata?.resourceVersion);
  await store.compact(newest);
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${versions[0]}`);
  await settled(clock);

  t.deepEqual(stream.events, [
    {
      type: 'ERROR',
      object: {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `too old resource version: ${versions[0]} (${newest})`,
        reason: 'Expired',
        code: 410,
      },
    },
  ] as unknown as typeof stream.events);
  t.true(stream.ended);
});

test('a watch whose time is over ends at once, with an error if it has to ask for the latest version', async t => {
  const {watch, clock, last} = await start();
  using latest = await watch(`${configMaps}?watch=1&timeoutSeconds=-5`);
  using known = await watch(`${configMaps}?watch=1&timeoutSeconds=-5&resourceVersion=${last}`);
  await settled(clock);

  t.deepEqual(latest.events as unknown, [
    {
      type: 'ERROR',
      object: {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'context deadline exceeded',
        reason: 'InternalError',
        code: 500,
      },
    },
  ]);
  t.deepEqual([latest.ended, known.events, known.ended], [true, [], true]);
});

test('a watch for lists of metadata ends with the first object, which is no list', async t => {
  const {watch, patch, clock, last} = await start();
  const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.plat.io';
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${last}`, {headers: {accept}});
  await settled(clock);
  t.false(stream.ended);
  await patch(`${configMaps}/a`, {data: {x: '1'}});
  await settled(clock);

  t.deepEqual([stream.events, stream.ended], [[], true]);
});

test('invalid parameters are refused before the stream begins', async t => {
  const {get} = await startWire();

  for (const [query, code] of [
    ['resourceVersion=x', 500],
    ['labelSelector=!!', 400],
    ['fieldSelector=spec.x%3D1', 400],
    ['timeoutSeconds=x', 400],
  ] as const)
    t.is((await get(`${configMaps}?watch=1&${query}`)).status, code, query);
  t.is((await get(`${configMaps}?watch=1`, {headers: {accept: 'application/yaml'}})).status, 406);
});

test('an object that enters a selection is ADDED, one that leaves it is DELETED, whatever the change in the store', async t => {
  const {watch, post, patch, remove, clock} = await startWire();
  using stream = await watch(`${configMaps}?watch=1&labelSelector=in=yes`);
  await post(configMaps, labelled('a', {in: 'no'}));
  await patch(`${configMaps}/a`, {metadata: {labels: {in: 'yes'}}});
  await patch(`${configMaps}/a`, {data: {k: '1'}});
  const out = (await patch(`${configMaps}/a`, {metadata: {labels: {in: 'no'}}, data: {k: '2'}})).json();
  await patch(`${configMaps}/a`, {data: {k: '3'}});
  await patch(`${configMaps}/a`, {metadata: {labels: {in: 'yes'}}});
  await remove(`${configMaps}/a`);
  await settled(clock);

  t.deepEqual(stream.summaries, ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a']);
  t.like(stream.events[2]?.object, {metadata: {labels: {in: 'yes'}, resourceVersion: out.metadata?.resourceVersion}, data: {k: '1'}});
});

for (const accept of [
  'application/json',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.plat.io',
  'application/json;as=Table;v=v1;g=meta.plat.io',
]) {
  test(`an object that leaves a selection is shown as it was in it, as ${accept}`, async t => {
    const {watch, post, patch, clock} = await startWire();
    // A watch that parses whole objects, before the other one.
    using _ = await watch(`${configMaps}?watch=1&includeObject=Object`, {
      headers: {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'},
    });
    using stream = await watch(`${configMaps}?watch=1&labelSelector=in=yes`, {headers: {accept}});
    await post(configMaps, labelled('a', {in: 'yes'}));
    await settled(clock);
    const out = (await patch(`${configMaps}/a`, {metadata: {labels: {in: 'no'}}})).json();
    await settled(clock);

    t.is(stream.events[1]?.type, 'DELETED');
    const {object} = stream.events[1] as {object: KubeObject & {rows?: readonly {object: KubeObject}[]}};
    const {labels, resourceVersion} = (object.rows?.[0]?.object ?? object).metadata!;
    t.deepEqual({labels, resourceVersion}, {labels: {in: 'yes'}, resourceVersion: out.metadata!.resourceVersion!});
  });
}

test('the last state of an object comes with the version of its deletion', async t => {
  const {watch, remove, clock, last} = await start();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${last}`);
  await remove(`${configMaps}/a`);
  await settled(clock);

  t.deepEqual(stream.summaries, ['DELETED a']);
  t.is(stream.events[0]?.object.metadata?.resourceVersion, String(Number(last) + 1));
});

for (const path of [
  '/api/v1/watch/namespaces/default/configmaps/a?resourceVersion=LAST',
  `${configMaps}?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=LAST`,
  '/api/v1/watch/namespaces/default/configmaps/a?resourceVersion=LAST&fieldSelector=metadata.name%3Da',
]) {
  test(`${path} watches one object`, async t => {
    const {watch, patch, clock, last} = await start();
    using stream = await watch(path.replace('LAST', last));
    for (const name of ['a', 'b']) await patch(`${configMaps}/${name}`, {data: {x: '1'}});
    await settled(clock);

    t.deepEqual(stream.summaries, ['MODIFIED a']);
  });
}

for (const selector of ['metadata.name=b', 'metadata.name!=a', 'metadata.namespace=default']) {
  test(`a watch of one object does not select ${selector}`, async t => {
    const {get} = await start();

    t.like((await get(`/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=${encodeURIComponent(selector)}`)).json<Status>(), {
      code: 400,
      message: "fieldSelector metadata.name doesn't match requested name",
    });
  });
}

test('an object is not watched through its own address', async t => {
  const {get} = await start();

  t.is((await get(`${configMaps}/a?watch=1`)).json().kind, 'ConfigMap');
});

test('a watch without a namespace covers all of them, one with a namespace only that', async t => {
  const {watch, post, clock} = await startWire();
  await post('/api/v1/namespaces', {metadata: {name: 'other'}});
  using all = await watch('/api/v1/configmaps?watch=1');
  using old = await watch('/api/v1/watch/configmaps');
  using own = await watch('/api/v1/namespaces/other/configmaps?watch=1');
  await post(configMaps, aConfigMap('a'));
  await post('/api/v1/namespaces/other/configmaps', aConfigMap('b'));
  await settled(clock);

  t.deepEqual([all.summaries, old.summaries, own.summaries], [['ADDED a', 'ADDED b'], ['ADDED a', 'ADDED b'], ['ADDED b']]);
});
