import test from 'ava';
import {once} from 'node:events';
import net from 'node:net';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {type HttpConnection, connect} from '#src/transport/client/http-connection.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {type TestServer, aWatch, anEvent, answering, json, serve} from '#test/serving/server.js';

const settingsFor = (server: TestServer, url = server.url): ConnectionSettings => ({
  server: url,
  trust: {ca: {data: server.ca}},
  identity: {},
  source: 'test',
});

const watchRequest = {method: 'GET', path: '/watch', headers: {}};

/** A stream whose text and end the test can look at. */
const streamed = async (connection: HttpConnection, signal?: AbortSignal) => {
  const state: {text: string; end: unknown; isOver: boolean} = {text: '', end: undefined, isOver: false};
  const reply = await connection.stream(
    {...watchRequest, signal},
    {
      data(chunk) {
        state.text += chunk.toString();
      },
      end(error) {
        state.end = error;
        state.isOver = true;
      },
    },
  );
  return Object.assign(state, {reply});
};

const untilTrue = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
};

test('streams share connections as far as the server lets them', async t => {
  const watch = aWatch();
  await using server = await serve(
    answering(() => watch.response),
    {listener: {maxStreamsPerConnection: 2}},
  );
  await using connection = await connect(settingsFor(server), {clock: systemClock});

  const streams = await Promise.all(Array.from({length: 5}, () => streamed(connection)));
  t.is(server.listener.connections, 3);
  for (const sink of watch.sinks) sink.event(anEvent('ADDED', {}));
  await untilTrue(() => streams.every(({text}) => text.endsWith('\n')));
  for (const sink of watch.sinks) sink.end();
  await untilTrue(() => streams.every(({isOver}) => isOver));

  t.true(streams.every(({end}) => end === undefined));
});

test('streams are probed over HTTP/2 alone', async t => {
  for (const disableHttp2 of [false, true]) {
    await using server = await serve(
      answering(() => json({})),
      {listener: {disableHttp2}},
    );
    await using connection = await connect(settingsFor(server), {clock: systemClock});
    t.is(await connection.isProbed(), !disableHttp2);
    await server.listener.close();
    if (!disableHttp2) await untilTrue(() => server.listener.connections === 0);
  }
  await using unreachable = await connect({server: 'https://127.0.0.1:1', trust: {}, identity: {}, source: 'test'}, {clock: systemClock});
  await t.throwsAsync(unreachable.isProbed(), {message: 'https://127.0.0.1:1: connection refused'});
});

test('a server without HTTP/2 streams nevertheless', async t => {
  const watch = aWatch();
  await using server = await serve(
    answering(() => watch.response),
    {listener: {disableHttp2: true}},
  );
  await using connection = await connect(settingsFor(server), {clock: systemClock});

  const streams = await Promise.all([streamed(connection), streamed(connection), streamed(connection)]);
  watch.sinks[2]!.event(anEvent('ADDED', {}));
  await untilTrue(() => streams.some(({text}) => text.endsWith('\n')));

  t.is(server.listener.connections, 3);
});

test('a refused stream is an answer like any other', async t => {
  await using server = await serve(answering(() => json({no: 'way'}, 403)));
  await using connection = await connect(settingsFor(server), {clock: systemClock});

  const {reply} = await streamed(connection);

  t.is(reply?.status, 403);
  t.is(reply?.header('content-type'), 'application/json');
  t.is(reply?.body.toString(), '{"no":"way"}');
});

test('a server that sends clients away lets their streams go on', async t => {
  const watch = aWatch();
  await using server = await serve(
    answering(() => watch.response),
    {http: {goawayChance: 1}},
  );
  await using connection = await connect(settingsFor(server), {clock: systemClock});

  const first = await streamed(connection);
  const second = await streamed(connection);
  for (const sink of watch.sinks) sink.event(anEvent('ADDED', {}));
  await untilTrue(() => first.text !== '' && second.text !== '');

  t.is(server.listener.connections, 2);
  t.false(first.isOver || second.isOver);
});

test('a stream that is cut off ends with an error, one that is aborted ends without a word', async t => {
  const watch = aWatch();
  await using server = await serve(answering(() => watch.response));
  await using connection = await connect(settingsFor(server), {clock: systemClock});
  const stop = new AbortController();
  const aborted = await streamed(connection, stop.signal);
  const cut = await streamed(connection);

  stop.abort(new Error('enough'));
  await untilTrue(() => watch.stopped() === 1);
  await server.listener.close();
  await untilTrue(() => cut.isOver);

  t.true(cut.end instanceof Error);
  t.false(aborted.isOver);
});

