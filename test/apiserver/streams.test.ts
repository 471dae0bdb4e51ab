import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import https from 'node:https';
import type {IncomingMessage} from 'node:http';
import net, {createServer, type AddressInfo} from 'node:net';
import tls from 'node:tls';
import {Duplex, Readable, type Writable} from 'node:stream';
import {deflateRawSync, gunzipSync, gzipSync, inflateRawSync} from 'node:zlib';
import test from 'ava';
import * as library from 'ws';
import {WebSocket} from 'ws';
import type {Status} from '#src/api/status.js';
import type {ApiHandler} from '#src/api/request.js';
import {systemClock} from '#src/base/clock.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {systemNetwork} from '#src/transport/network.js';
import {htmlLinks} from '#src/transport/relay/html-links.js';
import {rewriteResponse, rewriteLink} from '#src/transport/relay/rewrite.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {aBackend} from '#test/transport/backend.js';
import {ask1, ask2, bothVersions, serve} from '#test/serving/server.js';
import {authorityPem} from '#src/pki/authority.js';
import {admin, startWire} from './wire.js';
import {anAgent} from './agent.js';

const callers = await anAuthority('callers');
const pair = await aPair(callers, {commonName: 'the-server'}, 'client auth');
const agent = await anAgent({clientCa: authorityPem(callers).certificate});
const off = new Set<string>();
const meter = new MetricsRegistry();
const trust = {verified: {ca: agent.ca, pair}, unverified: {pair, insecure: true}};
const system = systemNetwork(systemClock);
// Every address is this machine: those that lead here openly may not be called.
const {
  server: api,
  post,
  put,
} = await startWire({
  clock: systemClock as VirtualClock,
  meter,
  gate: name =>
    !off.has(name) &&
    ['TranslateStreamCloseWebsocketRequests', 'PortForwardWebsockets', 'AuthorizePodWebsocketUpgradeCreatePermission'].includes(name),
  network: {dial: (_, port) => system.dial('127.0.0.1', port), resolve: () => Promise.resolve(['10.0.0.1'])},
  agents: {addresses: ['Hostname', 'InternalIP'], trust: {current: trust}, timeoutMs: 5000},
});
const asAdmin =
  (handler: ApiHandler): ApiHandler =>
  ({method, url, headers, remoteAddress, body, signal, upgradable = false}) =>
    handler({method, url, headers, remoteAddress, body, signal, upgradable, caller: {user: admin}});
const server = await serve(asAdmin(api.handler));
const pods = '/api/v1/namespaces/default/pods';
const aNode = (name: string, address: string, port: number) =>
  post('/api/v1/nodes', {
    metadata: {name},
    status: {addresses: [{type: 'InternalIP', address}], daemonEndpoints: {kubeletEndpoint: {Port: port}}},
  });
const aPod = async (name: string, nodeName: string, ...containers: string[]) => {
  const {status, text} = await post(pods, {
    metadata: {name},
    spec: {nodeName, containers: containers.map(container => ({name: container, image: 'x'}))},
  });
  if (status !== 201) throw new Error(text);
};
await aNode('n', 'localhost', agent.port);
await aNode('misnamed', '10.9.9.9', agent.port);
await aNode('gone', '127.0.0.1', 1);
for (const name of ['p', 'refusing', 'failing', 'moved', 'dying']) await aPod(name, 'n', 'c');
await aPod('several', 'n', 'c', 'broken', 'strange', 'elsewhere');
await aPod('elsewhere', 'misnamed', 'c');
await aPod('far', 'gone', 'c');
await put(`${pods}/p/status`, {metadata: {name: 'p'}, status: {podIP: '10.1.1.1', podIPs: [{ip: '10.1.1.1'}]}});

