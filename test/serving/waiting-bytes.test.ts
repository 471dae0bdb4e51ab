import test from 'ava';
import {once} from 'node:events';
import http2 from 'node:http2';
import {type Duplex, Readable, Writable} from 'node:stream';
import {finished} from 'node:stream/promises';
import tls, {type TLSSocket} from 'node:tls';
import {gunzipSync} from 'node:zlib';
import type {ApiRequest, ApiResponse, PagedBody} from '#src/api/request.js';
import {badRequest} from '#src/api/status.js';
import {sleep, systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {upgradeToWebSocket} from '#src/serving/agent/upgrade.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {pipeStream} from '#src/serving/http1-response.js';
import {sendBytes} from '#src/serving/pages.js';
import {aDelivery, until} from './deliveries.js';
import {anEvent, answering, aWatch, bothVersions, json, serve, type TestServer} from './server.js';

/** A collection of pages of 64 kB, without end unless `count` is given, and the number of pages read. */
const aCollection = (count = Infinity) => {
  const state = {requested: 0, closed: false};
  const body: PagedBody = {
    kind: 'pages',
    contentType: 'text/plain',
    next: () => Promise.resolve(state.requested < count ? Buffer.alloc(64 << 10, String(state.requested++ % 10)) : undefined),
    object: () => Promise.resolve(undefined),
    close() {
      state.closed = true;
    },
  };
  return {state, body};
};

/** Sends a request and does not read the response. */
const stalled = (server: TestServer, headers = ''): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['http/1.1']}, () => {
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
      socket.pause();
      resolve(socket);
    });
    socket.on('error', reject);
  });

for (const [version, ask] of bothVersions) {
  for (const encoding of ['identity', 'gzip']) {
    test(`${version}: a collection is sent page by page, ${encoding}`, async t => {
      const {body, state} = aCollection(20);
      await using server = await serve(answering(() => ({status: 200, headers: {}, body})));
      const answer = await ask(server, {headers: {'accept-encoding': encoding}});
      const text = (encoding === 'gzip' ? gunzipSync(answer.body) : answer.body).toString();

      t.is(answer.headers['content-encoding'], encoding === 'gzip' ? 'gzip' : undefined);
      t.is(answer.headers['content-length'], undefined);
      t.is(text, Array.from({length: 20}, (_, page) => String(page % 10).repeat(64 << 10)).join(''));
      await until(() => state.closed);
      t.deepEqual(server.faults, []);
    });
  }

  test(`${version}: a collection whose rest cannot be read breaks off`, async t => {
    const {body} = aCollection(3);
    const next = async () => (await body.next()) ?? Promise.reject(badRequest('gone'));
    await using server = await serve(answering(() => ({status: 200, headers: {}, body: {...body, next}})));

    await t.throwsAsync(ask(server));
    t.deepEqual(server.faults, []);
  });

  test(`${version}: HEAD of a collection reads none of it`, async t => {
    const {body, state} = aCollection(3);
    await using server = await serve(answering(() => ({status: 200, headers: {}, body})));
    const {status} = await ask(server, {method: 'HEAD'});

    t.deepEqual([status, state], [200, {requested: 0, closed: true}]);
  });
}

test('a reader that takes nothing holds two slices, and is disconnected at the timeout of the request', async t => {
  const clock = new VirtualClock();
  const deliveries = new Deliveries(clock);
  const {body, state} = aCollection();
  const delivery = aDelivery(60_000);
  await using server = await serve(
    answering(() => ({status: 200, headers: {}, body, delivery})),
    {http: {clock, deliveries}},
  );
  const socket = await stalled(server);
  // Until neither side takes any more: the buffers of sockets are full.
  for (let quiet = 0, pages = 0; quiet < 10; pages = state.requested) {
    await sleep(systemClock, 20);
    quiet = pages === state.requested && deliveries.waitingBytes > 0 ? quiet + 1 : 0;
  }
  t.is(deliveries.waitingBytes - (128 << 10), (16 << 10) + 'Hostx/'.length);
  await clock.advance(59_999);
  t.deepEqual([delivery.ended, state.closed], [0, false]);
  await clock.advance(1);

  t.deepEqual([delivery.ended, deliveries.waitingBytes, deliveries.cutOff.time], [1, 0, 1]);
  await until(() => state.closed);
  socket.destroy();
});

