import test from 'ava';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import {once} from 'node:events';
import type {ApiRequest} from '#src/api/request.js';
import {bindError, refusePortSharing} from '#src/serving/binding.js';
import {PacedActions} from '#src/serving/paced-actions.js';
import {listen} from '#src/serving/listener.js';
import {systemClock} from '#src/base/clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {aPair} from './credentials.js';
import {type TestServer, aWatch, anEvent, answering, ask1, ask2, bothVersions, json, serve} from './server.js';
import {turn} from './turns.js';

test('a port in use is reported in one line with the flags to change', async t => {
  await using server = await serve(answering(() => json({})));

  await t.throwsAsync(listen({clock: systemClock, bindAddress: '127.0.0.1', port: server.port, tls: {}, handler: server.http}), {
    message: `cannot listen on 127.0.0.1:${server.port} (--bind-address, --secure-port): the port is in use already: choose another, or 0 for a free one`,
  });
  await t.throwsAsync(listen({clock: systemClock, bindAddress: '192.0.2.1', port: 0, tls: {}, handler: server.http}), {
    message: 'cannot listen on 192.0.2.1:0 (--bind-address, --secure-port): the host has no such address',
  });
  for (const [address, other] of [
    ['127.0.0.1', '::1'],
    ['::1', '127.0.0.1'],
  ] as const)
    t.regex(
      bindError(Object.assign(new Error(), {code: 'EADDRNOTAVAIL'}), address, 6443).message,
      new RegExp(`the host has no such address: give --bind-address=${other}$`),
    );
});

test('port sharing is refused where the runtime cannot do it', t => {
  for (const version of ['20.19.0', '22.11.9', '23.0.0']) {
    t.throws(() => refusePortSharing(version), {message: `--permit-port-sharing needs Node.js 22.12 or later; this is ${version}`});
  }
  for (const version of ['22.12.0', '23.1.0', '24.0.0']) t.notThrows(() => refusePortSharing(version));
});

test('an unspecified address means every interface', async t => {
  await using server = await serve(
    answering(() => json({})),
    {listener: {bindAddress: ''}},
  );

  t.is((await ask1(server)).status, 200);
});

test('connections of peers that are not accepted are closed before their handshake', async t => {
  const seen: string[] = [];
  await using server = await serve(
    answering(() => json({})),
    {listener: {accepts: address => seen.push(address) > 1}},
  );

  await t.throwsAsync(ask1(server), {code: 'ECONNRESET'});
  t.is((await ask1(server)).status, 200);
  t.deepEqual(seen, ['127.0.0.1', '127.0.0.1']);
});

test('HTTP/2 can be turned off', async t => {
  await using server = await serve(
    answering(() => json({})),
    {listener: {disableHttp2: true}},
  );
  const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['h2', 'http/1.1']});
  await once(socket, 'secureConnect');

  t.is(socket.alpnProtocol, 'http/1.1');
  socket.destroy();
});

test('a session is never resumed, so the whole chain of the client is always there', async t => {
  const seen: number[] = [];
  await using server = await serve(
    answering(({caller}: ApiRequest) => {
      seen.push('credentials' in caller ? caller.credentials.certificates.length : -1);
      return json({});
    }),
  );
  const pair = await aPair(server.authority, {commonName: 'jane'}, 'client auth');
  const connectOptions = {host: '127.0.0.1', port: server.port, ca: server.ca, ...pair, cert: `${pair.cert}${server.ca}`};
  let session: Buffer | undefined;
  const once1 = async (resumed: Buffer | undefined): Promise<boolean> => {
    const socket = tls.connect({...connectOptions, ...(resumed ? {session: resumed} : {})});
    socket.on('session', ticket => {
      session = ticket;
    });
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    socket.resume();
    await once(socket, 'secureConnect');
    const reused = socket.isSessionReused();
    await once(socket, 'close');
    return reused;
  };

  await once1(undefined);
  const reused = await once1(session);

  t.false(reused);
  t.deepEqual(seen, [2, 2]);
});