const shop = await aBackend((request, response) =>
  response.writeHead(200, {'x-method': request.method!}).end(request.method === 'HEAD' ? undefined : `${request.method} ${request.url}`),
);
await post('/api/v1/namespaces/default/services', {metadata: {name: 'shop'}, spec: {ports: [{name: 'http', port: 80}]}});
await post('/api/v1/namespaces/default/endpoints', {
  metadata: {name: 'shop'},
  subsets: [
    {
      addresses: [{ip: '10.1.1.1', targetRef: {kind: 'Pod', namespace: 'default', name: 'p'}}],
      ports: [{name: 'http', port: Number(shop.port)}],
    },
  ],
});
test.after.always(async () => {
  api.backends[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
});

const messageOf = (body: Buffer): string => (JSON.parse(body.toString()) as Status).message ?? '';

for (const [version, ask] of bothVersions) {
  test(`a log is the text that the agent writes (${version})`, async t => {
    const answer = await ask(server, {
      path: `${pods}/p/log?tailLines=5&timestamps=true`,
      headers: {authorization: 'Bearer secret', cookie: 'a=b'},
    });
    const request = agent.requests.findLast(({url}) => url.includes('/p/c'))!;

    t.deepEqual([answer.status, answer.headers['content-type'], answer.headers['x-internal']], [200, 'text/plain', undefined]);
    t.is(answer.body.toString(), 'c says hello\n?tailLines=5&timestamps=true\n');
    t.deepEqual(
      [request.method, request.url, request.client],
      ['GET', '/containerLogs/default/p/c?tailLines=5&timestamps=true', 'the-server'],
    );
    t.deepEqual(
      [request.headers.authorization, request.headers.cookie, request.headers['x-forwarded-for']],
      [undefined, undefined, undefined],
    );
  });
}

test.serial('a log that is followed goes on as it is written, until the caller has enough', async t => {
  const outgoing = https
    .get({host: '127.0.0.1', port: server.port, ca: server.ca, agent: false, path: `${pods}/p/log?follow=true`})
    .on('error', () => {});
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.on('error', () => {});
  const received: string[] = [];
  for await (const chunk of answer.iterator({destroyOnReturn: false}) as AsyncIterable<Buffer>) {
    received.push(chunk.toString());
    if (received.length === 3) break;
    agent.log(`line ${received.length}\n`);
  }
  const open = agent.open;
  outgoing.destroy();
  while (agent.open >= open) await new Promise(setImmediate);

  t.deepEqual(received, ['c says hello\n', 'line 1\n', 'line 2\n']);
});

for (const [what, path, code, message] of [
  ['is broken', 'several/log?container=broken', 500, 'Internal error occurred: the log is broken\n'],
  [
    'is answered oddly',
    'several/log?container=strange',
    418,
    'the server responded with the status code 418 but did not return more information ( pods/log several)',
  ],
  [
    'is elsewhere',
    'several/log?container=elsewhere',
    500,
    `Get "https://localhost:${agent.port}/containerLogs/default/several/elsewhere": redirects forbidden`,
  ],
  [
    'lies on a node that has another name',
    'elsewhere/log',
    500,
    `Get "https://10.9.9.9:${agent.port}/containerLogs/default/elsewhere/c": tls: failed to verify certificate: x509: certificate is valid for localhost, 127.0.0.1, not 10.9.9.9`,
  ],
] as const) {
  test(`of a log that ${what} the client is informed`, async t => {
    const {status, body} = await ask1(server, {path: `${pods}/${path}`});

    t.deepEqual([status, messageOf(body)], [code, message]);
  });
}

test('insecureSkipTLSVerifyBackend gets the log of any backend', async t => {
  const {status, body} = await ask1(server, {path: `${pods}/elsewhere/log?insecureSkipTLSVerifyBackend=true`});

  t.deepEqual([status, body.toString()], [200, 'c says hello\n\n']);
});

/** Opens a WebSocket; rejects with status and body of a refusal. */
const webSocket = (path: string, protocols: string[] = []): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const client = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, protocols, {ca: server.ca});
    client.once('open', () => resolve(client));
    client.once('unexpected-response', (_, response: IncomingMessage) => {
      let text = '';
      response.on('data', chunk => (text += String(chunk))).on('end', () => reject(new Error(`${response.statusCode} ${text}`)));
    });
    client.on('error', error => void (/Unexpected server response/.test(error.message) || reject(error)));
  });

/** The messages that a client received, by channel, and how the connection ended. */
const receivedBy = (client: WebSocket) => {
  const received: Record<number, string> = {};
  let first: number | undefined;
  client.on('message', (data: Buffer) => {
    first ??= data[0]!;
    received[data[0]!] = (received[data[0]!] ?? '') + data.subarray(1).toString();
  });
  const closed = once(client, 'close').then(([code]) => code as number);
  return {
    received,
    closed,
    first: () => first,
    status: () => JSON.parse(received[3] ?? '{}') as Status,
    async until(channel: number, pattern: RegExp) {
      while (!pattern.test(received[channel] ?? '')) await once(client, 'message');
    },
  };
};

