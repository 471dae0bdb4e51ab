import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {once} from 'node:events';
import {request} from 'node:http';
import type {Socket} from 'node:net';
import type {Readable} from 'node:stream';
import test from 'ava';
import {WebSocket} from 'ws';
import {systemRandom} from '#src/base/random.js';
import {agentHandler} from '#src/serving/agent/handler.js';
import {inProcessServer} from '#src/serving/agent/in-process.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import {aPlaneWithNodes, run, type NodesPlane} from './environment.js';
import {after, agentOf, app, behavior} from './containers.js';

/** The response to a client that connects to a port of the pod and sends this. */
const answerAt = async (plane: NodesPlane, port: number, output?: string): Promise<string> => {
  const [near, far] = duplexPair();
  agentOf(plane).listener(app, port)(far);
  let received = '';
  near.on('data', chunk => (received += String(chunk)));
  if (output !== undefined) near.end(output);
  await plane.clock.advance(1_000);
  return received;
};

test('ports answer by rules, or refuse the connection', async t => {
  await using plane = await aPlaneWithNodes();
  await run(plane, {name: 'slow', behavior: '{pullFor: 1h}'});
  await after(plane, {behavior}, 1_000);
  const refusalAt = (port: number) =>
    `pod default/pod is simulated and nothing listens at its port ${port}: what answers is said by "ports" in a simulation rule or in the behavior annotation\n`;

  t.is(await answerAt(plane, 7, 'there and back'), 'there and back');
  t.is(await answerAt(plane, 13), 'noon');
  t.is(await answerAt(plane, 5432, '\0startup'), refusalAt(5432));
  t.is(await answerAt(plane, 5432), refusalAt(5432));
  t.regex(
    await answerAt(plane, 80, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    /^HTTP\/1\.1 201 Created\r\ncontent-type: text\/x\r\ncontent-length: 3\r\n[^]*\r\n\r\npod$/,
  );
  t.regex(
    await answerAt(plane, 81, 'POST /x?y HTTP/1.1\r\nHost: z\r\nContent-Length: 4\r\n\r\nbody'),
    /^HTTP\/1\.1 200 OK\r\n[^]*pod: pod\nPOST \/x\?y\nHost: z\nContent-Length: 4\n\n[^]*body/,
  );
  t.true((await answerAt(plane, 8080, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).endsWith(`\r\n\r\n${refusalAt(8080)}`));
  t.throws(() => agentOf(plane).listener(app, 22), {message: 'dial tcp4 127.0.0.1:22: connect: connection refused'});
  t.throws(() => agentOf(plane).listener({...app, pod: 'slow'}, 80), {message: 'pod not found ("default_slow")'});
});

test('calls through the server reach pods at their addresses', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {behavior}, 1_000);
  const call = (port: number) =>
    plane
      .client()
      .request('GET', `/api/v1/namespaces/default/pods/pod:${port}/proxy/x`)
      .catch((error: Error) => error.message);

  t.is(await call(80), 'pod');
  t.is(await call(22), 'error trying to reach service: dial tcp 10.128.0.2:22: connect: connection refused');
});

/** A connection to the HTTP surface of the node's agent. */
const connectionTo = (plane: NodesPlane): Socket => {
  const failed = (error: unknown) => {
    throw error;
  };
  const server = inProcessServer(
    createHttpServer(agentHandler({agent: agentOf(plane), naming: plane.naming, clock: plane.clock, outputs: new OutputBudget(), failed}), {
      clock: plane.clock,
      random: systemRandom,
    }),
  );
  return server.connect() as Socket;
};

const webSocketTo = (plane: NodesPlane, path: string, protocol: string): WebSocket =>
  new WebSocket(`ws://node${path}`, protocol ? [protocol] : [], {createConnection: () => connectionTo(plane)});

/** A session that forwards ports. */
const portsOf = (plane: NodesPlane): Promise<SpdySession> =>
  new Promise((resolve, reject) => {
    const headers = {connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'portforward.k8s.io'};
    const outgoing = request({path: '/portForward/default/pod', method: 'POST', headers, createConnection: () => connectionTo(plane)});
    outgoing
      .once('upgrade', (_, socket, head) => resolve(new SpdySession(socket, {side: 'client', head})))
      .once('error', reject)
      .end();
  });

/** The data on each channel until the connection is closed, or `enough` returns true. */
const channelsOf = async (
  client: WebSocket,
  isText: boolean,
  enough: (received: Record<number, string>) => boolean = () => false,
): Promise<Record<number, string>> => {
  const received: Record<number, string> = {};
  const closed = once(client, 'close');
  client.on('message', (data: Buffer) => {
    const channel = isText ? data[0]! - 48 : data[0]!;
    received[channel] =
      (received[channel] ?? '') + (isText ? Buffer.from(data.subarray(1).toString(), 'base64') : data.subarray(1)).toString('latin1');
    if (enough(received)) client.close();
  });
  await closed;
  return received;
};

