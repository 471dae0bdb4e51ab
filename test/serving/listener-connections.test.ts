import test from 'ava';
import http2 from 'node:http2';
import https from 'node:https';
import tls from 'node:tls';
import {once} from 'node:events';
import type {RequestHandler} from '#src/serving/listener.js';
import {type TestServer, aWatch, answering, ask1, json, serve} from './server.js';
import {turn} from './turns.js';

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

test('a connection is never negotiated again', async t => {
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