for (const protocol of ['binary.plat.io', 'base64.binary.k8s.io']) {
  test(`a log over WebSocket comes in messages of ${protocol}`, async t => {
    const client = new WebSocket(`wss://127.0.0.1:${server.port}${pods}/p/log`, [protocol], {ca: server.ca});
    const received: string[] = [];
    client.on('message', (data: Buffer) =>
      received.push(protocol.startsWith('base64') ? Buffer.from(data.toString(), 'base64').toString() : data.toString()),
    );
    await once(client, 'close');

    t.is(received[0], '');
    t.is(received.join(''), 'c says hello\n\n');
    t.is(client.protocol, protocol);
  });
}

for (const [what, path] of [
  ['a log', 'p/log'],
  ['a command', 'p/exec?command=true&stdout=true'],
  ['a port', 'p/portforward'],
] as const) {
  test(`${what} over WebSocket is refused without a key, and no agent is called`, async t => {
    const socket = tls.connect({host: '127.0.0.1', port: server.port, ca: server.ca});
    const headers = [
      'Host: x',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      ...(what === 'a log' ? [] : [`Sec-WebSocket-Protocol: ${what === 'a port' ? 'SPDY/3.1+portforward.k8s.io' : 'v5.channel.k8s.io'}`]),
    ];
    socket.write(`GET ${pods}/${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    const answer = Buffer.concat(await socket.toArray()).toString();

    t.regex(answer, /^HTTP\/1\.1 400 /);
    t.is((await ask1(server, {path: `${pods}/p`})).status, 200);
  });
}

test('a log over WebSocket in an unknown protocol is refused', async t => {
  await t.throwsAsync(webSocket(`${pods}/p/log`, ['odd']), {message: /^403 /});
});

const v5 = ['v5.channel.k8s.io'];
const exec = (pod: string, command: readonly string[], streams = 'stdin=true&stdout=true&stderr=true') =>
  `${pods}/${pod}/exec?${streams}&${command.map(part => `command=${encodeURIComponent(part)}`).join('&')}`;

test('exec over WebSocket reaches an agent over SPDY, and returns the exit status', async t => {
  const client = await webSocket(exec('p', ['sh', '-c', 'cat; echo bad >&2; exit 3']), v5);
  const {received, closed, status, first} = receivedBy(client);
  client.send(Buffer.from('\0in'));
  client.send(Buffer.from('\0put'));
  client.send(Buffer.from([255, 0]));

  t.is(await closed, 1000);
  t.deepEqual([first(), received[1], received[2]], [1, 'input', 'bad\n']);
  t.like(status(), {
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: 'command terminated with non-zero exit code: command terminated with exit code 3',
    details: {causes: [{reason: 'ExitCode', message: '3'}]},
  });
  const request = agent.requests.findLast(({url}) => url.includes('exit+3'))!;
  t.is(request.method, 'POST');
  t.is(request.headers['x-stream-protocol-version'], 'v5.channel.k8s.io, v4.channel.k8s.io, v3.channel.k8s.io, v2.channel.k8s.io');
  t.is(client.protocol, 'v5.channel.k8s.io');
});

test('a command that succeeds without a word ends well, and gets only the streams that are wanted', async t => {
  const client = await webSocket(exec('p', ['sh', '-c', 'echo out; echo bad >&2'], 'stderr=true'), v5);
  const {received, closed, status, first} = receivedBy(client);
  await closed;

  t.deepEqual([first(), received[1], received[2], status().status], [2, undefined, 'bad\n', 'Success']);
});

test('the size of a terminal is passed on', async t => {
  const client = await webSocket(`${pods}/p/attach?stdin=true&stdout=true&stderr=true&tty=true`, v5);
  const {closed, until} = receivedBy(client);
  client.send(Buffer.concat([Buffer.from([4]), Buffer.from('{"Width":80,"Height":24}')]));
  await until(1, /attached/);
  client.send(Buffer.concat([Buffer.from([4]), Buffer.from('{"Width":100,"Height":30}\n{"nonsense":1}')]));
  client.send(Buffer.from('\0typed'));
  await until(1, /TYPED/);
  while (agent.sizes.length < 2) await new Promise(setImmediate);
  client.send(Buffer.from([255, 0]));

  t.is(await closed, 1000);
  t.deepEqual(agent.sizes, ['{"Width":80,"Height":24}', '{"Width":100,"Height":30}']);
});

test('a large amount goes through both ways whole', async t => {
  const client = await webSocket(exec('p', ['cat']), v5);
  let length = 0;
  client.on('message', (data: Buffer) => {
    if (data[0] === 1) length += data.length - 1;
  });
  const piece = Buffer.alloc(32 << 10, 'x');
  piece[0] = 0;
  for (let count = 0; count < 256; count++) client.send(piece);
  client.send(Buffer.from([255, 0]));
  await once(client, 'close');

  t.is(length, 256 * (piece.length - 1));
});

test('a client that disconnects ends the command', async t => {
  const client = await webSocket(exec('p', ['sh', '-c', 'echo begun; cat']), v5);
  const {until} = receivedBy(client);
  await until(1, /begun/);
  const open = agent.open;
  client.terminate();
  while (agent.open >= open) await new Promise(setImmediate);

  t.pass();
});

for (const [what, pod, message] of [
  ['will not', 'refusing', 'Internal error occurred: unable to upgrade connection: not here'],
  ['gives a reason', 'failing', 'no such container'],
  [
    'sends elsewhere',
    'moved',
    `Internal error occurred: error sending request: Post "https://localhost:${agent.port}/exec/default/moved/c?command=true&output=1": redirect not allowed`,
  ],
  [
    'is not there',
    'far',
    'Internal error occurred: error sending request: Post "https://127.0.0.1:1/exec/default/far/c?command=true&output=1": dial tcp 127.0.0.1:1: connect: connection refused',
  ],
  ['breaks off', 'dying', 'Internal error occurred: error reading from error stream: unexpected EOF'],
] as const) {
  test(`of an agent that ${what} a client over WebSocket is informed on the error channel`, async t => {
    const client = await webSocket(exec(pod, ['true'], 'stdout=true'), v5);
    const {closed, status} = receivedBy(client);

    t.is(await closed, 1000);
    t.is(status().message, message);
  });
}

for (const protocol of ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io']) {
  test(`older ways of a WebSocket (${protocol}) are the agent's to speak`, async t => {
    const client = await webSocket(exec('p', ['sh', '-c', 'echo out; exit 2'], 'stdout=true'), [protocol]);
    const messages: string[] = [];
    client.on('message', (data: Buffer) =>
      messages.push(
        protocol.includes('base64')
          ? data[0]! - 48 + Buffer.from(data.toString().slice(1), 'base64').toString()
          : data[0] + data.subarray(1).toString(),
      ),
    );
    await once(client, 'close');

    t.is(client.protocol, protocol);
    t.is(
      messages
        .filter(text => text.startsWith('1'))
        .join('')
        .replaceAll('1', ''),
      'out\n',
    );
    t.regex(messages.at(-1)!, /^3.*"ExitCode","message":"2"/);
  });
}

test.serial("without the gate the newest way is the agent's to speak, too", async t => {
  off.add('TranslateStreamCloseWebsocketRequests');
  const client = await webSocket(exec('p', ['true'], 'stdout=true'), ['v5.channel.k8s.io', 'v4.channel.k8s.io']);
  off.delete('TranslateStreamCloseWebsocketRequests');
  await once(client, 'close');

  t.is(client.protocol, 'v4.channel.k8s.io');
});

/** A connection that speaks SPDY, through a POST. */
const spdyTo = (path: string, version: string): Promise<{readonly session: SpdySession; readonly answer: IncomingMessage}> =>
  new Promise((resolve, reject) => {
    const outgoing = https.request({
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      agent: false,
      method: 'POST',
      path,
      headers: {connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': version, 'content-length': 0},
    });
    outgoing.once('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) =>
      resolve({session: new SpdySession(socket, {side: 'client', head}), answer}),
    );
    outgoing.once('response', (answer: IncomingMessage) => {
      let text = '';
      answer.on('data', chunk => (text += String(chunk))).on('end', () => reject(new Error(`${answer.statusCode} ${text}`)));
    });
    outgoing.once('error', reject);
    outgoing.end();
  });

const textOf = async (stream: SpdyStream): Promise<string> => Buffer.concat((await stream.toArray()) as Buffer[]).toString();

test('SPDY goes through as it is', async t => {
  const {session, answer} = await spdyTo(exec('p', ['sh', '-c', 'cat; exit 4']), 'v4.channel.k8s.io');
  const [error, stdin, stdout] = ['error', 'stdin', 'stdout', 'stderr'].map(kind => session.open({streamtype: kind})) as [
    SpdyStream,
    SpdyStream,
    SpdyStream,
  ];
  stdin.end('through and back');

  t.is(answer.headers['x-stream-protocol-version'], 'v4.channel.k8s.io');
  t.is(await textOf(stdout), 'through and back');
  t.regex(await textOf(error), /"ExitCode","message":"4"/);
  session.close();
  await session.closed;
});

for (const [what, pod, refusal] of [
  ['will not', 'refusing', /^403 not here$/],
  ['sends elsewhere', 'moved', /^500 .*invalid upgrade response: status code 302/],
  ['is not there', 'far', /^500 .*error dialing backend: dial tcp 127\.0\.0\.1:1: connect: connection refused/],
] as const) {
  test(`of an agent that ${what} a client over SPDY is informed by the response`, async t => {
    await t.throwsAsync(spdyTo(exec(pod, ['true']), 'v4.channel.k8s.io'), {message: refusal});
  });
}

/** A server behind a port of a pod, that returns its input in capitals. */
const aPort = async () => {
  const listener = createServer({allowHalfOpen: true}, socket => {
    socket.on('error', () => {});
    socket.on('data', chunk => socket.write(chunk.toString().toUpperCase())).once('end', () => socket.end());
  });
  await new Promise<void>(resolve => {
    listener.listen(0, '127.0.0.1', resolve);
  });
  return {port: (listener.address() as AddressInfo).port, close: () => listener.close()};
};

/** Members of the library that its types leave out. */
const {Receiver, Sender} = library as unknown as {
  Receiver: new (options: {isServer: boolean}) => Writable;
  Sender: new (socket: net.Socket) => {
    send(data: Buffer, options: object, done: () => void): void;
    close(code: number, reason: string, mask: boolean, done: () => void): void;
  };
};

/** A connection through a WebSocket, in a protocol whose name the library will not have. Rejects with status and body of a refusal. */
const tunnelTo = (pod: string): Promise<SpdySession> =>
  new Promise((resolve, reject) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
    };
    const outgoing = https.get({
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      agent: false,
      path: `${pods}/${pod}/portforward`,
      headers,
    });
    outgoing.once('error', reject);
    outgoing.once(
      'response',
      (answer: IncomingMessage) =>
        void answer.toArray().then(chunks => reject(new Error(`${answer.statusCode} ${Buffer.concat(chunks as Buffer[]).toString()}`))),
    );
    outgoing.once('upgrade', (answer: IncomingMessage, socket: net.Socket, head: Buffer) => {
      if (answer.headers['sec-websocket-protocol'] !== 'SPDY/3.1+portforward.k8s.io') return reject(new Error('another protocol'));
      resolve(new SpdySession(messagesOf(socket, head), {side: 'client'}));
    });
  });

