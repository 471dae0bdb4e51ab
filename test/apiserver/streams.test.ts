import {once} from 'node:events';
import https from 'node:https';
import type {IncomingMessage} from 'node:http';
import tls from 'node:tls';
import test from 'ava';
import {WebSocket} from 'ws';
import type {Status} from '#src/api/status.js';
import {ask1, bothVersions} from '#test/serving/server.js';
import {agent, close, exec, messageOf, off, pods, server, v5, webSocket} from './stream-server.js';

test.after.always(close);

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
