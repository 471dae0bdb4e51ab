import test from 'ava';
import {type Duplex, PassThrough, Readable, Writable} from 'node:stream';
import tls, {type TLSSocket} from 'node:tls';
import {gunzipSync} from 'node:zlib';
import type {ApiRequest, ApiResponse, PagedBody} from '#src/api/request.js';
import {badRequest, StatusError} from '#src/api/status.js';
import {sleep, systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {upgradeToWebSocket} from '#src/serving/agent/upgrade.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {sendBytes} from '#src/serving/pages.js';
import {aPair} from './credentials.js';
import {anEvent, answering, ask1, ask2, aWatch, bothVersions, json, serve, type TestServer} from './server.js';

for (const [version, ask] of bothVersions) {
  test(`${version}: a request reaches the handler as it was sent, and the answer comes back whole`, async t => {
    let seen: ApiRequest | undefined;
    await using server = await serve(
      answering(async request => {
        seen = request;
        const {body} = request;
        return json({got: body?.kind === 'bytes' ? (await body.read(100)).toString() : null}, 201, {
          'Audit-Id': 'a',
          Warning: ['299 - "one"', '299 - "zwölf"'],
        });
      }),
    );

    const answer = await ask(server, {
      method: 'POST',
      path: '/api/v1/namespaces/a%2Fb/pods?limit=1&limit=2',
      headers: {'impersonate-group': ['a,b', 'c'], 'user-agent': 'tester', 'content-type': 'application/json'},
      body: '{"x":"ü"}',
    });

    t.is(answer.status, 201);
    t.is(answer.headers['audit-id'], 'a');
    t.is(answer.headers['content-type'], 'application/json');
    t.truthy(answer.headers['date']);
    t.is(Buffer.from(String(answer.headers['warning']), 'latin1').toString(), '299 - "one", 299 - "zwölf"');
    t.is(answer.headers['content-length'], String(answer.body.length));
    t.deepEqual(JSON.parse(answer.body.toString()), {got: '{"x":"ü"}'});
    t.is(seen!.method, 'POST');
    t.is(seen!.url, '/api/v1/namespaces/a%2Fb/pods?limit=1&limit=2');
    t.is(seen!.remoteAddress, '127.0.0.1');
    t.deepEqual(seen!.headers['impersonate-group'], ['a,b', 'c']);
    t.is(seen!.headers['user-agent'], 'tester');
    t.is(seen!.headers['host'], `127.0.0.1:${server.port}`);
  });

  test(`${version}: the certificates of the caller are the same object for every request of a connection`, async t => {
    const seen: ApiRequest[] = [];
    await using server = await serve(answering(request => (seen.push(request), json({}))));
    const pair = await aPair(server.authority, {commonName: 'jane', organizations: ['dev']}, 'client auth');

    await ask(server, pair);
    await ask(server);

    const [first, second] = seen.map(({caller}) => ('credentials' in caller ? caller.credentials : undefined));
    t.is(first!.certificates.length, 2);
    t.true(first!.certificates[0]!.toString('latin1').includes('jane'));
    t.is(first!.connection, first!.connection);
    t.deepEqual(second!.certificates, []);
    t.not(first!.connection, second!.connection);
  });

  test(`${version}: a body above the limit is refused with the reason, whether its length was announced or not`, async t => {
    await using server = await serve(
      answering(async request => {
        try {
          if (request.body?.kind === 'bytes') await request.body.read(1000);
          return json({});
        } catch (error) {
          return json((error as StatusError).status, (error as StatusError).code);
        }
      }),
    );
    const body = Buffer.alloc(3_000_000, 'x');

    const announced = await ask(server, {method: 'POST', body, headers: {'content-length': String(body.length)}});
    const unannounced = await ask(server, {
      method: 'POST',
      body,
      ...(version === 'HTTP/1.1' ? {headers: {'transfer-encoding': 'chunked'}} : {}),
    });

    for (const {status, body: refusal} of [announced, unannounced]) {
      t.is(status, 413);
      t.is(JSON.parse(refusal.toString()).message, 'Request entity too large: limit is 1000');
    }
  });

  test(`${version}: large bodies are compressed for clients that accept it`, async t => {
    const big = {text: 'x'.repeat(200_000)};
    await using server = await serve(answering(({url}) => json(url === '/big' ? big : {small: true})));

    const packed = await ask(server, {path: '/big', headers: {'accept-encoding': 'br, gzip;q=0.5'}});
    const refused = await ask(server, {path: '/big', headers: {'accept-encoding': 'gzip;q=0'}});
    const small = await ask(server, {path: '/small', headers: {'accept-encoding': 'gzip'}});

    t.is(packed.headers['content-encoding'], 'gzip');
    t.is(packed.headers['vary'], 'Accept-Encoding');
    t.deepEqual(JSON.parse(gunzipSync(packed.body).toString()), big);
    t.is(refused.headers['content-encoding'], undefined);
    t.deepEqual(JSON.parse(refused.body.toString()), big);
    t.is(small.headers['content-encoding'], undefined);
  });

  test(`${version}: HEAD answers with the headers of GET and no body`, async t => {
    await using server = await serve(answering(() => json({a: 1})));

    const answer = await ask(server, {method: 'HEAD'});

    t.is(answer.status, 200);
    t.is(answer.headers['content-length'], '7');
    t.is(answer.body.length, 0);
  });

  test(`${version}: the signal aborts when the caller goes away, and not before`, async t => {
    let arrive: (request: ApiRequest) => void;
    const arrived = new Promise<ApiRequest>(resolve => {
      arrive = resolve;
    });
    await using server = await serve(answering(request => (arrive(request), new Promise(() => {}))));
    const requested = ask(server).catch(() => {});

    const {signal} = await arrived;
    t.false(signal.aborted);
    const aborted = new Promise(resolve => signal.addEventListener('abort', resolve));
    void server.listener.close();
    await aborted;

    t.is(signal.reason.message, 'the caller went away');
    await requested;
  });

  test(`${version}: a handler that breaks its promise becomes an internal error`, async t => {
    await using server = await serve(() => Promise.reject(new Error('boom')));

    const answer = await ask(server);

    t.is(answer.status, 500);
    t.is(JSON.parse(answer.body.toString()).message, 'Internal error occurred: boom');
    t.is(server.faults.length, 1);
  });

  test(`${version}: transport security and origins are answered as configured`, async t => {
    await using server = await serve(
      answering(() => json({})),
      {http: {hsts: ['max-age=1', 'includeSubDomains'], corsOrigins: ['^https://good\\.example$']}},
    );

    const plain = await ask(server);
    const good = await ask(server, {headers: {origin: 'https://good.example'}});
    const preflight = await ask(server, {method: 'OPTIONS', headers: {origin: 'https://good.example'}});
    const bad = await ask(server, {headers: {origin: 'https://good.example.evil'}});

    t.is(plain.headers['strict-transport-security'], 'max-age=1; includeSubDomains');
    t.is(good.headers['access-control-allow-origin'], 'https://good.example');
    t.is(preflight.status, 204);
    t.is(preflight.headers['access-control-allow-methods'], 'POST, GET, OPTIONS, PUT, DELETE, PATCH');
    t.is(bad.headers['access-control-allow-origin'], undefined);
  });
}

test('a request to upgrade to an unknown protocol is answered without upgrading', async t => {
  await using server = await serve(answering(({upgradable}) => json({upgradable})));

  for (const upgrade of ['SPDY/3.1', 'h2c', 'websocket']) {
    const answer = await ask1(server, {path: '/api/v1/pods', headers: {connection: 'upgrade', upgrade}});

    t.deepEqual([answer.status, answer.body.toString()], [200, '{"upgradable":true}'], upgrade);
  }
});

test('the body of a request to upgrade the connection cannot be read', async t => {
  await using server = await serve(
    answering(async ({body}) => json(await (body?.kind === 'bytes' ? body.read(10).catch((error: Error) => error.message) : 'none'))),
  );

  const answer = await ask1(server, {method: 'POST', headers: {connection: 'upgrade', upgrade: 'SPDY/3.1'}, body: 'x'});

  t.is(answer.body.toString(), '"a request to upgrade the connection cannot have a body"');
});

test('an answer in another protocol is refused where the connection cannot be taken, and let go', async t => {
  let dropped = 0;
  await using server = await serve(
    answering(() => ({status: 101, headers: {}, body: {kind: 'upgrade', take() {}, drop: () => void dropped++}})),
  );

  await t.throwsAsync(ask1(server));
  await t.throwsAsync(ask2(server));

  t.is(dropped, 2);
});

test('with a chance of one every HTTP/2 answer is followed by a GOAWAY', async t => {
  await using server = await serve(
    answering(() => json({})),
    {http: {goawayChance: 1}},
  );

  const answer = await ask2(server);

  t.is(answer.status, 200);
});

test('a body is made once, compressed or not', async t => {
  let made = 0;
  await using server = await serve(
    answering(({url}) => ({
      status: 200,
      headers: {},
      body: {
        kind: 'object',
        contentType: 'text/plain',
        object: () => ({}),
        bytes: () => (made++, Buffer.alloc(url === '/big' ? 200_000 : 10, 'x')),
      },
    })),
  );
  for (const [path, encoding] of [
    ['/big', 'gzip'],
    ['/big', 'identity'],
    ['/small', 'gzip'],
  ] as const) {
    made = 0;
    await ask1(server, {path, headers: {'accept-encoding': encoding}});
    t.is(made, 1, `${path} ${encoding}`);
  }
});

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

/** Waits for an effect of sockets alone. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(resolve => setImmediate(resolve));
};

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

/** The reports of a response on its sending, and whether that has ended. */
const aDelivery = (endsAt: number) => {
  const delivery = {endsAt, ended: 0, [Symbol.dispose]: () => void delivery.ended++};
  return delivery;
};

test('a reader that takes nothing holds one page, and is disconnected at the timeout of the request', async t => {
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
  t.is(deliveries.waitingBytes, 64 << 10);
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

test('when too many bytes wait for readers in total, the slowest readers are disconnected', t => {
  const deliveries = new Deliveries(new VirtualClock(), 1000);
  const outlets = [1, 2, 3, 4].map(() => new PassThrough().on('error', () => {}));
  const [a, b, c, d] = outlets.map(outlet => deliveries.send(outlet, undefined));
  a!.waits(300);
  b!.waits(300);
  c!.waits(300);
  a!.waits(250);
  b!.grows(390);
  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [false, false, false, false],
  );
  d!.waits(100);
  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [false, true, false, false],
  );
  t.is(deliveries.waitingBytes, 650);
  d!.waits(900);

  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [true, true, true, false],
  );
  t.deepEqual([deliveries.waitingBytes, deliveries.cutOff.bytes], [900, 3]);
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

test('clients whose deadlines end together are disconnected a few per turn of the event loop', async t => {
  const clock = new VirtualClock();
  const deliveries = new Deliveries(clock);
  const turns: number[] = [];
  let turn = 0;
  for (let client = 0; client < 40; client++) {
    const delivery = aDelivery(1000);
    deliveries.send({destroyed: false, destroy: () => void turns.push(turn), once: () => {}} as unknown as Duplex, delivery).waits(10);
  }
  const advanced = clock.advance(2000);
  for (; turns.length < 40; turn++) await new Promise(resolve => setImmediate(resolve));
  await advanced;

  t.is(deliveries.waitingBytes, 0);
  t.true(Math.max(...turns.map(each => turns.filter(other => other === each).length)) <= 16);
});

test('a long body is given to the connection in slices, each after the one before was taken', async t => {
  const body = Buffer.from(Array.from({length: 300_000}, (_, index) => index % 251));
  const deliveries = new Deliveries(systemClock);
  const taken: Buffer[] = [];
  const waited: number[] = [];
  const outlet = new Writable({
    write(chunk: Buffer, _, done) {
      taken.push(chunk);
      waited.push(deliveries.waitingBytes);
      setImmediate(done);
    },
  });
  await sendBytes(body, outlet, deliveries.send(outlet, undefined));

  t.true(Buffer.concat(taken).equals(body));
  t.is(Math.max(...taken.map(({length}) => length)), 64 << 10);
  t.deepEqual(waited, [300_000, 234_464, 168_928, 103_392, 37_856]);
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
    upgradeToWebSocket(request, '', systemClock, client => client.onMessage(() => void turns.push(turn)));
  await using server = await serve(answering(handler));
  const socket = await stalled(
    server,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
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
    upgradeToWebSocket(request, '', clock, client => client.onMessage(message => void received.push(message.length)));
  await using server = await serve(answering(exchange), {http: {clock, deliveries}});
  const socket = await stalled(
    server,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
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
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
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

test('a method that HTTP does not name reaches the handler like any other', async t => {
  await using server = await serve(answering(({method, url, headers}) => json({method, url, custom: headers['x-custom']}, 405)));
  const answer = await ask1(server, {method: 'FROB', path: '/api/v1/pods?a=b', headers: {'X-Custom': 'é '}});

  t.is(answer.status, 405);
  t.deepEqual(JSON.parse(answer.body.toString()), {method: 'FROB', url: '/api/v1/pods?a=b', custom: 'é'});
  t.is(answer.headers['connection'], 'close');
});

for (const text of ['FR(B / HTTP/1.1\r\nHost: a\r\n\r\n', 'FROB / HTTP/1.1\r\nHost a\r\n\r\n', 'FROB /\r\n\r\n']) {
  test(`invalid requests are refused in plain text: ${JSON.stringify(text)}`, async t => {
    await using server = await serve(answering(() => json({})));
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['http/1.1']}, () =>
      socket.write(text),
    );
    const chunks: Buffer[] = [];
    await new Promise(resolve =>
      socket
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .once('close', resolve)
        .on('error', () => {}),
    );

    t.is(
      Buffer.concat(chunks).toString(),
      'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request',
    );
  });
}
