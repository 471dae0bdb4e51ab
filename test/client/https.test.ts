import test from 'ava';
import {firstValueFrom, lastValueFrom, take, toArray} from 'rxjs';
import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {type StatusError, isGone, isNotFound, notFound, statusError} from '#src/api/status.js';
import {systemClock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Caller, Reply} from '#src/client/caller.js';
import type {Client} from '#src/client/client.js';
import {chosenNaming, connectedClient} from '#src/client/connected.js';
import {limited, retrying} from '#src/client/limits.js';
import {listAll} from '#src/client/pages.js';
import {connect} from '#src/transport/client/http-connection.js';
import {type TestServer, aWatch, anEvent, answering, json, serve} from '#test/serving/server.js';

const settings = (server: TestServer) => ({server: server.url, trust: {ca: {data: server.ca}}, identity: {}, source: 'test'});
const options = {clock: systemClock, meter: noMeter, naming: naming('plat'), userAgent: 'tester'};

interface Environment extends AsyncDisposable {
  readonly server: TestServer;
  readonly client: Client;
}

const anEnvironment = async (handler: ApiHandler): Promise<Environment> => {
  const server = await serve(handler);
  const connection = await connect(settings(server), {clock: systemClock});
  return {
    server,
    client: connectedClient(connection, options),
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
};

test('objects go to the server and come back', async t => {
  const seen: unknown[] = [];
  await using environment = await anEnvironment(
    answering(async ({method, url, body, headers}) => {
      const sent = body?.kind === 'bytes' ? JSON.parse((await body.read(1000)).toString()) : undefined;
      seen.push([method, url, headers['content-type'], sent]);
      return json({...(sent as object), metadata: {name: 'a', resourceVersion: '1'}}, 201);
    }),
  );

  const made = await environment.client.resource(kinds.configMaps).create({metadata: {namespace: 'x', name: 'a'}, data: {k: 'ü'}});

  t.is(made.metadata?.resourceVersion, '1');
  t.deepEqual(seen, [
    [
      'POST',
      '/api/v1/namespaces/x/configmaps',
      'application/json',
      {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace: 'x', name: 'a'}, data: {k: 'ü'}},
    ],
  ]);
});

test('refusals reject with the status of the server, and unreachable servers with another error', async t => {
  await using environment = await anEnvironment(answering(() => json(notFound({group: '', resource: 'configmaps'}, 'a').status, 404)));
  const maps = environment.client.resource(kinds.configMaps);

  t.true(isNotFound(await t.throwsAsync(maps.get('a', {namespace: 'x'}))));
  await environment.server.listener.close();
  const error = await t.throwsAsync(maps.get('a', {namespace: 'x'}));
  t.regex(error!.message, /^GET https:.*configmaps\/a: connection refused$/);
});

test('a watch emits events, however the bytes are split, until the server ends it', async t => {
  const watch = aWatch();
  await using environment = await anEnvironment(answering(() => watch.response));
  const emitted = lastValueFrom(environment.client.resource(kinds.configMaps).watch({resourceVersion: '1'}).pipe(toArray()));
  await untilTrue(() => watch.sinks.length > 0);
  const [sink] = watch.sinks;

  const big = {metadata: {name: 'big'}, data: {k: 'ü'.repeat(200_000)}};
  sink!.event(anEvent('ADDED', {metadata: {name: 'a'}}));
  sink!.event(anEvent('MODIFIED', big));
  sink!.event(anEvent('DELETED', {metadata: {name: 'a'}}));
  sink!.end();

  t.deepEqual(
    (await emitted).map(({type, object}) => [type, object.metadata?.name]),
    [
      ['ADDED', 'a'],
      ['MODIFIED', 'big'],
      ['DELETED', 'a'],
    ],
  );
});

test('an ERROR event, a refusal and a broken stream are three different errors', async t => {
  const watch = aWatch();
  const answers: ApiResponse[] = [watch.response, json(statusError('Forbidden', 'no').status, 403), watch.response];
  await using environment = await anEnvironment(answering(() => answers.shift()!));
  const maps = environment.client.resource(kinds.configMaps);
  const start = async (count: number) => {
    const result = lastValueFrom(maps.watch(), {defaultValue: undefined});
    result.catch(() => {});
    await untilTrue(() => watch.sinks.length === count);
    return result;
  };

  const gone = start(1);
  await untilTrue(() => watch.sinks.length === 1);
  watch.sinks[0]!.event(anEvent('ERROR', statusError('Expired', 'too old').status));
  t.true(isGone(await t.throwsAsync(gone)));

  t.is((await t.throwsAsync<StatusError>(lastValueFrom(maps.watch())))!.code, 403);

  const broken = start(2);
  await untilTrue(() => watch.sinks.length === 2);
  await environment.server.listener.close();
  t.false('status' in (await t.throwsAsync(broken))!);
});

test('unsubscribing from a watch ends it on the server', async t => {
  const watch = aWatch();
  await using environment = await anEnvironment(answering(() => watch.response));
  const first = firstValueFrom(environment.client.resource(kinds.configMaps).watch().pipe(take(1)));
  await untilTrue(() => watch.sinks.length > 0);

  watch.sinks[0]!.event(anEvent('ADDED', {}));
  await first;
  await untilTrue(() => watch.stopped() === 1);

  t.is(environment.server.http.watchers, 0);
});

