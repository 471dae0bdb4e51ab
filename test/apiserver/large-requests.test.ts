import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {ConfigMap} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {isLarge, maxWeight, type LargeRequests, type MovedRequest} from '#src/apiserver/request/large.js';
import {RequestTurns} from '#src/apiserver/request/turns.js';
import type {Clock} from '#src/base/clock.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import type {Steps} from '#src/base/steps.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {admin, aConfigMap, configMaps, startWire} from './wire.js';

const entries = (count: number) => Object.fromEntries(Array.from({length: count}, (_, i) => [`key-${i}`, 'x']));
const large = aConfigMap('large', {data: entries(maxWeight)});
const small = aConfigMap('small', {data: {key: 'x'}});

interface Moved {
  readonly method: string;
  readonly url: string;
  readonly bytes: number | undefined;
  readonly user: string;
}

/** Records forwarded requests, and answers them as a server without a second thread. */
const startMoving = async (answers = true, meter: Meter = noMeter) => {
  const moved: Moved[] = [];
  const largeRequests: LargeRequests = {
    async answer(request: MovedRequest, body: Buffer | undefined, user: UserInfo) {
      moved.push({method: request.method, url: request.url, bytes: body?.length, user: user.name});
      if (!answers) return undefined;
      return {
        status: 200,
        headers: {Warning: ['299 - "from there"'], 'Audit-Id': String(request.headers['audit-id'])},
        body: {kind: 'bytes', contentType: 'application/json', bytes: '{"kind":"ConfigMap"}'},
      };
    },
  };
  return {moved, ...(await startWire({largeRequests, meter}))};
};

test('bodies are weighed by content, not by length', t => {
  t.true(isLarge(Buffer.from(JSON.stringify(entries(maxWeight)))));
  t.false(isLarge(Buffer.from(JSON.stringify(entries(1000)))));
  t.false(isLarge(Buffer.from(JSON.stringify({text: 'x'.repeat(100_000)}))));
  t.true(isLarge(Buffer.from(JSON.stringify({text: 'x'.repeat(1_000_000)}))));
});

test('a request with a large body is handed over before anything is done for it', async t => {
  const {post, get, moved} = await startMoving();
  const answer = await post(configMaps, large, {headers: {'audit-id': 'mine', 'x-other': 'kept'}});

  t.is(answer.status, 200);
  t.deepEqual(moved, [{method: 'POST', url: configMaps, bytes: Buffer.byteLength(JSON.stringify(large)), user: 'admin'}]);
  t.is(answer.header('audit-id'), 'mine');
  t.deepEqual(answer.header('warning'), ['299 - "from there"']);
  t.is((await get(`${configMaps}/large`)).status, 404);
});

test('a deprecated API that a large request asks for is noted here', async t => {
  const meter = new MetricsRegistry();
  const {post, moved} = await startMoving(true, meter);
  await post('/api/v1/namespaces/default/endpoints', {...large, kind: 'Endpoints'});

  t.is(moved.length, 1);
  const labels = {group: '', version: 'v1', resource: 'endpoints', subresource: '', removed_release: ''};
  t.is(meter.value('apiserver_requested_deprecated_apis', labels), 1);
});

test('small requests are answered here', async t => {
  const {post, put, patch, get, remove, moved} = await startMoving();
  await post(configMaps, small);
  const item = `${configMaps}/small`;
  await put(item, small);
  await patch(item, {data: {other: 'y'}});
  await get(item, {headers: {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}});
  await remove(item);

  t.deepEqual(moved, []);
});

test('expressions, patterns and pointers are weighed by the cost of compiling and walking them', t => {
  const text = (part: string) => Buffer.from(JSON.stringify({text: part.repeat(100_000 / part.length)}));
  for (const part of ['(a|b)*', '1+', '/a', 'f(x).g(y) ']) t.true(isLarge(text(part)), part);
  t.false(isLarge(text('plain text ')));
});

test('large objects that are written from inside the process are handed over too, and read there as they are', async t => {
  const {post, clientOf, moved} = await startMoving();
  const maps = clientOf().resource(kinds.configMaps);
  const made = await maps.create({...large, metadata: {name: 'large', namespace: 'default'}});

  t.is(made.kind, 'ConfigMap');
  t.is(moved.length, 1);
  t.true(moved[0]!.bytes! > maxWeight);
  await post(configMaps, small);
  await maps.patch('small', 'merge', {data: {other: 'y'}}, {namespace: 'default'});
  t.is((await maps.get('small', {namespace: 'default'})).data!['other'], 'y');
  t.is(moved.length, 1);
});

test('an in-process update of a large stored object runs in the request thread, a read does not', async t => {
  const {post, clientOf, moved} = await startMoving(false);
  await post(configMaps, large);
  moved.length = 0;
  const maps = clientOf().resource(kinds.configMaps);
  t.is(Object.keys((await maps.get('large', {namespace: 'default'})).data!).length, maxWeight);
  t.deepEqual(moved, []);

  const patched = await maps.patch('large', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace: 'default'});
  t.is(patched.metadata!.labels!['a'], 'b');
  t.deepEqual(
    moved.map(({method, bytes}) => [method, bytes]),
    [['PATCH', Buffer.byteLength(JSON.stringify({metadata: {labels: {a: 'b'}}}))]],
  );
});