test('the sending of an answer ends with its last byte, or with its caller', async t => {
  const deliveries = new Deliveries(new VirtualClock());
  const given: ReturnType<typeof aDelivery>[] = [];
  const answers: ApiResponse['body'][] = [
    {kind: 'bytes', bytes: Buffer.alloc(1 << 20), contentType: 'text/plain'},
    {kind: 'empty'},
    {
      kind: 'object',
      contentType: 'text/plain',
      bytes: () => {
        throw new Error('unreadable');
      },
      object: () => undefined,
    },
  ];
  await using server = await serve(
    answering(({url}) => {
      const delivery = aDelivery(60_000);
      given.push(delivery);
      return {status: 200, headers: {}, body: answers[Number(url.slice(1))]!, delivery};
    }),
    {http: {deliveries}},
  );
  for (const [, ask] of bothVersions) for (const index of answers.keys()) await ask(server, {path: `/${index}`}).catch(() => undefined);
  await until(() => given.every(({ended}) => ended === 1));
  t.is(given.length, 6);

  const socket = await stalled(server);
  await until(() => given.length === 7);
  socket.destroy();
  await until(() => given[6]!.ended === 1);
  t.is(deliveries.waitingBytes, 0);
});

test('forty readers of a large list that take nothing stay within the bound of all waiting bytes', async t => {
  const deliveries = new Deliveries(systemClock, 10 * (64 << 10));
  await using server = await serve(
    answering(() => ({status: 200, headers: {}, body: aCollection().body})),
    {http: {deliveries}},
  );
  const sockets = await Promise.all(Array.from({length: 40}, () => stalled(server)));
  let most = 0;
  await until(() => {
    most = Math.max(most, deliveries.waitingBytes);
    return deliveries.cutOff.bytes >= 30;
  });

  t.true(most <= 10 * (64 << 10));
  for (const socket of sockets) socket.destroy();
});

test('answers on a connection that nobody reads keep no further request on it from being answered', async t => {
  const body = {kind: 'bytes', contentType: 'text/plain', bytes: Buffer.alloc(1 << 20)} as const;
  const deliveries = new Deliveries(systemClock);
  await using server = await serve(
    answering(({url}) => (url === '/long' ? {status: 200, headers: {}, body} : json({}))),
    {http: {deliveries}},
  );
  const session = http2.connect(server.url, {ca: server.ca});
  const answered = async (path: string): Promise<http2.ClientHttp2Stream> => {
    const stream = session.request({':path': path});
    stream.on('error', () => {}).pause();
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    t.is(Number(headers[':status']), 200);
    return stream;
  };
  await Promise.all(Array.from({length: 80}, () => answered('/long')));
  await until(() => deliveries.waitingBytes > 20 << 20);

  await Promise.all(Array.from({length: 10}, () => answered('/')));
  session.destroy();
});

test('a reader of a relayed stream that takes nothing counts in the waiting bytes', async t => {
  const deliveries = new Deliveries(systemClock, 1000);
  const source = new Readable({
    read() {
      this.push(Buffer.alloc(16 << 10));
    },
  });
  await using server = await serve(
    answering(() => ({status: 200, headers: {}, body: {kind: 'stream', contentType: 'text/plain', source}})),
    {http: {deliveries}},
  );
  const socket = await stalled(server);
  await until(() => deliveries.cutOff.bytes > 0);

  await until(() => source.destroyed);
  t.is(deliveries.waitingBytes, 0);
  socket.destroy();
});

test('what fills a stream that its reader does not read counts', async t => {
  const clock = new VirtualClock();
  const deliveries = new Deliveries(clock);
  const source = new Readable({read() {}});
  const outlet = new Writable({write() {}});
  pipeStream(source, outlet, deliveries.send(outlet, undefined));
  source.push(Buffer.alloc(100_000));
  await until(() => deliveries.waitingBytes === 100_000);
  source.push(Buffer.alloc(50_000));
  await clock.advance(1000);
  t.is(deliveries.waitingBytes, 150_000);

  outlet.destroy();
  await until(() => source.destroyed);
  t.is(deliveries.waitingBytes, 0);
  await clock.advance(1000);
  t.is(clock.pending, 0);
});

test('an answer that waits behind another ends with their connection', async t => {
  const {body, state} = aCollection();
  const requested: ApiRequest[] = [];
  await using server = await serve(
    answering(
      request => (requested.push(request), requested.length === 1 ? new Promise<ApiResponse>(() => {}) : {status: 200, headers: {}, body}),
    ),
  );
  const socket = await stalled(server, '\r\nGET / HTTP/1.1\r\nHost: x\r\n');
  await until(() => state.requested > 0);
  const {signal} = requested[1]!;
  t.deepEqual([state.closed, signal.aborted], [false, false]);
  socket.destroy();
  await until(() => state.closed);

  t.true(signal.aborted);
});

test('a long body is given to the connection in slices, one of which waits while another is taken', async t => {
  const body = Buffer.from(Array.from({length: 300_000}, (_, index) => index % 251));
  const deliveries = new Deliveries(systemClock);
  const taken: Buffer[] = [];
  const waited: number[] = [];
  const unsent: number[] = [];
  const outlet: Writable = new Writable({
    write(chunk: Buffer, _, done) {
      taken.push(chunk);
      waited.push(deliveries.waitingBytes);
      setImmediate(() => {
        unsent.push(outlet.writableLength);
        done();
      });
    },
  });
  await sendBytes(body, outlet, deliveries.send(outlet, undefined));
  await finished(outlet);

  t.true(Buffer.concat(taken).equals(body));
  t.is(Math.max(...taken.map(({length}) => length)), 64 << 10);
  t.is(Math.max(...unsent), 128 << 10);
  t.deepEqual([waited[0], waited.toSorted((a, b) => b - a), waited.at(-1)! < 128 << 10], [300_000, waited, true]);
  t.is(deliveries.waitingBytes, 0);
});

