import test from 'ava';
import http2 from 'node:http2';
import https from 'node:https';
import tls from 'node:tls';
import {once} from 'node:events';
import type {ApiRequest} from '#src/api/request.js';
import {peerOf} from '#src/serving/limits/connection-limit.js';
import {limitedByPeer} from '#src/serving/limits/peer-limit.js';
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

/** A frame of HTTP/2. */
const frame = (type: number, stream: number, payload: string, flags = 0): Buffer => {
  const bytes = Buffer.from(payload, 'hex');
  const head = Buffer.alloc(9);
  head.writeUIntBE(bytes.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
};

for (const [name, flood] of [
  ['WINDOW_UPDATE', frame(8, 0, '00000001')],
  ['PRIORITY', frame(2, 3, '0000000101')],
  ['PING', frame(6, 0, '0000000000000000')],
  ['unknown', frame(77, 0, '00'.repeat(20))],
] as const)
  test(`a session that sends ${name} frames without end, and asks for nothing, is ended`, async t => {
    await using server = await serve(answering(() => json({})));
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca, ALPNProtocols: ['h2']});
    const ended = new Promise(resolve =>
      socket
        .on('error', () => {})
        .resume()
        .on('close', resolve),
    );
    const send = () => {
      while (!socket.destroyed && socket.write(Buffer.concat(Array<Buffer>(1000).fill(flood))));
    };
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, '')]));
    socket.on('drain', send);
    send();
    await ended;

    t.is((await ask1(server)).status, 200);
    t.deepEqual(server.faults, []);
  });

test('a session that uploads much, or bodies that nobody wants, is not ended', async t => {
  await using server = await serve(
    answering(async ({body, url}) => json({length: url === '/read' && body?.kind === 'bytes' ? (await body.read(1 << 21)).length : 0})),
  );
  // From Node.js 22 on, what waits to be sent counts as memory of the session.
  const session = http2.connect(server.url, {ca: server.ca, maxSessionMemory: 100});
  const upload = async (path: string, length: number): Promise<number> => {
    const stream = session.request({':path': path, ':method': 'POST'});
    stream.on('error', () => {}).end(Buffer.alloc(length));
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    await once(stream.resume(), 'close');
    return Number(headers[':status']);
  };
  for (let round = 0; round < 3; round++) {
    t.deepEqual(await Promise.all(Array.from({length: 8}, () => upload('/read', 1 << 20))), Array(8).fill(200));
    t.deepEqual(await Promise.all(Array.from({length: 50}, () => upload('/', 60_000))), Array(50).fill(200));
  }

  t.false(session.destroyed);
  session.destroy();
});

/** A connection without a request. */
const idleConnection = async (server: TestServer, localAddress = '127.0.0.1'): Promise<tls.TLSSocket> => {
  const options: tls.ConnectionOptions & {localAddress: string} = {host: '127.0.0.1', port: server.port, ca: server.ca, localAddress};
  const socket = tls.connect(options);
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
};

/** A connection with a request whose answer does not end. */
const busyConnection = async (server: TestServer, localAddress?: string): Promise<tls.TLSSocket> => {
  const socket = await idleConnection(server, localAddress);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
};

test('on a full port a newcomer takes the place of the oldest connection without a request', async t => {
  await using server = await serve(
    answering(({url}) => (url === '/' ? aWatch().response : json({}))),
    {listener: {maxConnections: 3}},
  );
  const busy = await busyConnection(server);
  const [first, second] = [await idleConnection(server), await idleConnection(server)];
  const gone = once(first, 'close');

  t.is((await ask1(server, {path: '/quick'})).status, 200);
  await gone;
  t.deepEqual([busy.destroyed, second.destroyed, server.listener.refused], [false, false, 1]);
  for (const socket of [busy, second]) socket.destroy();
});

test('a port full of requests has no room, except for a peer with fewer connections', async t => {
  await using server = await serve(
    answering(({url}) => (url === '/' ? aWatch().response : json({}))),
    {listener: {maxConnections: 3}},
  );
  const watches: tls.TLSSocket[] = [];
  for (let index = 0; index < 3; index++) watches.push(await busyConnection(server));
  await t.throwsAsync(ask1(server));
  t.deepEqual(
    watches.map(({destroyed}) => destroyed),
    [false, false, false],
  );
  const gone = once(watches[0]!, 'close');
  const other = await busyConnection(server, '127.0.0.2');
  await gone;
  await t.throwsAsync(idleConnection(server, '127.0.0.2').then(socket => once(socket, 'data')));

  t.deepEqual(
    [...watches, other].map(({destroyed}) => destroyed),
    [true, false, false, false],
  );
  for (const socket of [...watches, other]) socket.destroy();
});

