import test from 'ava';
import {measuredStore} from '#src/apiserver/registry/measured-store.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createLog} from '#src/observe/log.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane} from '#test/controllers/plane.js';

const alone = {controllerManagerArgs: ['--controllers='], schedulerArgs: [], naming: 'kubernetes'} as const;

/** The log lines of a plane of that verbosity, which gets a request of each sort. */
const linesAt = async (v: number, vmodule = ''): Promise<readonly string[]> => {
  const lines: string[] = [];
  const log = createLog({
    clock: new VirtualClock(),
    program: 'test',
    verbosity: new Verbosity(v, vmodule),
    write: line => void lines.push(line),
  });
  await using plane = await aPlane({...alone, log});
  const {get, post, remove, watch} = wire(plane.api.handler);
  const secret = {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: {name: 's'},
    stringData: {a: 'very-hidden-text'},
    data: {b: 'aGlkZGVuLWJ5dGVz'},
  };
  await post('/api/v1/namespaces/default/configmaps', {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {name: 'c'},
    data: {seen: `visible${'x'.repeat(70_000)}`},
  });
  await post('/api/v1/namespaces/default/secrets', secret, {headers: {authorization: 'Bearer a-token-that-must-not-be-logged'}});
  await post('/api/v1/namespaces/default/configmaps', {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {name: 'd', annotations: {'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(secret)}},
  });
  await post('/apis/authentication.k8s.io/v1/tokenreviews', {
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    spec: {token: 'a-token-that-must-not-be-logged'},
  });
  await get('/api/v1/secrets?token=a-token-that-must-not-be-logged');
  await get('/api/v1/namespaces/default/configmaps');
  await get('/api/v1/namespaces/default/configmaps/c');
  (await watch('/api/v1/namespaces/default/configmaps?watch=true'))[Symbol.dispose]();
  (
    await watch(
      '/api/v1/namespaces/default/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    )
  )[Symbol.dispose]();
  await get('/api/v1/configmaps', {user: {name: 'nobody', uid: '', groups: [], extra: {}}});
  await plane.api.handler({
    method: 'GET',
    url: '/api/v1/configmaps',
    caller: {credentials: {certificates: []}},
    headers: {authorization: 'Bearer a-token-that-must-not-be-logged'},
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  });
  await post('/api/v1/namespaces/none/configmaps', {kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'e'}});
  await remove('/api/v1/namespaces/default/secrets/s');
  return lines;
};

/** Lines by the verbosity they begin at. */
const expected: readonly (readonly [number, string, RegExp])[] = [
  [3, 'requests', /httplog\] "HTTP" verb="LIST"/],
  [
    4,
    'a request that cannot be authenticated',
    /authentication\] "unable to authenticate the request" path="\/api\/v1\/configmaps" err="invalid bearer token"/,
  ],
  [
    4,
    'a denied request, and the reason',
    /authorization\] "request is not allowed" user="nobody" verb="list" path="\/api\/v1\/configmaps" resource="configmaps"/,
  ],
  [
    4,
    'what admission refuses',
    /admission\] "request is refused by admission" plugin="NamespaceLifecycle" phase="admit" operation="CREATE" resource="configmaps" namespace="none"/,
  ],
  [4, 'the start of watches', /watch\] "watch starts" resource="configmaps"/],
  [4, 'the end of watches', /watch\] "watch ends" resource="configmaps"/],
  [5, 'bookmarks of watches', /watch\] "sent a watch bookmark" resource="configmaps"/],
  [5, 'the time of admission plugins', /admission\] "admission plugin has finished" plugin="NamespaceLifecycle"/],
  [5, 'requests to the store', /storage\] "storage request" operation="create" resource="configmaps" group="" from="store" duration="/],
  [8, 'bodies of requests', /httplog\] "request body" verb="POST" URI="\/api\/v1\/namespaces\/default\/configmaps" body="[^\n]*visible/],
  [8, 'bodies of answers', /httplog\] "response body" verb="GET" URI="\/api\/v1\/namespaces\/default\/configmaps\/c" body="/],
  [8, 'bodies to 1 KiB', /visiblex{900,1024} \[truncated/],
  [9, 'bodies to 10 KiB', /visiblex{10000,10240} \[truncated/],
  [10, 'bodies to 64 KiB', /visiblex{65000,65536} \[truncated/],
];

const levels = await Promise.all([2, 3, 4, 5, 7, 8, 9, 10].map(async v => [v, await linesAt(v)] as const));

for (const [from, what, line] of expected) {
  test(`the API server logs ${what} at -v=${from} and not below`, t => {
    const [, at] = levels.find(([v]) => v === from)!;
    const [, below] = levels.findLast(([v]) => v < from)!;

    t.true(
      at.some(text => line.test(text)),
      at.slice(-40).join('').slice(0, 4000),
    );
    t.false(below.some(text => line.test(text)));
  });
}

test('no verbosity logs secrets, tokens or keys', t => {
  for (const [, lines] of levels) {
    const text = lines.join('');
    for (const hidden of [
      'very-hidden-text',
      'aGlkZGVuLWJ5dGVz',
      'dmVyeS1oaWRkZW4tdGV4dA',
      'a-token-that-must-not-be-logged',
      'PRIVATE KEY',
    ])
      t.false(text.includes(hidden), hidden);
  }
});

test('reads from the cache are logged as such', async t => {
  const lines: string[] = [];
  const clock = new VirtualClock();
  const log = createLog({clock, program: 'test', verbosity: new Verbosity(5), write: line => void lines.push(line)});
  const store = measuredStore(memoryStore({clock}), '/registry/pods/', {group: '', resource: 'pods'}, {meter: noMeter, clock, log});
  await store.get('/registry/pods/a/b', {near: true});
  await store.get('/registry/pods/a/b');

  t.deepEqual(
    lines.map(text => / from="\w+"/.exec(text)?.[0]),
    [' from="cache"', ' from="store"'],
  );
});

test('--vmodule raises a single component', async t => {
  const lines = await linesAt(0, 'admiss*=5');

  t.true(lines.some(text => text.includes('admission plugin has finished')));
  t.false(lines.some(text => text.includes('httplog]') || text.includes('storage]')));
});