const messagesOf = (socket: net.Socket, head: Buffer): Duplex => {
  const [sender, receiver] = [new Sender(socket), new Receiver({isServer: false})];
  const messages = new Duplex({
    read() {},
    write: (chunk: Buffer, _, done) => sender.send(chunk, {binary: true, fin: true, mask: true, compress: false}, () => done()),
    final(done) {
      sender.close(1000, '', true, () => done());
    },
  });
  receiver.on('message', (data: Buffer) => messages.push(data));
  receiver.on('conclude', () => messages.push(null));
  receiver.write(head);
  socket.pipe(receiver);
  socket.once('close', () => messages.destroy());
  return messages;
};

for (const [way, open] of [
  ['SPDY', async () => (await spdyTo(`${pods}/p/portforward`, 'portforward.k8s.io')).session],
  ['a WebSocket that SPDY is put through', () => tunnelTo('p')],
] as const) {
  test(`ports are reached by ${way}`, async t => {
    const {port, close} = await aPort();
    const session = await open();
    const output = await Promise.all(
      ['one', 'two'].map(async (text, id) => {
        const error = session.open({streamtype: 'error', port: String(port), requestid: String(id)});
        error.end();
        const data = session.open({streamtype: 'data', port: String(port), requestid: String(id)});
        data.end(text);
        return [await textOf(data), await textOf(error)];
      }),
    );
    const shut = session.open({streamtype: 'error', port: '1', requestid: '9'});
    session.open({streamtype: 'data', port: '1', requestid: '9'});

    t.deepEqual(output, [
      ['ONE', ''],
      ['TWO', ''],
    ]);
    t.regex(await textOf(shut), /cannot reach port 1/);
    session.close();
    await session.closed;
    close();
  });
}

