import {once} from 'node:events';
import http2 from 'node:http2';
import https from 'node:https';
import {createServer, type AddressInfo, type Socket} from 'node:net';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {dialer} from '#src/transport/dial.js';
import {connections} from '#src/transport/http1/connections.js';
import {relayCall} from '#src/transport/relay/call.js';
import {answering, ask1, bothVersions, serve} from '#test/serving/server.js';
import {aBackend} from './backend.js';
import {messageOf, pool, relaying, to} from './relaying.js';

test('a backend that keeps silent is given up after the time it has', async t => {
  await using backend = await aBackend(() => {}, {upgrade: () => {}});
  await using server = await relaying(backend, {timeoutMs: 20});

  t.is(messageOf((await ask1(server)).body), 'net/http: timeout awaiting response headers');
});

test('a backend that does not answer the TLS handshake is dropped after the connect timeout', async t => {
  const silent = createServer(socket => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const {port} = silent.address() as AddressInfo;
  await using backend = await aBackend(() => {});
  await using server = await relaying(backend, {to: {scheme: 'https', host: '127.0.0.1', port: String(port), connectTimeoutMs: 30}});

  t.is(messageOf((await ask1(server)).body), `dial tcp 127.0.0.1:${port}: i/o timeout`);
  silent.close();
});

test('a connection whose handshake takes too long is closed as its dialling is given up', async t => {
  const silent = createServer(socket => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const network = systemNetwork(systemClock);
  const opened: Socket[] = [];
  const recording: Network = {
    ...network,
    async dial(...address) {
      const socket = (await network.dial(...address)) as Socket;
      opened.push(socket);
      return socket;
    },
  };
  const target = {scheme: 'https', host: '127.0.0.1', port: String((silent.address() as AddressInfo).port), connectTimeoutMs: 20} as const;

  await t.throwsAsync(dialer(recording, systemClock)(target), {message: /i\/o timeout/});

  t.deepEqual(
    opened.map(({destroyed}) => destroyed),
    [true],
  );
  silent.close();
});

test('a client that disconnects while the backend is being dialled is not kept waiting', async t => {
  await using backend = await aBackend(() => {});
  const clock = new VirtualClock(); // On which no attempt to reach anybody ever takes too long.
  using own = connections({dial: dialer(systemNetwork(clock), clock), clock});
  const leaving = new AbortController();
  const request = {
    method: 'GET',
    url: '/',
    headers: {},
    caller: {user: {name: 'a', groups: []}},
    remoteAddress: '',
    signal: leaving.signal,
  };
  const call = relayCall(own, {request, to: {scheme: 'https', host: '127.0.0.1', port: backend.port}, path: '/'});
  leaving.abort();

  await t.throwsAsync(call, {message: 'context canceled'});
});

test('a kept connection that the backend closed is replaced, for requests that may be repeated', async t => {
  await using backend = await aBackend((request, response) => {
    response.end('here');
    if (request.url === '/last') response.once('close', () => setImmediate(() => request.socket.destroy()));
  });
  await using server = await relaying(backend);

  await ask1(server, {path: '/last'});
  const answers = await Promise.all([ask1(server), ask1(server)]);

  t.deepEqual(
    answers.map(({body}) => body.toString()),
    ['here', 'here'],
  );
});

for (const [version, ask] of bothVersions) {
  test(`headers about the body are right for the relayed request (${version})`, async t => {
    await using backend = await aBackend((request, response) => {
      const {'content-length': length, 'transfer-encoding': encoding} = request.headers;
      void request.toArray().then(chunks => response.end(`${length} ${encoding} ${Buffer.concat(chunks as Buffer[]).toString()}`));
    });
    await using server = await relaying(backend);
    const reported = async (question: Parameters<typeof ask>[1]) => (await ask(server, question)).body.toString();

    t.is(await reported({body: 'of a GET', headers: {'content-length': '8'}}), '8 undefined of a GET');
    t.is(await reported({method: 'POST', body: 'of a POST', headers: {'content-length': '9'}}), '9 undefined of a POST');
    t.is(await reported({method: 'DELETE'}), 'undefined undefined ');
    t.is(await reported({method: 'PUT', body: '', headers: {'content-length': '0'}}), '0 undefined ');
    t.is(await reported({}), 'undefined undefined ');
  });
}

test('a length without a body does not turn later bytes into the body', async t => {
  await using backend = await aBackend((request, response) => void request.toArray().then(() => response.end(request.url)));
  await using server = await serve(
    answering(({method, url, headers, remoteAddress, signal, caller}) =>
      relayCall(pool, {request: {method, url, headers, remoteAddress, signal, caller}, to: to(backend), path: url}),
    ),
  );

  const answers = [
    await ask1(server, {path: '/one', body: 'x'.repeat(20), headers: {'content-length': '20'}}),
    await ask1(server, {path: '/two'}),
  ];

  t.deepEqual(
    answers.map(({body}) => body.toString()),
    ['/one', '/two'],
  );
});

test('an answer that comes before the body is through is given', async t => {
  await using backend = await aBackend((request, response) => {
    request.pause();
    response.writeHead(413).end('too much');
  });
  await using server = await relaying(backend);
  const outgoing = https
    .request({host: '127.0.0.1', port: server.port, ca: server.ca, agent: false, method: 'POST', headers: {'transfer-encoding': 'chunked'}})
    .on('error', () => {});
  outgoing.write(Buffer.alloc(1 << 20));

  const [answer] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  outgoing.destroy();

  t.is(answer.statusCode, 413);
});

test('the caller is read from no faster than the backend takes, and the backend no faster than the caller', async t => {
  let taken = 0;
  let given = 0;
  await using backend = await aBackend((request, response) => {
    if (request.method === 'POST') return void request.socket.pause();
    const more = (): void => {
      while (response.write(Buffer.alloc(64 << 10))) given += 64 << 10;
      response.once('drain', more);
    };
    more();
  });
  await using server = await relaying(backend);
  const base = {host: '127.0.0.1', port: server.port, ca: server.ca, agent: false} as const;
  const posted = https.request({...base, method: 'POST', headers: {'transfer-encoding': 'chunked'}}).on('error', () => {});
  const send = (): void => {
    while (taken < 64 << 20 && posted.write(Buffer.alloc(64 << 10))) taken += 64 << 10;
    posted.once('drain', send);
  };
  send();
  const got = https.get(base).on('error', () => {});
  const [answer] = (await once(got, 'response')) as [import('node:http').IncomingMessage];
  answer.on('error', () => {});
  for (let quiet = 0, before = 0; quiet < 300; quiet = before === taken + given ? quiet + 1 : 0) {
    before = taken + given;
    await new Promise(setImmediate);
  }
  posted.destroy();
  got.destroy();

  t.true(taken < 32 << 20, `${taken} bytes were taken for a backend that reads none`);
  t.true(given < 32 << 20, `${given} bytes were given to a caller that reads none`);
});

test('a client over HTTP/2 that is still sending when the response is complete may stop', async t => {
  await using backend = await aBackend((request, response) => {
    request.pause();
    response.writeHead(413).end('too much');
  });
  await using server = await relaying(backend);
  const session = http2.connect(server.url, {ca: server.ca});
  const stream = session.request({':method': 'POST', ':path': '/'}, {endStream: false});
  stream.write('begun');
  const received: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => received.push(chunk));
  await once(stream, 'close');
  session.destroy();

  t.deepEqual([Buffer.concat(received).toString(), stream.rstCode], ['too much', http2.constants.NGHTTP2_NO_ERROR]);
});
