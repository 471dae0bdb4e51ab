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