for (const [protocol, typed, ending] of [
  ['v5.channel.k8s.io', [Buffer.from('\0typed'), Buffer.from([255, 0])], '{"metadata":{},"status":"Success"}'],
  ['v4.channel.k8s.io', [Buffer.from('\0typed\nexit 3\n')], /"reason":"NonZeroExitCode".*"ExitCode","message":"3"/],
  ['v4.base64.channel.plat.io', [`0${Buffer.from('typed\nexit 3\n').toString('base64')}`, 'x'], /"ExitCode","message":"3"/],
  ['channel.k8s.io', [Buffer.from('\0typed\nexit 3\n')], 'command terminated with non-zero exit code: exit code 3'],
  ['', [Buffer.from('\0exit\n')], undefined],
] as const) {
  test(`an agent runs commands over WebSocket in the way ${protocol || 'that has no name'}`, async t => {
    await using plane = await aPlaneWithNodes();
    await after(plane, {behavior: '{exec: [{command: typed, stdout: "said\\n"}]}'}, 1_000);
    const client = webSocketTo(plane, '/exec/default/pod/app?command=sh&input=1&output=1&error=1', protocol);
    client.once('open', () => typed.forEach(each => client.send(each)));
    const received = await channelsOf(client, protocol.includes('base64'));

    t.is(client.protocol, protocol);
    t.is(received[1], protocol ? 'said\n' : '');
    if (typeof ending === 'object') t.regex(received[3]!, ending);
    else t.is(received[3] || undefined, ending);
  });
}

for (const protocol of ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io']) {
  test(`an agent forwards ports over WebSocket in the way ${protocol}`, async t => {
    await using plane = await aPlaneWithNodes();
    await after(plane, {behavior: '{ports: {7: echo, 22: refuse, 13: {reply: noon}}}'}, 1_000);
    const isText = protocol.includes('base64');
    const client = webSocketTo(plane, '/portForward/default/pod?port=7,22&port=13', protocol);
    client.once('open', () => client.send(isText ? `0${Buffer.from('echoed').toString('base64')}` : Buffer.from('\0echoed')));
    const received = await channelsOf(
      client,
      isText,
      ({0: echoed = '', 3: error = '', 4: reply = ''}) => echoed.length === 8 && error.length > 2 && reply.length === 6,
    );

    t.deepEqual(received, {
      0: '\u0007\0echoed',
      1: '\u0007\0',
      2: '\u0016\0',
      4: '\r\0noon',
      5: '\r\0',
      3: '\u0016\0error forwarding port 22 to pod default/pod: dial tcp4 127.0.0.1:22: connect: connection refused',
    });
  });
}

test('an agent forwards no port for a stream whose stream for errors was given up', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {behavior: '{ports: {13: {reply: noon}}}'}, 1_000);
  const session = await portsOf(plane);
  const open = (streamtype: string, requestid: string) => session.open({streamtype, requestid, port: '13'});
  const output = async (stream: Readable) => Buffer.concat(await stream.toArray()).toString();
  open('error', '1');
  t.is(await output(open('data', '1')), 'noon');
  open('error', '2').destroy();
  t.is(await output(open('data', '2')), '');
  t.is(await output(open('data', '3')), '');
  session.close();
});

for (const path of ['/exec/default/pod/app?command=sh&input=1&output=1', '/portForward/default/pod?port=7']) {
  test(`a message in base64 that is too long to be decoded at once ends the connection: ${path}`, async t => {
    await using plane = await aPlaneWithNodes();
    await after(plane, {behavior: '{ports: {7: echo}}'}, 1_000);
    const client = webSocketTo(plane, path, 'v4.base64.channel.k8s.io');
    client.on('error', () => {});
    client.once('open', () => client.send(`0${Buffer.alloc(6 << 20).toString('base64')}AAAA`));
    const [code] = (await once(client, 'close')) as [number];

    t.is(code, 1006);
  });
}

/** Requests to an agent, and how it refuses them. */
const refusals: readonly (readonly [path: string, status: number, text: string])[] = [
  ['/healthz', 200, 'ok'],
  ['/none', 404, '404 page not found\n'],
  ['/%zz', 400, '400: Bad Request'],
  ['/containerLogs/default/pod/app?tailLines=x', 400, '{"message":"Unable to decode query."}'],
  ['/containerLogs/default/pod/app?sinceTime=now', 400, '{"message":"Unable to decode query."}'],
  ['/containerLogs/default/pod/app?limitBytes=0', 422, '{"message":"Invalid request."}'],
  ['/containerLogs/default/pod/app?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', 422, '{"message":"Invalid request."}'],
  ['/containerLogs/default/pod/app?stream=Stdout&tail=1', 422, '{"message":"Invalid request."}'],
  ['/containerLogs/default/pod/app?stream=Stderr&tail=all', 200, ''],
  ['/containerLogs/default/pod', 400, '{"message":"Missing container name."}'],
  ['/containerLogs/default/other/app', 404, 'pod "other" does not exist\n'],
  ['/containerLogs/default/pod/other', 404, 'container "other" not found in pod "pod"\n'],
  ['/exec/default/pod/app?command=true', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
  ['/exec/default/pod/app?command=true&output=1', 400, 'unable to upgrade: missing upgrade headers in request'],
  ['/exec/default/pod', 404, '404 page not found\n'],
  ['/attach/default/pod/uid/other?output=1', 404, 'container "other" not found in pod "pod"\n'],
  ['/portForward/default/pod', 400, 'unable to upgrade: missing upgrade headers in request'],
];

test('an agent refuses missing or invalid targets', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {}, 1_000);
  const handler = agentHandler({
    agent: agentOf(plane),
    naming: plane.naming,
    clock: plane.clock,
    outputs: new OutputBudget(),
    failed: error => t.fail(String(error)),
  });
  for (const [url, status, text] of refusals) {
    const answer = await handler({
      method: 'GET',
      url,
      headers: {},
      caller: {user: {name: 'x', groups: []}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    const {body} = answer;
    const output = body.kind === 'bytes' ? body.bytes : body.kind === 'stream' ? (await body.source.toArray()).join('') : body.kind;
    t.deepEqual([answer.status, String(output)], [status, text], url);
  }
});
