import test from 'ava';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import {once} from 'node:events';
import type {ApiRequest} from '#src/api/request.js';
import {refusePortSharing} from '#src/serving/binding.js';
import {InTurns} from '#src/serving/in-turns.js';
import {listen, type RequestHandler} from '#src/serving/listener.js';
import {systemClock} from '#src/base/clock.js';
import {nextTurn} from '#src/base/turn.js';
import {aPair} from './credentials.js';
import {type TestServer, aWatch, anEvent, answering, ask1, ask2, bothVersions, json, serve} from './server.js';

test('a port in use is reported in one line with the flags to change', async t => {
  await using server = await serve(answering(() => json({})));

  await t.throwsAsync(listen({clock: systemClock, bindAddress: '127.0.0.1', port: server.port, tls: {}, handler: server.http}), {
    message: `cannot listen on 127.0.0.1:${server.port} (--bind-address, --secure-port): the port is in use already: choose another, or 0 for a free one`,
  });
  await t.throwsAsync(listen({clock: systemClock, bindAddress: '192.0.2.1', port: 0, tls: {}, handler: server.http}), {
    message: 'cannot listen on 192.0.2.1:0 (--bind-address, --secure-port): the host has no such address',
  });
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
  const turns = new InTurns(8);
  const begun: number[] = [];
  for (let index = 0; index < 20; index++) turns.add({begin: () => void begun.push(index), isGone: () => index % 2 === 1});
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
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  await server[Symbol.asyncDispose]();
  while (server.listener.connections > 0) await nextTurn();
  await ended;

  t.true(clients.every(({destroyed}) => destroyed));
});

test('a closing listener closes a few connections per turn of the event loop', async t => {
  const server = await serve(
    answering(() => ({status: 101, headers: {}, body: {kind: 'upgrade', take: socket => void socket.resume(), drop() {}}})),
  );
  const clients = await Promise.all(Array.from({length: 60}, () => upgraded(server)));
  for (const client of clients) client.on('error', () => {});
  while (server.listener.connections < 60) await nextTurn();
  const closing = server.listener.close();
  const left: number[] = [];
  for (let turn = 0; server.listener.connections > 0; turn++) {
    await nextTurn();
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

test('headers beyond the limit are refused without reaching the handler', async t => {
  let reached = 0;
  await using server = await serve(
    answering(() => (reached++, json({}))),
    {listener: {maxHeaderBytes: 10_000}},
  );
  const headers = Object.fromEntries(Array.from({length: 30}, (_, index) => [`x-${index}`, 'v'.repeat(1000)]));

  t.is((await ask1(server, {headers})).status, 431);
  const session = http2.connect(server.url, {ca: server.ca});
  await once(session, 'remoteSettings');
  const stream = session.request({':path': '/', ...headers});
  const [error] = (await once(stream.resume(), 'close').catch((cause: unknown) => [cause])) as [unknown];
  t.truthy(error ?? stream.rstCode);
  session.destroy();
  t.is(reached, 0);
});

test('streams that are opened and reset at once do not delay others', async t => {
  let reached = 0;
  await using server = await serve(answering(() => (reached++, json({}))));
  const flood = http2.connect(server.url, {ca: server.ca});
  flood.on('error', () => {});
  const ended = once(flood, 'close');
  await once(flood, 'remoteSettings');
  for (let index = 0; index < 5000 && !flood.destroyed; index++) {
    const stream = flood.request({':path': '/'}, {endStream: true});
    stream.on('error', () => {});
    stream.close(http2.constants.NGHTTP2_CANCEL);
    if (index % 500 === 0) t.is((await ask1(server)).status, 200);
  }

  t.is((await ask1(server)).status, 200);
  t.true(reached < 1000, `${reached} of the streams reached the handler`);
  await ended; // The server has had enough of it.
  t.deepEqual(server.faults, []);
  flood.destroy();
});

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

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

test('connections beyond the limit are closed at once and counted', async t => {
  await using server = await serve(
    answering(() => json({})),
    {listener: {maxConnections: 1}},
  );
  const first = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca});
  await once(first, 'secureConnect');

  await t.throwsAsync(ask1(server));
  t.is(server.listener.refused, 1);
  first.destroy();
});

test('a listener that closes ends the connection of a watch with the watch, and those without a request at once', async t => {
  const watch = aWatch();
  const server = await serve(answering(() => watch.response));
  const agent = new https.Agent({keepAlive: true, ca: server.ca});
  const outgoing = https.get({host: '127.0.0.1', port: server.port, agent});
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  const unused = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca});
  unused.on('error', () => {});
  await once(unused, 'secureConnect');
  while (server.listener.connections < 2) await turn();

  const since = performance.now();
  const closing = server.listener.close({graceMs: 60_000});
  await once(unused, 'close');
  t.is(server.listener.connections, 1);
  watch.sinks[0]!.end();
  await closing;

  t.true(performance.now() - since < 10_000);
  agent.destroy();
});

/** Writes requests all at once on one connection; resolves to how many answers come before it ends. */
const pipelined = async (server: TestServer, count: number): Promise<number> => {
  const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['http/1.1']});
  let text = '';
  socket
    .on('error', () => undefined)
    .setEncoding('latin1')
    .on('data', (chunk: string) => {
      text += chunk;
    });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count - 1) + 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  return text.split('HTTP/1.1 200').length - 1;
};

test('requests that come one after the other are parsed beneath the stream of their connection', async t => {
  const sockets: import('node:net').Socket[] = [];
  const requestHandler: RequestHandler = {
    http1: (request, response) => void (sockets.push(request.socket), response.end()),
    http2() {},
    upgrade() {},
  };
  await using server = await serve(
    answering(() => json({})),
    {listener: {handler: requestHandler}},
  );
  const agent = new https.Agent({keepAlive: true, ca: server.ca, maxSockets: 1});
  for (let i = 0; i < 3; i++)
    await once(
      https.get({host: '127.0.0.1', port: server.port, agent}).on('response', response => response.resume()),
      'close',
    );

  t.deepEqual(
    sockets.map(socket => [socket === sockets[0], socket.readableDidRead]),
    [
      [true, false],
      [true, false],
      [true, false],
    ],
  );
  agent.destroy();
});

test('requests that are sent without waiting for answers are all answered', async t => {
  await using server = await serve(answering(() => json({text: 'x'.repeat(500)})));

  t.is(await pipelined(server, 3000), 3000);
});

test('a connection is never negotiated anew', async t => {
  await using server = await serve(answering(() => json({})));
  const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1']});
  await once(socket, 'secureConnect');
  const outcome = await new Promise<Error | null>(resolve => {
    socket.once('error', resolve);
    if (socket.renegotiate({rejectUnauthorized: false}, resolve) === false) resolve(new Error('not begun'));
  });
  socket.destroy();

  t.truthy(outcome);
});