test('a peer is an address, and of IPv6 its network', t => {
  t.deepEqual(
    ['10.0.0.1', '::ffff:10.0.0.1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::1', '2001:db8::1', '::1', 'fe80::1%eth0', undefined].map(peerOf),
    ['10.0.0.1', '10.0.0.1', '2001:db8:1:2::', '2001:db8:1:2::', '2001:db8:0:0::', '0:0:0:0::', 'fe80:0:0:0::', ''],
  );
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

test('requests that are sent without waiting for answers are all answered', async t => {
  await using server = await serve(answering(() => json({text: 'x'.repeat(500)})));

  t.is(await pipelined(server, 3000), 3000);
});

test('requests that are sent without waiting for answers begin a few per turn, on one connection or on many', async t => {
  const inProgress = {now: 0, most: 0};
  const ofTurn = {begun: 0, most: 0};
  await using server = await serve(
    answering(async () => {
      inProgress.most = Math.max(inProgress.most, ++inProgress.now);
      if (ofTurn.begun++ === 0) void turn().then(() => (ofTurn.begun = 0));
      ofTurn.most = Math.max(ofTurn.most, ofTurn.begun);
      await turn();
      inProgress.now--;
      return json({});
    }),
  );

  t.deepEqual(await Promise.all(Array.from({length: 10}, () => pipelined(server, 1000))), Array(10).fill(1000));
  t.true(ofTurn.most <= 200, `${ofTurn.most} in one turn`);
  t.true(inProgress.most <= 10 * 200, `${inProgress.most} at once`);
});

test('bodies of requests that are sent without waiting arrive whole', async t => {
  await using server = await serve(
    answering(async ({body}) => json({length: body?.kind === 'bytes' ? (await body.read(1 << 20)).length : 0})),
  );
  const post = (length: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'b'.repeat(length)}`;
  const lengths = [1, 2047, 2048, 2049, 100_000, 3, 700_000, 0, 16_384, 5];
  const text = await exchanged(server, `${lengths.map(post).join('')}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

  t.deepEqual(
    [...text.matchAll(/"length":(\d+)/g)].map(found => Number(found[1])),
    [...lengths, 0],
  );
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

/** Sends bytes over HTTP/1.1 and returns everything that comes back until the connection ends. */
const exchanged = async (server: TestServer, bytes: string): Promise<string> => {
  const socket = await idleConnection(server);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.write(bytes);
  await once(socket, 'close');
  return text;
};

test('requests that the parser of the original refuses are refused with its answers', async t => {
  let reached = 0;
  await using server = await serve(answering(() => (reached++, json({}))));
  const refusal = (reason: string) => [reason.split(':')[0], reason];
  for (const [request, reason] of [
    ['GET /\r\nHost: x\r\n\r\n', '400 Bad Request'],
    ['GET /\r\n\r\n', '400 Bad Request'],
    ['GET / HTTP/2.0\r\nHost: x\r\n\r\n', '505 HTTP Version Not Supported: unsupported protocol version'],
    ['GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n', '400 Bad Request'],
    ['GET / HTTP/1.0\r\nHost: x\r\nhost: y\r\n\r\n', '400 Bad Request'],
    ['GET / HTTP/1.1\r\nX: y\r\n\r\n', '400 Bad Request: missing required Host header'],
    ['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', '400 Bad Request: malformed Host header'],
    ['GET / HTTP/1.1\r\nHost: a@b\r\n\r\n', '400 Bad Request: malformed Host header'],
    ['GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n', '400 Bad Request'],
    ['GET http://x/%2 HTTP/1.1\r\nHost: x\r\n\r\n', '400 Bad Request'],
    ['GET / HTTP/1.1\r\nUpgrade: x\r\nConnection: upgrade\r\nHost: x\r\nHost: x\r\n\r\n', '400 Bad Request'],
  ] as const) {
    const [head = '', body] = (await exchanged(server, request)).split('\r\n\r\n');
    t.deepEqual([/^HTTP\/1\.1 (.*?)(?::.*)?\r\n/.exec(head)?.[1], body], refusal(reason), request);
    t.regex(head, /connection: close/i);
  }
  t.is(reached, 0);
  t.regex(await exchanged(server, 'GET / HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
  t.regex(await exchanged(server, 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 200 /);
});

test('streams whose pseudo headers the original refuses are errors of those streams alone', async t => {
  let reached = 0;
  await using server = await serve(answering(() => (reached++, json({}))));
  const session = http2.connect(server.url, {ca: server.ca});
  const codeOf = async (headers: http2.OutgoingHttpHeaders): Promise<number> => {
    const stream = session.request({':path': '/', ...headers}).on('error', () => {});
    stream.resume();
    await once(stream, 'close').catch(() => {});
    return stream.rstCode!;
  };
  const {NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR} = http2.constants;
  for (const headers of [
    {':authority': 'user@x'},
    {':authority': 'user:password@x', ':scheme': 'http', ':method': 'POST'},
    {':authority': '@'},
    {host: 'user@x'},
    {':scheme': 'ftp'},
    {':path': '/%zz'},
    {':path': '/a%2'},
  ])
    t.is(await codeOf(headers), NGHTTP2_PROTOCOL_ERROR, JSON.stringify(headers));
  t.is(reached, 0);
  for (const headers of [{':authority': 'x'}, {':authority': 'x', host: 'a@b'}, {':path': '/%40?%zz=%'}])
    t.is(await codeOf(headers), NGHTTP2_NO_ERROR, JSON.stringify(headers));
  t.is(reached, 3);
  session.destroy();
});

test('of the requests of one address so many may wait, and those of others are answered', async t => {
  const waiting: (() => void)[] = [];
  const handler = limitedByPeer(({url}) => new Promise(resolve => waiting.push(() => resolve(json({url})))), 2);
  const ask = (url: string, remoteAddress: string) => handler({url, remoteAddress} as ApiRequest);
  const pending = [ask('/1', '10.0.0.1'), ask('/2', '10.0.0.1'), ask('/3', '10.0.0.2')];

  t.like(await ask('/4', '10.0.0.1'), {status: 429});
  for (const answer of waiting.splice(0)) answer();
  t.deepEqual(
    (await Promise.all(pending)).map(({status}) => status),
    [200, 200, 200],
  );
  const after = ask('/5', '10.0.0.1');
  waiting[0]!();
  t.is((await after).status, 200);
});