test('a drained listener sends clients away and still answers', async t => {
  await using server = await serve(answering(() => json({})));
  const session = http2.connect(server.url, {ca: server.ca});
  await once(session, 'connect');
  const goaway = once(session, 'goaway');

  server.listener.drain();
  const answer = await ask1(server);

  t.is(answer.headers['connection'], 'close');
  await goaway;
  session.destroy();
});

for (const [version, ask] of bothVersions) {
  test(`${version}: closing waits for answers under way, and no longer than its grace`, async t => {
    let release = () => {};
    const arrived = new Promise<void>(resolve => {
      release = resolve;
    });
    let answerNow = () => {};
    const server = await serve(
      answering(async ({url}) => {
        release();
        await new Promise<void>(resolve => {
          answerNow = url === '/never' ? () => {} : resolve;
        });
        return json({});
      }),
    );
    const outgoing = ask(server);
    await arrived;
    const closing = server.listener.close({graceMs: 10_000});
    answerNow();

    t.is((await outgoing).status, 200);
    await closing;

    const stuck = await serve(answering(() => new Promise(() => {})));
    const lost = t.throwsAsync(ask(stuck).then(({status}) => (status > 0 ? status : Promise.reject(new Error('cut')))));
    while (stuck.listener.connections === 0) await turn();
    await stuck.listener.close({graceMs: 50});
    await lost;
  });

  test(`${version}: a watch sends its headers at once, each event as it comes, and stops when the client goes`, async t => {
    const watch = aWatch();
    await using server = await serve(answering(() => watch.response));
    const received: string[] = [];
    const close = await openWatch(version, server, chunk => received.push(chunk));

    t.is(server.http.watchers, 1);
    watch.sinks[0]!.event(anEvent('ADDED', {a: 1}));
    while (received.length === 0) await turn();
    t.is(received[0], '{"type":"ADDED","object":{"a":1}}\n');
    close();
    while (watch.stopped() === 0) await turn();
    t.is(server.http.watchers, 0);
  });

  test(`${version}: a watcher that does not read is cut off alone`, async t => {
    const watch = aWatch();
    await using server = await serve(
      answering(() => watch.response),
      {http: {outbox: {maxBytes: 8 << 20, closeTimeoutMs: 100}}},
    );
    const received: string[] = [];
    await openWatch(version, server, chunk => received.push(chunk));
    const stalled = await openWatch(version, server, undefined);
    const [good, bad] = watch.sinks;
    const event = anEvent('ADDED', {filler: 'x'.repeat(1 << 20)});

    let sent = 0;
    while (server.http.cutOff === 0) {
      good!.event(event);
      bad!.event(event);
      sent++;
      await good!.drained();
      await turn();
    }

    while (watch.stopped() === 0) await turn();
    t.is(watch.stopped(), 1);
    t.is(server.http.watchers, 1);
    const expected = sent * event.bytes().length;
    while (received.reduce((sum, chunk) => sum + chunk.length, 0) < expected) await turn();
    stalled();
    t.pass();
  });
}

test('headers that come too slowly end the connection', async t => {
  await using server = await serve(
    answering(() => json({})),
    {listener: {headersTimeoutMs: 100}},
  );
  const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');

  t.regex(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 408 /);
});

test('connections that do not speak TLS are counted', async t => {
  await using server = await serve(answering(() => json({})));
  const socket = net.connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.0\r\n\r\n');
  await once(socket, 'close');

  t.is(server.listener.handshakeErrors, 1);
});

test('a handshake that does not come ends the connection', async t => {
  await using server = await serve(
    answering(() => json({})),
    {listener: {handshakeTimeoutMs: 100}},
  );
  const socket = net.connect(server.port, '127.0.0.1');
  await once(socket, 'close');

  t.is(server.listener.connections, 0);
});