test('a connection that falls silent is given up', async t => {
  const watch = aWatch();
  await using server = await serve(answering(() => watch.response));
  const pipes: net.Socket[] = [];
  const proxy = net.createServer(inner => {
    const outer = net.connect(server.port, '127.0.0.1');
    inner.pipe(outer).pipe(inner);
    pipes.push(inner, outer);
    for (const socket of [inner, outer]) socket.on('error', () => {});
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const clock = new VirtualClock();
  await using connection = await connect(settingsFor(server, `https://127.0.0.1:${(proxy.address() as net.AddressInfo).port}`), {clock});
  const stream = await streamed(connection);

  for (const socket of pipes) socket.unpipe().pause();
  await clock.advance(16_000);
  t.false(stream.isOver);
  await clock.advance(1_000);
  await untilTrue(() => stream.isOver);

  t.is((stream.end as Error).message, 'the connection fell silent');
  for (const socket of pipes) socket.destroy();
  proxy.close();
});

test('calls and streams share one connection, and a call that is repeated in parallel needs no other', async t => {
  const watch = aWatch();
  await using server = await serve(
    answering(async ({url, method, body}) => {
      if (url === '/watch') return watch.response;
      return json({method, body: body?.kind === 'bytes' ? (await body.read(1 << 20)).toString() : undefined}, 201);
    }),
  );
  await using connection = await connect(settingsFor(server), {clock: systemClock});

  await streamed(connection);
  const text = 'ü'.repeat(100_000);
  const posts = await Promise.all(
    Array.from({length: 5}, () => connection.send({method: 'POST', path: '/', headers: {'content-type': 'text/plain'}, body: text})),
  );

  t.is(server.listener.connections, 1);
  for (const {status, body} of posts) t.deepEqual([status, JSON.parse(body.toString())], [201, {method: 'POST', body: text}]);
});

test('the connection that shows that a server has no HTTP/2 is used for HTTP/1.1', async t => {
  await using server = await serve(
    answering(() => json({})),
    {listener: {disableHttp2: true}},
  );
  await using connection = await connect(settingsFor(server), {clock: systemClock});

  t.is((await connection.send(getRequest)).status, 200);

  t.is(server.listener.connections, 1);
});

const getRequest = {method: 'GET', path: '/', headers: {}};

/** A TCP proxy to a server, whose connections can be cut. */
const aCuttingProxy = async (server: TestServer) => {
  const pipes = new Set<net.Socket>();
  const proxy = net.createServer(inner => {
    const outer = net.connect(server.port, '127.0.0.1');
    inner.pipe(outer).pipe(inner);
    for (const socket of [inner, outer]) pipes.add(socket.on('error', () => {}));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const cut = () => {
    for (const socket of pipes) socket.destroy();
    pipes.clear();
  };
  return {
    url: `https://127.0.0.1:${(proxy.address() as net.AddressInfo).port}`,
    cut,
    [Symbol.dispose]() {
      cut();
      proxy.close();
    },
  };
};

for (const [method, requests] of [
  ['GET', 2],
  ['POST', 1],
] as const) {
  test(`a ${method} whose connection ends before a response is sent ${requests === 2 ? 'once more' : 'only once'}`, async t => {
    let seen = 0;
    let cut = () => {};
    await using server = await serve(
      answering(({url}) => {
        if (url === '/cut' && ++seen === 1) cut();
        return url === '/cut' && seen === 1 ? new Promise(() => {}) : json({});
      }),
    );
    using proxy = await aCuttingProxy(server);
    ({cut} = proxy);
    await using connection = await connect(settingsFor(server, proxy.url), {clock: systemClock});
    await connection.send(getRequest);

    const sent = connection.send({method, path: '/cut', headers: {}, ...(method === 'POST' ? {body: '{}'} : {})});

    if (method === 'GET') t.is((await sent).status, 200);
    else await t.throwsAsync(sent, {message: /^POST https:.*\/cut: /});
    t.is(seen, requests);
  });
}

/** Long enough for the answer to a ping. */
const untilAnswered = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));
};

test('a connection without requests is given up after a while, and another is opened for the next', async t => {
  const clock = new VirtualClock();
  await using server = await serve(answering(() => json({})));
  await using connection = await connect(settingsFor(server), {clock});

  await connection.send(getRequest);
  t.is(server.listener.connections, 1);
  // Each ping is answered before the next time passes.
  let passed = 0;
  for (; server.listener.connections > 0 && passed < 20; passed++) {
    await clock.advance(5_500);
    await untilAnswered();
  }

  t.is(server.listener.connections, 0);
  t.true(passed > 16, 'it was not given up for a missing answer');
  t.is((await connection.send(getRequest)).status, 200);
});