test('updating or converting a large stored object runs in the request thread, copying its bytes does not', async t => {
  const {post, patch, put, get, remove, moved} = await startMoving(false);
  t.is((await post(configMaps, large)).status, 201);
  moved.length = 0;
  const item = `${configMaps}/large`;
  t.is((await get(item)).status, 200);
  t.is((await get(configMaps)).status, 200);
  t.deepEqual(moved, []);

  const table = await get(item, {headers: {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'}});
  t.is(table.json().kind, 'Table');
  t.is((await patch(item, {metadata: {labels: {a: 'b'}}})).status, 200);
  t.is((await put(item, aConfigMap('large'))).status, 200);
  t.deepEqual(
    moved.map(({method}) => method),
    ['GET', 'PATCH', 'PUT'],
  );
  moved.length = 0;
  t.is((await remove(item)).status, 200);
  t.deepEqual(moved, []);
});

test('without another thread a large request is answered here', async t => {
  const {post, moved} = await startMoving(false);
  const answer = await post(configMaps, large, {user: {...admin, name: 'jane'}});

  t.is(answer.status, 201);
  t.is(moved[0]?.user, 'jane');
  t.is(Object.keys(answer.json<ConfigMap>().data!).length, maxWeight);
});

test('the items of a collection that is deleted are deleted here, however large', async t => {
  const {post, remove, moved} = await startMoving(false);
  await post(configMaps, large);
  moved.length = 0;

  t.is((await remove(configMaps)).status, 200);
  t.deepEqual(moved, []);
});

test('a subresource write to a large stored object goes to the request thread before anything is done', async t => {
  const {post, get, moved} = await startMoving(false);
  const pods = '/api/v1/namespaces/default/pods';
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name: 'large', annotations: entries(maxWeight)},
    spec: {containers: [{name: 'main', image: 'nginx'}]},
  };
  t.is((await post(pods, pod)).status, 201);
  moved.length = 0;

  t.is(
    (
      await post(`${pods}/large/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: {name: 'large'},
        target: {kind: 'Node', name: 'one'},
      })
    ).status,
    201,
  );
  t.deepEqual(
    moved.map(({url}) => url),
    [`${pods}/large/binding`],
  );
  t.is((await get(`${pods}/large`)).json<Pod>().spec!.nodeName, 'one');
});

test('a short patch that copies a lot goes to the request thread before anything is copied there', async t => {
  const {post, patch, get, moved} = await startMoving(false);
  await post(configMaps, aConfigMap('small', {data: {a: 'x'}}));
  const copying = (count: number) => [
    {op: 'add', path: '/nested', value: {}},
    ...Array.from({length: count}, (_, i) => ({op: 'copy', from: '/nested', path: `/nested/copy-${i}`})),
  ];
  const json = {headers: {'content-type': 'application/json-patch+json'}};

  t.is((await patch(`${configMaps}/small`, copying(8), json)).status, 200);
  t.deepEqual(moved, []);
  t.is((await patch(`${configMaps}/small`, copying(40), json)).status, 422);
  t.deepEqual(
    moved.map(({method}) => method),
    ['PATCH'],
  );
  t.deepEqual((await get(`${configMaps}/small`)).json<ConfigMap>().data, {a: 'x'});
});

/** A clock on which each look takes a third of a millisecond. */
const slowClock = (): Clock => {
  const clock = new VirtualClock();
  let now = 0;
  clock.monotonic = () => (now += 1 / 3);
  return clock;
};

test('long work of requests gives way to that of others: users take turns, and of one user the first request goes on first', async t => {
  const clock = slowClock();
  const order: string[] = [];
  const work = function* (name: string): Steps<string> {
    for (let step = 0; step < 12; step++) {
      order.push(name);
      yield;
    }
    return name;
  };
  const run = (user: string, name: string) => new RequestTurns(clock, {user: {name: user}}).run(work(name));
  const results = await Promise.all([run('many', 'a'), run('many', 'b'), run('many', 'c'), run('few', 'z')]);

  t.deepEqual(results, ['a', 'b', 'c', 'z']);
  const ends = (name: string) => order.lastIndexOf(name);
  t.true(ends('a') < ends('b') && ends('b') < ends('c'));
  t.true(ends('z') < ends('c'), order.join(''));
  t.true(order.slice(0, order.indexOf('z')).length < 12);
});

test('long work of a request ends with it, and short work needs no promise', async t => {
  const clock = slowClock();
  const signal = new AbortController();
  let steps = 0;
  const work = function* (count: number): Steps<number> {
    for (; steps < count; steps++) yield;
    return steps;
  };
  const turns = new RequestTurns(clock, {user: {name: 'u'}, original: {signal: signal.signal}});

  t.is(new RequestTurns(new VirtualClock(), {}).run(work(10)), 10);
  const running = turns.run(work(1000));
  signal.abort();
  t.like(await t.throwsAsync(async () => running), {code: 504});
  t.true(steps < 30);
  t.like(
    await t.throwsAsync(async () =>
      new RequestTurns(clock, {original: {signal: new AbortController().signal, deadlineAt: 0}}).run(work(1000)),
    ),
    {
      code: 504,
    },
  );
});
