import test from 'ava';
import {once} from 'node:events';
import {createServer, type AddressInfo, type Socket} from 'node:net';
import type {Clock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {dialer} from '#src/transport/dial.js';
import {callsTo, type Call} from '#src/transport/http1/calls.js';
import {connect} from '#src/transport/client/http-connection.js';
import {systemNetwork} from '#src/transport/network.js';
import {sources} from '#test/sources.js';

type Respond = (socket: Socket, request: {readonly connection: number; readonly nth: number}) => void;

/**
 * A server that acts on each request by its connection and its number on that, both from 1. It counts requests and open
 * connections.
 */
const aServer = async (respond: Respond) => {
  const state = {port: '', requests: 0, made: 0, open: new Set<Socket>()};
  const server = createServer(socket => {
    const connection = ++state.made;
    state.open.add(socket);
    socket.on('error', () => {}).once('close', () => state.open.delete(socket));
    let nth = 0;
    socket.on('data', () => {
      state.requests++;
      respond(socket, {connection, nth: ++nth});
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.port = String((server.address() as AddressInfo).port);
  return Object.assign(state, {
    [Symbol.asyncDispose]: async () => {
      for (const socket of state.open) socket.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  });
};

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

const callsOf = (port: string, clock: Clock) =>
  callsTo({scheme: 'http', host: '127.0.0.1', port}, {dial: dialer(systemNetwork(clock), clock), clock});

const get: Call = {method: 'GET', host: 'here', path: '/', headers: {}, body: '', timeoutMs: 10_000, maxBytes: 100};
const post: Call = {...get, method: 'POST', body: 'x'};

const untilTrue = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
};

const repeats: readonly (readonly [title: string, call: Call, answered: boolean, requests: number])[] = [
  ['a safe call is sent once more', get, true, 3],
  ['a call that may be repeated is sent once more', {...post, isRepeatable: true}, true, 3],
  ['another call fails', post, false, 2],
];
for (const [title, call, answered, requests] of repeats) {
  test(`when the server has closed the idle connection, ${title}`, async t => {
    await using server = await aServer((socket, {connection, nth}) =>
      connection === 1 && nth === 2 ? socket.destroy() : socket.write(ok),
    );
    const calls = callsOf(server.port, new VirtualClock());
    await calls.send(get);

    if (answered) t.is((await calls.send(call)).body.toString(), 'ok');
    else await t.throwsAsync(calls.send(call), {message: 'EOF'});

    t.is(server.requests, requests);
    calls.close();
  });
}

test('a call is not repeated on a new connection, nor more than once', async t => {
  await using server = await aServer((socket, {connection, nth}) => (connection === 1 && nth === 1 ? socket.write(ok) : socket.destroy()));
  const calls = callsOf(server.port, new VirtualClock());

  await calls.send(get);
  await t.throwsAsync(calls.send(get), {message: 'EOF'});
  t.is(server.requests, 3);
  await t.throwsAsync(calls.send(get), {message: 'EOF'});
  t.is(server.requests, 4);
  calls.close();
});

test('a call is not repeated once a byte of its response has come', async t => {
  await using server = await aServer((socket, {nth}) => (nth === 1 ? socket.write(ok) : socket.end('HTTP/1.1 20')));
  const calls = callsOf(server.port, new VirtualClock());

  await calls.send(get);
  await t.throwsAsync(calls.send(get));

  t.is(server.requests, 2);
  calls.close();
});

test('at most 25 idle connections to a server are kept, each for 90 s', async t => {
  const clock = new VirtualClock();
  const waiting: Socket[] = [];
  await using server = await aServer(socket => {
    waiting.push(socket);
    if (waiting.length === 40) for (const each of waiting) each.write(ok);
    else if (waiting.length > 40) socket.write(ok);
  });
  const calls = callsOf(server.port, clock);

  await Promise.all(Array.from({length: 40}, () => calls.send(get)));
  await untilTrue(() => server.open.size === 25);
  await clock.advance(60_000);
  await calls.send(get);
  t.is(server.made, 40);
  t.is(server.open.size, 25);
  await clock.advance(30_000);
  await untilTrue(() => server.open.size === 1);
  await clock.advance(60_000);
  await untilTrue(() => server.open.size === 0);
  calls.close();
  t.pass();
});

/** Undici uses a connection again only in a later turn of the event loop. */
const idle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve));
};

test('a client repeats a safe request once when the server has closed the idle connection, and no other', async t => {
  await using server = await aServer((socket, {nth}) => (nth === 1 ? socket.write(ok) : socket.destroy()));
  const settings = {server: `http://127.0.0.1:${server.port}`, trust: {}, identity: {}, source: 'test'};
  await using client = await connect(settings, {clock: new VirtualClock()});
  const request = {method: 'GET', path: '/', headers: {}};

  await client.send(request);
  await idle();
  t.is((await client.send(request)).body.toString(), 'ok');
  t.deepEqual([server.requests, server.made], [3, 2]);
  await idle();
  await t.throwsAsync(client.send({...request, method: 'POST', body: 'x'}), {message: /^POST .*: other side closed$/});
  t.deepEqual([server.requests, server.made], [4, 2]);
});

test('a client does not repeat a request whose response has begun', async t => {
  await using server = await aServer((socket, {nth}) =>
    nth === 1 ? socket.write(ok) : socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'),
  );
  const settings = {server: `http://127.0.0.1:${server.port}`, trust: {}, identity: {}, source: 'test'};
  await using client = await connect(settings, {clock: new VirtualClock()});
  const request = {method: 'GET', path: '/', headers: {}};

  await client.send(request);
  await idle();
  await t.throwsAsync(client.send(request));
  t.deepEqual([server.requests, server.made], [2, 1]);
});

test('connections are kept in two places only, as docs/connections.md explains', t => {
  const keepers = sources('src').filter(
    ({code, imports}) =>
      /\b(?:new|extends) (?:https?\.)?Agent\b/.test(code) ||
      imports.some(({specifier, typeOnly}) => !typeOnly && /^undici(?:$|.*dispatcher)/.test(specifier)),
  );

  t.deepEqual(keepers.map(({path}) => path).sort(), ['src/transport/http1/connections.ts', 'src/transport/http1/pool.ts']);
});