test('concurrent requests begin a few per turn of the event loop, and cancelled ones never do', async t => {
  const turns = new PacedActions(8);
  const begun: number[] = [];
  for (let index = 0; index < 20; index++) turns.add({begin: () => void begun.push(index), isGone: () => index % 2 === 1, of: {}});
  t.is(begun.length, 8);
  await new Promise(resolve => setImmediate(resolve));

  t.deepEqual(begun.slice(8), [8, 10, 12, 14, 16, 18]);
});

test('connections that arrive all at once are all served, and those that leave before their turn harm no others', async t => {
  await using server = await serve(answering(() => json({})));
  const outgoing = Array.from({length: 100}, (_, index) => {
    if (index % 4 === 0)
      net
        .connect(server.port, '127.0.0.1')
        .on('connect', function (this: net.Socket) {
          this.resetAndDestroy();
        })
        .on('error', () => undefined);
    return (index % 2 ? ask1 : ask2)(server);
  });

  t.deepEqual(
    (await Promise.all(outgoing)).map(({status}) => status),
    outgoing.map(() => 200),
  );
});

test('connections that are closed all at once while their clients send end without a fault', async t => {
  const server = await serve(
    answering(() => ({status: 101, headers: {}, body: {kind: 'upgrade', take: socket => void socket.resume(), drop() {}}})),
  );
  const clients = await Promise.all(Array.from({length: 40}, () => upgraded(server)));
  const ended = Promise.all(clients.map(client => new Promise(resolve => client.once('close', resolve))));
  const send = (client: tls.TLSSocket): void => {
    while (!client.destroyed && client.write(Buffer.alloc(64 << 10)));
  };
  for (const client of clients) {
    client.on('drain', () => send(client)).on('error', () => {});
    send(client);
  }
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
  await server[Symbol.asyncDispose]();
  while (server.listener.connections > 0) await yieldToEventLoop();
  await ended;

  t.true(clients.every(({destroyed}) => destroyed));
});

test('a closing listener closes a few connections per turn of the event loop', async t => {
  const server = await serve(
    answering(() => ({status: 101, headers: {}, body: {kind: 'upgrade', take: socket => void socket.resume(), drop() {}}})),
  );
  const clients = await Promise.all(Array.from({length: 60}, () => upgraded(server)));
  for (const client of clients) client.on('error', () => {});
  while (server.listener.connections < 60) await yieldToEventLoop();
  const closing = server.listener.close();
  const left: number[] = [];
  for (let turn = 0; server.listener.connections > 0; turn++) {
    await yieldToEventLoop();
    left.push(server.listener.connections);
  }
  await closing;

  const most = Math.max(...left.map((count, index) => (left[index - 1] ?? 60) - count));
  t.true(most <= 16, `${most} connections in one turn`);
});

const upgraded = async ({port, ca}: TestServer): Promise<tls.TLSSocket> => {
  const client = tls.connect({host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1']});
  await once(client, 'secureConnect');
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
  return client.resume();
};

/** Opens a watch and resolves once its headers are there. Without a receiver nothing is ever read. */
const openWatch = (version: string, server: TestServer, receive: ((chunk: string) => void) | undefined): Promise<() => void> =>
  new Promise((resolve, reject) => {
    if (version === 'HTTP/2') {
      const session = http2.connect(server.url, {ca: server.ca});
      session.on('error', reject);
      const stream = session.request({':path': '/watch'});
      stream.on('error', () => {});
      stream.on('response', () => resolve(() => session.destroy()));
      if (receive) stream.setEncoding('utf8').on('data', receive);
      return;
    }
    const request = https.get({host: '127.0.0.1', port: server.port, ca: server.ca, agent: false, path: '/watch'}, response => {
      response.on('error', () => {});
      if (receive) response.setEncoding('utf8').on('data', receive);
      resolve(() => request.destroy());
    });
    request.on('error', reject);
  });