test('a tunnel that the agent refuses is refused with its message', async t => {
  await t.throwsAsync(tunnelTo('refusing'), {message: '403 not here'});
  await t.throwsAsync(tunnelTo('far'), {message: /^500 .*error dialing backend/});
});

test('calls to an agent lead there, and links lead back', async t => {
  const page = await ask1(server, {path: '/api/v1/nodes/misnamed/proxy/page'});
  const post = await ask1(server, {method: 'POST', path: '/api/v1/nodes/https:n:/proxy/some/%28path%29/../x%20y/?a=1', body: 'x'});

  t.is(page.status, 503);
  t.regex(messageOf(page.body), /^error trying to reach service: tls: failed to verify certificate/);
  t.deepEqual([post.status, post.body.toString()], [200, 'POST /some/x%20y/?a=1 /api/v1/nodes/https:n:/proxy/some/x%20y/']);
  const found = await ask1(server, {path: '/api/v1/nodes/n/proxy/page'});
  t.is(found.body.toString(), '<a href="/api/v1/nodes/n/proxy/there?x=1&amp;y=2">x</a><a href="rel">y</a>');
  t.is(found.headers['access-control-allow-origin'], undefined);
});

test('proxied calls to a pod reach its port, also over TLS without verification', async t => {
  const {status, body} = await ask1(server, {path: `${pods}/https:p:${agent.port}/proxy/`});

  t.is(status, 503);
  t.regex(messageOf(body), /tls|EOF/i, 'this agent requires a client certificate');
});