test('bytes waiting on an upgraded connection, and bytes buffered for it, count in the waiting bytes', async t => {
  const clock = new VirtualClock();
  const deliveries = new Deliveries(clock, 40 << 20);
  const taken: Duplex[] = [];
  let kept = 0;
  const take = (socket: Duplex, _: Buffer, keeps?: (bytes: () => number) => void) => {
    taken.push(socket);
    socket.write(Buffer.alloc(30 << 20));
    keeps?.(() => kept);
  };
  await using server = await serve(
    answering(() => ({status: 101, headers: {}, body: {kind: 'upgrade', take, drop() {}}})),
    {http: {clock, deliveries}},
  );
  const socket = await stalled(server, 'Connection: Upgrade\r\nUpgrade: other\r\n');
  await until(() => taken.length === 1);
  await clock.advance(1000);
  t.true(deliveries.waitingBytes > 10 << 20);
  t.is(deliveries.cutOff.bytes, 0);
  kept = 39 << 20;
  await clock.advance(1000);

  t.is(deliveries.cutOff.bytes, 1);
  t.is(deliveries.waitingBytes, 0);
  t.true(taken[0]!.destroyed);
  socket.destroy();
});

test('messages over WebSocket that come in one piece are taken one in each turn of the event loop', async t => {
  const turns: number[] = [];
  let turn = 0;
  const handler = (request: ApiRequest) =>
    upgradeToWebSocket(request, '', {clock: systemClock, idleMs: 0}, client => client.onMessage(() => void turns.push(turn)));
  await using server = await serve(answering(handler));
  const socket = await stalled(
    server,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://page\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
  );
  const message = Buffer.from([0x82, 0x81, 0, 0, 0, 0, 1]);
  const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
  socket.write(Buffer.concat(Array.from({length: 300}, () => [message, ping]).flat()));
  for (; turns.length < 300; turn++) await new Promise(resolve => setImmediate(resolve));

  t.true(new Set(turns).size > 150);
  socket.destroy();
});

test('an incomplete message over WebSocket counts in the waiting bytes', async t => {
  const clock = new VirtualClock();
  const deliveries = new Deliveries(clock);
  const received: number[] = [];
  const exchange = (request: ApiRequest) =>
    upgradeToWebSocket(request, '', {clock, idleMs: 0}, client => client.onMessage(message => void received.push(message.length)));
  await using server = await serve(answering(exchange), {http: {clock, deliveries}});
  const socket = await stalled(
    server,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://page\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
  );
  const frame = Buffer.alloc(14);
  frame.set([0x82, 0xff]);
  frame.writeUInt32BE(3 << 20, 6);
  socket.write(Buffer.concat([frame, Buffer.alloc(2 << 20)]));
  const look = async () => {
    await sleep(systemClock, 10);
    await clock.advance(1000);
    return deliveries.waitingBytes;
  };
  while ((await look()) < 1 << 20);
  t.deepEqual(received, []);
  socket.write(Buffer.alloc(1 << 20));
  await until(() => received.length === 1);

  t.is(received[0], 3 << 20);
  t.is(await look(), 0);
  socket.destroy();
});

test('a watcher over WebSocket that takes nothing counts in the waiting bytes, and its sender gets backpressure', async t => {
  const deliveries = new Deliveries(systemClock, 4 << 20);
  const {response, sinks} = aWatch();
  await using server = await serve(
    answering(() => response),
    {http: {deliveries}},
  );
  const socket = await stalled(
    server,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://page\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
  );
  await until(() => sinks.length === 1);
  const event = anEvent('ADDED', 'x'.repeat(64 << 10));
  let patience = 0;
  await until(() => {
    if (!sinks[0]!.event(event)) patience ||= deliveries.waitingBytes;
    return deliveries.cutOff.bytes > 0;
  });

  t.true(patience >= 1 << 20 && patience < 2 << 20);
  t.is(deliveries.waitingBytes, 0);
  socket.destroy();
});

test('a watcher that takes nothing counts in the waiting bytes', async t => {
  const deliveries = new Deliveries(systemClock, 1 << 20);
  const {response, sinks} = aWatch();
  await using server = await serve(
    answering(() => response),
    {http: {deliveries}},
  );
  const socket = await stalled(server);
  await until(() => sinks.length === 1);
  const event = anEvent('ADDED', 'x'.repeat(64 << 10));
  await until(() => {
    sinks[0]!.event(event);
    return deliveries.cutOff.bytes > 0;
  });

  t.is(deliveries.waitingBytes, 0);
  socket.destroy();
});
