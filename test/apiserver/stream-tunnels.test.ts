import https from 'node:https';
import type {IncomingMessage} from 'node:http';
import {createServer, type AddressInfo} from 'node:net';
import {Duplex} from 'node:stream';
import test from 'ava';
import {SpdySession} from '#src/transport/spdy/session.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import {close, exec, pods, server, tunnelTo} from './stream-server.js';

test.after.always(close);

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