test.serial('shutdown ends open streams while their clients still read', async t => {
  const outgoing = https
    .get({host: '127.0.0.1', port: server.port, ca: server.ca, agent: false, path: `${pods}/p/log?follow=true`})
    .on('error', () => {});
  const [log] = (await once(outgoing, 'response')) as [IncomingMessage];
  log.on('error', () => {}).resume();
  const client = await webSocket(exec('p', ['cat']), v5);
  const tunnel = await tunnelTo('p');
  const ended = [new Promise(resolve => void log.once('close', resolve)), once(client, 'close'), tunnel.closed];

  api.endWatches(1);
  t.false(log.destroyed);
  api.endWatches();
  await Promise.all(ended);

  t.pass();
});

test('proxied connections are counted', async t => {
  for (const path of ['p/log', 'elsewhere/log', 'elsewhere/log?insecureSkipTLSVerifyBackend=true'])
    await ask1(server, {path: `${pods}/${path}`});
  for (const [pod, command] of [
    ['p', ['false']],
    ['failing', ['true']],
  ] as const)
    await once(await webSocket(exec(pod, command, 'stdout=true'), v5), 'close');
  (await tunnelTo('p')).close();
  await t.throwsAsync(tunnelTo('far'));

  for (const [name, labels] of [
    ['apiserver_stream_translator_requests_total', {code: '200'}],
    ['apiserver_stream_translator_requests_total', {code: '404'}],
    ['apiserver_stream_tunnel_requests_total', {code: '101'}],
    ['apiserver_stream_tunnel_requests_total', {code: '500'}],
    ['plat_apiserver_pod_logs_insecure_backend_total', {usage: 'enforce_tls'}],
    ['plat_apiserver_pod_logs_insecure_backend_total', {usage: 'skip_tls_allowed'}],
    ['plat_apiserver_pod_logs_backend_tls_failure_total', {}],
  ] as const) {
    t.true((meter.value(name, labels) ?? 0) > 0, `${name} ${JSON.stringify(labels)}`);
  }
});

test('a way to an agent over HTTP/2 is refused: its connections speak nothing else', async t => {
  const {status, body} = await ask2(server, {path: exec('p', ['true'])});

  t.deepEqual([status, messageOf(body)], [400, 'Upgrade request required']);
});

