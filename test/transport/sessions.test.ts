import test from 'ava';
import {once} from 'node:events';
import {connect as connectTcp, createServer, type AddressInfo, type Socket} from 'node:net';
import {constants, createServer as createHttp2Server, type ClientHttp2Stream, type ServerHttp2Stream} from 'node:http2';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openSession, Sessions} from '#src/transport/http2/sessions.js';
import {streamed} from '#src/transport/http2/streamed.js';

/** A server that takes one stream at a time on a connection, and serves so many connections. */
const aServer = async (connections: number) => {
  const streams: ServerHttp2Stream[] = [];
  const http2 = createHttp2Server({settings: {maxConcurrentStreams: 1}}).on('stream', stream => {
    stream.on('error', () => {});
    streams.push(stream);
  });
  const state = {streams, served: 0, held: [] as Socket[]};
  const server = createServer(socket => {
    socket.on('error', () => {});
    if (state.served < connections) http2.emit('connection', socket);
    else state.held.push(socket);
    state.served++;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  const sessions = new Sessions({
    clock: new VirtualClock(),
    open: () =>
      openSession({
        clock: new VirtualClock(),
        origin: `http://127.0.0.1:${port}`,
        connect: async () => connectTcp(port, '127.0.0.1').on('error', () => {}),
        windows: {stream: 1 << 16, session: 1 << 16},
        timeoutMs: 1000,
      }),
  });
  const begin = (): Promise<ClientHttp2Stream> => sessions.stream(session => session.request({':path': '/'}).on('error', () => {}));
  return Object.assign(state, {
    sessions,
    begin,
    async [Symbol.asyncDispose]() {
      for (const socket of state.held) socket.destroy();
      await sessions.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  });
};

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
};

/** Ends the oldest stream of the server. */
const answer = (streams: ServerHttp2Stream[]): void => {
  const stream = streams.shift()!;
  stream.respond({':status': 204}, {endStream: true});
};

test('a stream without a place gets that of one that ends, also when no further connection is served', async t => {
  await using server = await aServer(1);
  const {streams, held} = server;
  (await server.begin()).resume();
  const others = [server.begin(), server.begin()];
  for (const other of others) {
    await until(() => streams.length === 1 && held.length > 0);
    answer(streams);
    (await other).resume();
    held.shift()!.destroy();
  }
  await until(() => streams.length === 1);

  t.true(server.served > 1);
});

test('streams without a place get those of a further connection', async t => {
  await using server = await aServer(3);
  await Promise.all([server.begin(), server.begin(), server.begin()]);
  await until(() => server.streams.length === 3);

  t.is(server.served, 3);
});

test('a stream fails if no connection has a place and none can be opened', async t => {
  await using server = await aServer(1);
  await server.begin();
  const waiting = t.throwsAsync(server.begin(), {message: /EOF|ECONNRESET/});
  await until(() => server.held.length === 1);
  server.held[0]!.destroy();
  await waiting;
});

test('streams that wait fail when the connections are destroyed', async t => {
  await using server = await aServer(1);
  await server.begin();
  const waiting = t.throwsAsync(server.begin(), {message: 'the connection was closed'});
  await until(() => server.held.length === 1);
  void server.sessions.destroy();
  await waiting;
});

const post = {method: 'POST', path: '/', headers: [], body: 'x', timeoutMs: 0};

test('a request that a server has not processed is sent again, also when it is not safe, as after each GOAWAY', async t => {
  await using server = await aServer(1);
  const {streams, sessions} = server;
  const reply = streamed(sessions, post, undefined);
  for (let refusals = 0; refusals < 3; refusals++) {
    await until(() => streams.length === 1);
    streams.shift()!.close(constants.NGHTTP2_REFUSED_STREAM);
  }
  await until(() => streams.length === 1);
  answer(streams);

  t.is((await reply)?.status, 204);
});

test('a request is not sent for ever to a server that processes none', async t => {
  await using server = await aServer(1);
  const {streams, sessions} = server;
  const reply = t.throwsAsync(streamed(sessions, post, undefined), {message: /NGHTTP2_REFUSED_STREAM/});
  for (let refusals = 0; refusals < 7; refusals++) {
    await until(() => streams.length === 1);
    streams.shift()!.close(constants.NGHTTP2_REFUSED_STREAM);
  }
  await reply;

  t.is(streams.length, 0);
});
