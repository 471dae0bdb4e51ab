import {once} from 'node:events';
import {createServer, type ServerHttp2Stream} from 'node:http2';
import {mkdtemp} from 'node:fs/promises';
import {createServer as createTcp, connect, type AddressInfo, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {GrpcChannel, GrpcError} from '#src/transport/grpc/channel.js';
import {frameOf, Frames} from '#src/transport/grpc/frames.js';
import {BrokenMessage, MessageWriter, readMessage} from '#src/transport/grpc/message.js';

test('fields come back as they were written, whatever their size', t => {
  const integers = [1, 127, 128, 300, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER];
  const writer = new MessageWriter()
    .flag(2, true)
    .bytes(3, 'ä€')
    .message(4, new MessageWriter().int(1, 7))
    .int(20, 0)
    .bytes(21, '')
    .present(22, 0);
  for (const value of integers) writer.int(1, value);
  const read: unknown[] = [];

  readMessage(writer.finish(), {
    1: field => read.push(field.int),
    2: field => read.push(field.flag),
    3: field => read.push(field.text),
    4: field => readMessage(field.bytes, {1: inner => read.push([inner.int])}),
    20: () => t.fail(),
    21: () => t.fail(),
    22: field => read.push(field.int),
  });

  t.deepEqual(read, [true, 'ä€', [7], 0, ...integers]);
});

test('a message that is cut off is refused', t => {
  const whole = new MessageWriter().bytes(3, 'text').int(1, 300).finish();

  for (const length of [1, 3, whole.length - 1]) t.throws(() => readMessage(whole.subarray(0, length), {}), {instanceOf: BrokenMessage});
});

test('messages are whole however their bytes are chopped up', t => {
  const messages = ['', 'a', 'x'.repeat(1000)].map(text => Buffer.from(text));
  const wire = Buffer.concat(messages.map(frameOf));

  for (const size of [1, 2, 5, 7, 999, wire.length]) {
    const frames = new Frames();
    const received: Buffer[] = [];
    for (let at = 0; at < wire.length; at += size) received.push(...frames.push(wire.subarray(at, at + size)));
    t.deepEqual(received, messages);
  }
  t.throws(() => new Frames().push(Buffer.of(1, 0, 0, 0, 0)), {message: /compressed/});
});

/** A server that does one thing with every call. */
const serving = async (act: (stream: ServerHttp2Stream) => void, path?: string) => {
  const state = {url: '', sessions: 0, pings: 0};
  const server = createServer();
  const sessions = new Set<{destroy(): void}>();
  server.on('session', session => {
    state.sessions++;
    sessions.add(session);
    session.on('ping', () => state.pings++);
  });
  server.on('stream', act);
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  state.url = path === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix://${path}`;
  const stop = (): void => {
    for (const session of sessions) session.destroy();
    server.close();
  };
  return Object.assign(state, {stop});
};

/** A relay to a server, and its sockets. */
const relay = async (target: string) => {
  const sockets: Socket[] = [];
  const proxy = createTcp(inner => {
    const outer = connect(Number(new URL(target).port), '127.0.0.1');
    inner.pipe(outer).pipe(inner);
    sockets.push(inner, outer);
    for (const socket of [inner, outer]) socket.on('error', () => {});
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  };
  return {url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, sockets, close};
};

const answering = (stream: ServerHttp2Stream): void => {
  stream.respond({':status': 200}, {waitForTrailers: true});
  stream.on('wantTrailers', () => stream.sendTrailers({'grpc-status': '0'}));
  stream.end(frameOf(Buffer.from('answer')));
};

test('a call is answered, by the next server when the first is not there', async t => {
  const [gone, server] = [await serving(answering), await serving(answering)];
  gone.stop();
  await using channel = new GrpcChannel({servers: [gone.url, server.url], clock: systemClock});

  t.is((await channel.call('/a/B', Buffer.alloc(0), 5000)).toString(), 'answer');
  server.stop();
});

const refusals: readonly [string, (stream: ServerHttp2Stream) => void, number, RegExp, boolean][] = [
  [
    'what a server refuses with',
    stream => stream.respond({':status': 200, 'grpc-status': '5', 'grpc-message': 'not %C3%A4 there'}, {endStream: true}),
    5,
    /^not ä there$/,
    false,
  ],
  ['an answer of another kind of server', stream => stream.respond({':status': 404}, {endStream: true}), 14, /404/, false],
  ['a connection that breaks', stream => stream.session?.destroy(), 14, /./, false],
  ['no answer in time', () => {}, 4, /not answered within 0\.2 s/, false],
];
for (const [title, act, code, message, unsent] of refusals)
  test(`${title} is returned as it is`, async t => {
    const server = await serving(act);
    await using channel = new GrpcChannel({servers: [server.url], clock: systemClock});

    const error = await t.throwsAsync(channel.call('/a/B', Buffer.alloc(0), 200), {instanceOf: GrpcError, message});

    t.deepEqual([error?.code, error?.unsent], [code, unsent]);
    server.stop();
  });

test('a call without an available server was never sent', async t => {
  const server = await serving(answering);
  server.stop();
  await using channel = new GrpcChannel({servers: [server.url], clock: systemClock});

  const error = await t.throwsAsync(channel.call('/a/B', Buffer.alloc(0), 200), {
    instanceOf: GrpcError,
    message: /connect: connection refused/,
  });

  t.true(error?.unsent);
});

test('the time limit of a call includes the connection', async t => {
  const sockets: Socket[] = [];
  const silent = createTcp(socket => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const servers = [`http://127.0.0.1:${(silent.address() as AddressInfo).port}`];
  await using channel = new GrpcChannel({servers, clock: systemClock, connectTimeoutMs: 400});

  const error = await t.throwsAsync(channel.call('/a/B', Buffer.alloc(0), 100), {
    instanceOf: GrpcError,
    message: 'there was no connection for /a/B within 0.1 s',
  });

  t.deepEqual([error?.code, error?.unsent], [4, true]);
  for (const socket of sockets) socket.destroy();
  silent.close();
});

test('a call ends at its time limit although the connection is stuck with what was sent', async t => {
  const server = await serving(answering);
  const {url, sockets, close} = await relay(server.url);
  await using channel = new GrpcChannel({servers: [url], clock: systemClock});
  await channel.call('/a/B', Buffer.alloc(0), 5000);

  for (const socket of sockets) socket.unpipe().pause();
  const calls = Array.from({length: 40}, () => channel.call('/a/B', Buffer.alloc(1 << 20), 300));
  const outcomes = await Promise.allSettled(calls);

  const codes = outcomes.map(outcome => outcome.status === 'rejected' && (outcome.reason as GrpcError).code);
  t.deepEqual([...new Set(codes)], [4]);
  close();
  server.stop();
});

test('a connection is used once it was verified by calls of its own, and another server is tried if it is refused', async t => {
  const [wrong, right] = [await serving(answering), await serving(answering)];
  const verified: string[] = [];
  await using channel = new GrpcChannel({
    servers: [wrong.url, right.url],
    clock: systemClock,
    verify: async call => {
      verified.push(String(await call('/a/Verify', Buffer.alloc(0))));
      if (verified.length === 1) throw new Error('another history');
    },
  });

  const answers = await Promise.all([1, 2].map(() => channel.call('/a/B', Buffer.alloc(0), 5000)));

  t.deepEqual(answers.map(String), ['answer', 'answer']);
  t.deepEqual(verified, ['answer', 'answer']);
  t.deepEqual([wrong.sessions, right.sessions], [1, 1]);
  wrong.stop();
  right.stop();
});

test('a server at a unix socket is called like any other, over one connection', async t => {
  const path = join(await mkdtemp(join(tmpdir(), 'plat-grpc-')), 'socket');
  const server = await serving(answering, path);
  await using channel = new GrpcChannel({servers: [server.url], clock: systemClock});

  const answers = await Promise.all([1, 2, 3].map(() => channel.call('/a/B', Buffer.alloc(0), 5000)));

  t.deepEqual(answers.map(String), ['answer', 'answer', 'answer']);
  t.is(server.sessions, 1);
  server.stop();
  await using other = new GrpcChannel({servers: [`unix://${path}x`], clock: systemClock});
  await t.throwsAsync(other.call('/a/B', Buffer.alloc(0), 200), {
    message: `unix://${path}x: transport: Error while dialing: dial unix ${path}x: connect: no such file or directory`,
  });
});

test('a connection is pinged only as configured', async t => {
  const server = await serving(answering);
  const clock = new VirtualClock();
  await using quiet = new GrpcChannel({servers: [server.url], clock});
  await quiet.call('/a/B', Buffer.alloc(0), 5000);
  await clock.advance(3_600_000);
  await quiet.call('/a/B', Buffer.alloc(0), 5000);
  t.deepEqual([server.pings, server.sessions], [0, 1]);

  await using pinging = new GrpcChannel({servers: [server.url], clock, pings: {everyMs: 30_000, timeoutMs: 10_000}});
  await pinging.call('/a/B', Buffer.alloc(0), 5000);
  await clock.advance(30_000);
  while (server.pings === 0) await new Promise(setImmediate);
  t.is(server.sessions, 2);
  server.stop();
});

test('a server that no longer answers pings is disconnected, and the next call uses a new connection', async t => {
  const server = await serving(stream => {
    if (server.sessions === 1) stream.respond({':status': 200});
    else answering(stream);
  });
  const {url, sockets, close} = await relay(server.url);
  const clock = new VirtualClock();
  await using channel = new GrpcChannel({servers: [url], clock, pings: {everyMs: 30_000, timeoutMs: 10_000}});
  const ends: (GrpcError | undefined)[] = [];
  using _ = await channel.stream('/a/Watch', {}, {message: () => {}, ended: error => void ends.push(error)});

  for (const socket of sockets) socket.unpipe().pause();
  await clock.advance(39_000);
  t.deepEqual(ends, []);
  await clock.advance(1000);
  while (ends.length === 0) await new Promise(setImmediate);

  t.is(ends[0]?.message, 'the connection fell silent');
  t.is((await channel.call('/a/B', Buffer.alloc(0), 5000)).toString(), 'answer');
  close();
  server.stop();
});