for (const [what, link, rewritten] of [
  ['a path', '/there?x=1#y', '/before/there?x=1#y'],
  ['a path that leads through here already', '/before/there', '/before/there'],
  ['a relative path', 'there/', 'there/'],
  ['the backend by name', 'http://10.0.0.1:80/there/', '/before/there/'],
  ['the front by name', 'https://front:8443/there', 'https://front:8443/before/there'],
  ['somebody else', 'https://else.example/there', 'https://else.example/there'],
  ['a host without a path', 'http://10.0.0.1:80', 'http://10.0.0.1:80'],
  ['something else altogether', 'mailto:x', 'mailto:x'],
] as const) {
  test(`a link to ${what} is rewritten`, t => {
    t.is(rewriteLink(link, {before: '/before', backend: '10.0.0.1:80', proxyHost: 'front:8443'}), rewritten);
  });
}

const page = [
  ['<a href="/a">/a</a>', '<a href="+/a">/a</a>'],
  ["<A HREF='/a' title=/b>", '<A HREF="+/a" title=/b>'],
  ['<img src=/a usemap = "/b" alt="<a href=/c>">', '<img src="+/a" usemap = "+/b" alt="<a href=/c>">'],
  ['<a href="/a?x=1&amp;y=&quot;">', '<a href="+/a?x=1&amp;y=&#34;">'],
  ['<!-- <a href="/a"> --><a href=/b>', '<!-- <a href="/a"> --><a href="+/b">'],
  ['<script src="/a">if (1 <a) "<a href=/b>"</script><a href=/c>', '<script src="+/a">if (1 <a) "<a href=/b>"</script><a href="+/c">'],
  ['<p title="/a">1 < 2 <a href=/é>', '<p title="/a">1 < 2 <a href="+/é">'],
  ['<constructor href=/a><a href', '<constructor href=/a><a href'],
] as const;

for (const size of [1, 7, 1000]) {
  test(`the links of a page are rewritten and nothing else, in pieces of ${size} bytes`, async t => {
    const bytes = Buffer.from(page.map(([before]) => before).join('\n'));
    const links = htmlLinks(link => `+${link}`);
    const written = links.toArray();
    for (let at = 0; at < bytes.length; at += size) links.write(bytes.subarray(at, at + size));
    links.end();

    t.is(Buffer.concat((await written) as Buffer[]).toString(), page.map(([, after]) => after).join('\n'));
  });
}

for (const [coding, pack, unpack] of [
  ['gzip', gzipSync, gunzipSync],
  ['deflate', deflateRawSync, inflateRawSync],
] as const) {
  test(`a page that is packed (${coding}) is rewritten too`, async t => {
    const answer = rewriteResponse(
      {
        status: 200,
        headers: {'Content-Type': 'text/html; charset=utf-8', 'Content-Encoding': coding, 'Content-Length': '1'},
        body: {kind: 'stream', source: Readable.from([pack('<a href="/a">')])},
      },
      {before: '/before', backend: 'b', proxyHost: 'f'},
    );
    const {source} = answer.body as {source: Readable};

    t.is(unpack(Buffer.concat((await source.toArray()) as Buffer[])).toString(), '<a href="/before/a">');
    t.is(answer.headers['Content-Length'], undefined);
  });
}

for (const where of ['pods', 'services']) {
  const root = where === 'pods' ? `${pods}/p:${shop.port}/proxy` : '/api/v1/namespaces/default/services/http:shop:http/proxy';
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    test(`${method} goes through to ${where}, and without a path to their top`, async t => {
      const reads = method === 'GET' || method === 'HEAD';
      const below = await ask1(server, {method, path: `${root}/some/path/with/${method}?a=b`, headers: {connection: 'close'}});
      const top = await ask1(server, {method, path: `${root}?a=b`, headers: {connection: 'close'}});

      t.deepEqual(
        [below.status, below.headers['x-method'], below.body.toString()],
        [200, method, method === 'HEAD' ? '' : `${method} /some/path/with/${method}?a=b`],
      );
      if (reads) t.deepEqual([top.status, top.headers['location']], [301, `${root}/?a=b`]);
      else t.deepEqual([top.status, top.body.toString()], [200, `${method} /?a=b`]);
    });
  }
}