for (const name of ['plat', 'kubernetes'] as const) {
  test(`the vocabulary of a ${name} server is found out from its groups`, async t => {
    const groups = ['apps', naming(name).group('authentication'), naming(name).group('coordination')].map(group => ({name: group}));
    await using server = await serve(answering(() => json({groups})));
    await using connection = await connect(settings(server), {clock: systemClock});

    t.is((await chosenNaming('auto', connection, options)).name, name);
    t.is((await chosenNaming(name, connection, options)).name, name);
    const other = name === 'plat' ? 'kubernetes' : 'plat';
    await t.throwsAsync(chosenNaming(other, connection, options), {
      message: `--naming=${other}: the server speaks ${name}: give --naming=${name}, or leave the flag out`,
    });
  });
}

test('a server that is no API server is reported', async t => {
  await using server = await serve(answering(() => json({hello: 1})));
  await using connection = await connect(settings(server), {clock: systemClock});

  await t.throwsAsync(chosenNaming('auto', connection, options), {message: /is it an API server/});
  t.is((await chosenNaming('plat', connection, options)).name, 'plat', 'the flag applies where the server sends no warning');
});

test('a whole collection is read page by page, and in one piece when its revision is gone', async t => {
  const requested: string[] = [];
  const page = (names: string[], next?: string) =>
    json({
      metadata: {resourceVersion: '7', ...(next ? {continue: next, remainingItemCount: 1} : {})},
      items: names.map(name => ({metadata: {name}})),
    });
  let expired = false;
  await using environment = await anEnvironment(
    answering(({url}: ApiRequest) => {
      requested.push(url.split('?')[1]!);
      if (!url.includes('limit')) return page(['a', 'b', 'c']);
      if (!url.includes('continue')) return page(['a'], 'next');
      return expired ? json(statusError('Expired', 'gone').status, 410) : page(['b']);
    }),
  );
  const maps = environment.client.resource(kinds.configMaps);

  const paged = await listAll(maps, {limit: 1, resourceVersion: '0', labelSelector: 'x=y'});
  expired = true;
  const whole = await listAll(maps, {limit: 1, labelSelector: 'x=y'});

  t.deepEqual(
    paged.items.map(({metadata}) => metadata?.name),
    ['a', 'b'],
  );
  t.deepEqual(paged.metadata, {resourceVersion: '7'});
  t.is(whole.items.length, 3);
  t.deepEqual(requested, [
    'labelSelector=x%3Dy&limit=1&resourceVersion=0',
    'labelSelector=x%3Dy&limit=1&continue=next',
    'labelSelector=x%3Dy&limit=1',
    'labelSelector=x%3Dy&limit=1&continue=next',
    'labelSelector=x%3Dy',
  ]);
});

const reply = (status: number, retryAfter?: string): Reply => ({
  status,
  header: name => (name === 'retry-after' ? retryAfter : undefined),
  body: undefined,
});

const callerOf = (answer: () => Reply): Caller & {readonly calls: number} => {
  const caller = {
    calls: 0,
    call: () => {
      caller.calls++;
      return Promise.resolve(answer());
    },
    watch: () => Promise.resolve(undefined),
  };
  return caller;
};

const call = {method: 'GET', path: '/'};

test('calls beyond the burst wait for their turn', async t => {
  const clock = new VirtualClock();
  const inner = callerOf(() => reply(200));
  const caller = limited(inner, {qps: 10, burst: 3}, {clock});

  const all = Promise.all(Array.from({length: 8}, () => caller.call(call)));
  await clock.drain();
  t.is(inner.calls, 3);
  await clock.advance(250);
  t.is(inner.calls, 5);
  await clock.advance(1000);
  await all;
  t.is(inner.calls, 8);
});

test('a negative rate sets no limit', t => {
  const inner = callerOf(() => reply(200));

  t.is(limited(inner, {qps: -1, burst: 0}, {clock: new VirtualClock()}), inner);
});

test('a request answered with Retry-After is retried after that time, ten times at most', async t => {
  const clock = new VirtualClock();
  const inner = callerOf(() => reply(429, '2'));
  const result = retrying(inner, {clock}).call(call);

  await clock.advance(3000);
  t.is(inner.calls, 2);
  await clock.advance(60_000);

  t.is((await result).status, 429);
  t.is(inner.calls, 11);
});

test('a refusal without Retry-After, and an aborted wait, are not retried', async t => {
  const clock = new VirtualClock();
  const plain = callerOf(() => reply(500));
  const forever = callerOf(() => reply(503, '1000'));
  const stop = new AbortController();

  t.is((await retrying(plain, {clock}).call(call)).status, 500);
  const waiting = retrying(forever, {clock}).call({...call, signal: stop.signal});
  await clock.drain();
  stop.abort(new Error('enough'));

  t.is(plain.calls, 1);
  await t.throwsAsync(waiting, {message: 'enough'});
});

const untilTrue = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
};
