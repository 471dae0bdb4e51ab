import {once} from 'node:events';
import {request} from 'node:http';
import type {Socket} from 'node:net';
import {PassThrough, type Readable} from 'node:stream';
import test from 'ava';
import {WebSocket} from 'ws';
import type {RunCommand} from '#src/api/node/agent.js';
import type {ApiRequest} from '#src/api/request.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemRandom} from '#src/base/random.js';
import {agentHandler} from '#src/serving/agent/handler.js';
import {inProcessServer} from '#src/serving/agent/in-process.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import {annotate, aPlaneWithNodes, podNamed, podsOf, run, describePod, type BoundPod, type NodesPlane} from './environment.js';

/** The text of a log as a client in the plane's own process reads it. */
const logOf = (plane: NodesPlane, query: Record<string, string> = {}, name = 'pod'): Promise<unknown> =>
  plane.client().request('GET', `/api/v1/namespaces/default/pods/${name}/log`, {query});

const refusalOf = (plane: NodesPlane, query: Record<string, string> = {}, name = 'pod'): Promise<string> =>
  logOf(plane, query, name).then(
    text => `not refused: ${String(text)}`,
    (error: {code: number; message: string}) => `${error.code} ${error.message}`,
  );

const after = async (plane: NodesPlane, pod: BoundPod, ms: number): Promise<void> => {
  await run(plane, pod);
  await plane.clock.advance(ms);
};

test('a container of which no rule speaks logs that it is simulated', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {}, 1_000);

  t.is(
    await logOf(plane),
    'container app of pod default/pod is simulated on node plat-node-0 and runs no program: what it logs is said by "log" in a simulation rule or in the annotation simulation.plat.io/behavior\n',
  );
});

test('a container logs the output of echo in its command', async t => {
  await using plane = await aPlaneWithNodes();
  const args = ['sh', '-c', 'echo "cost: $(COST)"; echo -n a; sleep 5; echo b >&2; echo -e "c\\nd"; exit 1'];
  await after(
    plane,
    {restartPolicy: 'Never', containers: [{name: 'app', image: 'busybox', args, env: [{name: 'COST', value: '5$$'}]}]},
    1_000,
  );
  t.is(await logOf(plane), 'cost: 5$\n');

  await plane.clock.advance(5_000);
  t.is(await logOf(plane), 'cost: 5$\nb\nac\nd\n');
  t.is(await logOf(plane, {tailLines: '2'}), 'ac\nd\n');
});

test('a container that fails may have the end of its log for a message', async t => {
  await using plane = await aPlaneWithNodes();
  const container = {
    image: 'busybox',
    args: ['sh', '-c', 'echo first; echo last; exit 1'],
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  await after(
    plane,
    {
      restartPolicy: 'Never',
      containers: [
        {name: 'app', ...container},
        {name: 'other', ...container, args: ['echo', 'well']},
      ],
    },
    1_000,
  );
  const {status} = await podNamed(plane);

  t.deepEqual(
    status?.containerStatuses?.map(({state}) => state?.terminated?.message),
    ['first\nlast\n', undefined],
  );
});

const chatty =
  '{log: [starting, {line: "tick $(COUNT) of $(POD_NAME)", after: 1s, every: 2s, times: 4}, {line: "oh\\nno", after: 3s, stream: stderr}]}';

test('a log has its lines at their times, limited as requested', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: chatty}, 100);
  t.is(await logOf(plane), 'starting\n');

  await clock.advance(20_000);
  const all = 'starting\ntick 1 of pod\ntick 2 of pod\noh\nno\ntick 3 of pod\ntick 4 of pod\n';
  t.is(await logOf(plane), all);
  t.is(await logOf(plane, {tailLines: '4'}), all.split('\n').slice(-5).join('\n'));
  t.is(await logOf(plane, {tailLines: '0'}), '');
  t.is(await logOf(plane, {tailLines: '99'}), all);
  t.is(await logOf(plane, {limitBytes: '12'}), all.slice(0, 12));
  t.is(await logOf(plane, {sinceSeconds: '16'}), 'tick 3 of pod\ntick 4 of pod\n');
  t.is(await logOf(plane, {sinceTime: '2026-01-01T00:00:03.05Z'}), 'tick 2 of pod\noh\nno\ntick 3 of pod\ntick 4 of pod\n');
  t.is(
    await logOf(plane, {timestamps: 'true', limitBytes: '80'}),
    '2026-01-01T00:00:00.100000000Z starting\n2026-01-01T00:00:01.100000000Z tick 1 of',
  );
});

test('a log of millions of lines is read to the length an agent keeps', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {behavior: '{log: [{line: "$(COUNT)", every: 1ms}, {line: rarely, every: 1h}]}'}, 100);
  await plane.clock.advance(2 * 3_600_000);
  const lines = String(await logOf(plane)).split('\n');

  t.deepEqual([lines.length, lines[0], lines.at(-2)], [100_001, '7100003', 'rarely']);
  t.deepEqual(String(await logOf(plane, {tailLines: '3'})), '7200000\n7200001\nrarely\n');
});

test('a run has a log of its own, and the one before it is kept', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: '{runFor: 5s, exitCode: 1, log: [begins, {line: "ends", after: 5s}]}'}, 1_000);
  t.is(await refusalOf(plane, {previous: 'true'}), '400 previous terminated container "app" in pod "pod" not found');
  await annotate(plane, 'pod', {'simulation.plat.io/behavior': '{runFor: 5s, exitCode: 1, log: another}'});
  await clock.drain();
  t.is(await logOf(plane), 'begins\n');

  await clock.advance(4_100);
  t.is(describePod(await podNamed(plane)), 'Running: app Error(1)');
  t.is(await logOf(plane), 'begins\nends\n');
  await clock.advance(2_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1');
  t.deepEqual([await logOf(plane), await logOf(plane, {previous: 'true'})], ['another\n', 'begins\nends\n']);

  await clock.advance(5_000);
  t.is(describePod(await podNamed(plane)), 'Running: app CrashLoopBackOff after 1');
  t.deepEqual([await logOf(plane), await logOf(plane, {previous: 'true'})], ['another\n', 'another\n']);
});

test('a log is refused where there is none, in the words of an agent', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {name: 'starting', initContainers: [{name: 'first', image: 'nginx', args: ['sleep', '1h']}]});
  await run(plane, {name: 'slow', behavior: '{pullFor: 1h}'});
  await run(plane, {name: 'broken', behavior: '{pullError: "not found"}'});
  await run(plane, {name: 'misfit', nodeSelector: {disk: 'ssd'}});
  await clock.advance(500);
  t.is(await refusalOf(plane, {}, 'starting'), '400 container "app" in pod "starting" is waiting to start: PodInitializing');
  t.is(await refusalOf(plane, {}, 'slow'), '400 container "app" in pod "slow" is waiting to start: ContainerCreating');
  t.is(await refusalOf(plane, {}, 'broken'), '400 container "app" in pod "broken" is waiting to start: image can\'t be pulled');
  t.is(await refusalOf(plane, {}, 'misfit'), '400 container "app" in pod "misfit" is not available');
  await clock.advance(1_000);
  t.is(await refusalOf(plane, {}, 'broken'), '400 container "app" in pod "broken" is waiting to start: trying and failing to pull image');
  t.is(await logOf(plane, {container: 'first'}, 'starting'), '');

  await plane
    .client()
    .resource(kinds.nodes)
    .patch('plat-node-0', 'merge', {metadata: {annotations: {'simulation.plat.io/state': 'stopped'}}});
  await clock.drain();
  t.is(
    await refusalOf(plane, {}, 'starting'),
    '500 Get "https://plat-node-0:10250/containerLogs/default/starting/app": dial tcp 10.224.0.1:10250: connect: no route to host',
  );
});

test('an instruction writes into the log of a container that runs, once', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const instruct = async (text: string) => {
    await annotate(plane, 'pod', {'simulation.plat.io/log': text});
    await clock.drain();
  };
  await run(plane, {
    containers: [
      {name: 'app', image: 'nginx', args: ['sleep', '1h']},
      {name: 'side', image: 'nginx', args: ['sleep', '1h']},
    ],
    metadata: {annotations: {'simulation.plat.io/log': 'early'}},
  });
  await clock.advance(1_000);
  t.deepEqual([await logOf(plane, {container: 'app'}), (await podNamed(plane)).metadata?.annotations], ['early\n', undefined]);
  await instruct('level=info $(COUNT)\nside=other');
  await instruct('side=again\n');
  await instruct('side=again');

  t.is(await logOf(plane, {container: 'app'}), 'early\nlevel=info $(COUNT)\n');
  t.is(await logOf(plane, {container: 'side'}), 'other\nagain\nagain\n');
});

/** Follows a log in the plane's own process. */
const following = async ({api}: NodesPlane, query = '') => {
  const caller = new AbortController();
  const request: ApiRequest = {
    method: 'GET',
    url: `/api/v1/namespaces/default/pods/pod/log?follow=true${query}`,
    headers: {},
    caller: {user: {name: 'admin', groups: ['system:masters']}},
    remoteAddress: '',
    signal: caller.signal,
  };
  const {body} = await api.handler(request);
  if (body.kind !== 'stream') throw new Error(`a log was refused: ${JSON.stringify(body)}`);
  let received = '';
  const ended = new Promise<void>(resolve => body.source.on('data', chunk => (received += String(chunk))).once('close', resolve));
  return {received: () => received, ended, leave: () => body.source.destroy()};
};

test('a followed log continues with new lines until the run ends', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(
    plane,
    {
      restartPolicy: 'Never',
      behavior: '{runFor: 5s, log: [one, {line: two, after: 3s}, {line: last, after: 5s}, {line: late, after: 6s}]}',
    },
    1_000,
  );
  const {received, ended} = await following(plane);
  await clock.advance(2_000);
  t.is(received(), 'one\n');
  await annotate(plane, 'pod', {'simulation.plat.io/log': 'between'});
  await clock.advance(1_000);
  t.is(received(), 'one\nbetween\ntwo\n');

  await clock.advance(2_000);
  await ended;
  t.is(received(), 'one\nbetween\ntwo\nlast\n');
});

test('a follower of a log may disconnect, and is ended when the pod is deleted', async t => {
  const plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: '{log: [{line: late, after: 1h}]}'}, 1_000);
  const [leaving, staying] = [await following(plane), await following(plane)];
  leaving.leave();
  await leaving.ended;
  await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  await clock.drain();
  await staying.ended;

  t.is(staying.received(), '');
  await plane.stop();
  t.is(clock.pending, 0);
});

/** The input, and whether a terminal is used. */
interface Typed {
  readonly stdin?: string | Buffer;
  readonly tty?: boolean;
}

/** Runs a command with streams of its own, and collects its output. */
const receivedFrom = (running: RunCommand, {stdin, tty = false}: Typed = {}) => {
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const leaving = new AbortController();
  const received = {stdout: [] as Buffer[], stderr: ''};
  out.on('data', (chunk: Buffer) => received.stdout.push(chunk));
  err.on('data', chunk => (received.stderr += String(chunk)));
  if (stdin !== undefined) input.end(stdin);
  const code = running({stdin: input, stdout: out, stderr: tty ? undefined : err, tty}, leaving.signal);
  return {
    input,
    code,
    leave: () => leaving.abort(),
    stdout: () => Buffer.concat(received.stdout).toString(),
    bytes: () => Buffer.concat(received.stdout),
    stderr: () => received.stderr,
  };
};

const agentOf = ({simulation}: NodesPlane) => simulation!.nodeAt('plat-node-0')!.agent!;
const app = {namespace: 'default', pod: 'pod', container: 'app'};

const exec = async (
  plane: NodesPlane,
  command: readonly string[],
  typed?: Typed,
): Promise<[code: number, stdout: string, stderr: string]> => {
  const received = receivedFrom(agentOf(plane).exec(app, command), {stdin: '', ...typed});
  return [await received.code, received.stdout(), received.stderr()];
};

const behavior = `{
  files: {/etc/motd: "hello from $(POD_NAME)\\n"},
  exec: [
    {command: ["psql *", status], stdout: "1 row\\n", stderr: "slow\\n", exitCode: 3},
    {command: tee, echo: true},
  ],
  ports: {80: {http: {status: 201, body: "$(POD_NAME)", type: text/x}}, 7: echo, 22: refuse, 13: {reply: noon}},
}`;
const long = `${'long/'.repeat(30)}name`;
const simulatedText = (command: string) =>
  `container app of pod default/pod is simulated and does not run ${JSON.stringify(command)}: what commands answer is said by "exec" in a simulation rule or in the behavior annotation\n`;

/** Commands, in order, with their input; their exit codes and output. */
const executed: readonly (readonly [command: readonly string[], typed: Typed, code: number, stdout: string, stderr: string])[] = [
  [['psql', '-c', 'select 1'], {}, 3, '1 row\n', 'slow\n'],
  [['sh', '-c', 'status'], {}, 3, '1 row\n', 'slow\n'],
  [['tee'], {stdin: 'what goes in'}, 0, 'what goes in', ''],
  [['serve', 'me'], {}, 126, '', simulatedText('serve me')],
  [['sh', '-c', 'serve | me'], {}, 126, '', simulatedText('sh -c serve | me')],
  [['sh', '-c', 'echo $WHO; echo bad >&2; exit 4'], {}, 4, 'me\n', 'bad\n'],
  [['echo', '-n', 'x'], {}, 0, 'x', ''],
  [['sh', '-c', 'status; cat'], {stdin: 'rest'}, 0, '1 row\nrest', 'slow\n'],
  [['cat', '/etc/motd', 'nothing'], {}, 1, 'hello from pod\n', 'cat: nothing: No such file or directory\n'],
  [['sh', '-c', 'echo kept > /work/file && cat file; test -f file || exit 5; ls'], {}, 0, 'kept\nfile\n', ''],
  [['test', '-d', '/work'], {}, 0, '', ''],
  [['[', '-e', '/none', ']'], {}, 1, '', ''],
  [
    ['sh', '-c', `mkdir -p /data && touch /data/${long} && rm /work/file; ls /data; cat file`],
    {},
    1,
    'long\n',
    'cat: file: No such file or directory\n',
  ],
  [['sh'], {stdin: 'echo one\nfalse\n\nserve\nexit 7\necho two\n'}, 7, 'one\n', simulatedText('serve')],
  [['sh'], {stdin: 'false'}, 1, '', ''],
  [
    ['bash'],
    {stdin: 'ecko\x7f\x7fho hi\rbad\u0003\u001b[A\u0004', tty: true},
    0,
    '/work # ecko\b \b\b \bho hi\r\nhi\r\n/work # bad^C\r\n/work # ',
    '',
  ],
  [['tar', 'cf', '-', '/none'], {}, 2, '\0'.repeat(1024), 'tar: /none: Cannot stat: No such file or directory\n'],
  [['tar', '-xmf', '-'], {stdin: 'x'.repeat(512)}, 2, '', 'tar: This does not look like a tar archive\n'],
  [['tar', 'tf', '/some.tar'], {}, 126, '', simulatedText('tar tf /some.tar')],
];

test('commands in a container act as rules or their text define', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {behavior, containers: [{name: 'app', image: 'web', workingDir: '/work', env: [{name: 'WHO', value: 'me'}]}]}, 1_000);
  for (const [command, typed, ...expected] of executed) t.deepEqual(await exec(plane, command, typed), expected, command.join(' '));
});

test('files are copied into a container and out of it as archives, within its space', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {behavior}, 1_000);
  await exec(plane, ['sh', '-c', `touch /from/a /from/${long}; echo text > /from/b/c`]);
  const packed = receivedFrom(agentOf(plane).exec(app, ['tar', 'cf', '-', '-C', '/', 'from']), {stdin: ''});
  t.is(await packed.code, 0);
  t.deepEqual(await exec(plane, ['tar', '-xmf', '-', '-C', '/to'], {stdin: packed.bytes()}), [0, '', '']);
  t.deepEqual(await exec(plane, ['sh', '-c', `cat /to/from/b/c; test -f /to/from/${long}`]), [0, 'text\n', '']);
  t.deepEqual(await exec(plane, ['tar', '-xf', '-'], {stdin: packed.bytes().subarray(0, 1539)}), [
    2,
    '',
    'tar: Unexpected EOF in archive\n',
  ]);

  const much = Buffer.concat([packed.bytes().subarray(512, 1024), Buffer.alloc(1024)]);
  much.write('00200000000', 124); // 32 MiB, to which the checksum is made to fit.
  much.write('        ', 148);
  const sum = much.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  much.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  t.deepEqual(await exec(plane, ['tar', '-xf', '-'], {stdin: much}), [2, '', 'tar: No space left on device\n']);
});

test('a command ends with its container, and with its client', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(plane, {behavior: '{exec: [{command: slow, after: 5s, stdout: done}]}'}, 1_000);
  const [slow, killed, left] = ['slow', 'sleep infinity', 'cat'].map(command => receivedFrom(agentOf(plane).exec(app, command.split(' '))));
  await clock.advance(4_999);
  t.is(slow!.stdout(), '');
  await clock.advance(1);
  t.deepEqual([await slow!.code, slow!.stdout()], [0, 'done']);
  left!.leave();
  t.is(await left!.code, 137);
  await annotate(plane, 'pod', {'simulation.plat.io/kill': 'app'});
  await clock.drain();
  t.is(await killed!.code, 137);

  const {code, message} = t.throws(() => agentOf(plane).exec(app, ['true'])) as Error & {code: number};
  t.deepEqual([code, message], [500, 'container not found ("app")']);
  t.throws(() => agentOf(plane).exec({...app, container: 'other'}, ['true']), {message: 'container "other" not found in pod "pod"\n'});
  t.throws(() => agentOf(plane).attach({...app, pod: 'other'}), {message: 'pod "other" does not exist\n'});
});

test('an attached client receives output from then on, until the container ends', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await after(
    plane,
    {restartPolicy: 'Never', behavior: '{runFor: 5s, log: [one, {line: two, after: 3s}, {line: three, after: 4s, stream: stderr}]}'},
    1_000,
  );
  const received = receivedFrom(agentOf(plane).attach(app));
  await clock.advance(5_000);

  t.deepEqual([await received.code, received.stdout(), received.stderr()], [0, 'two\n', 'three\n']);
});

test('attaching to a container without a rule reports that it is simulated', async t => {
  await using plane = await aPlaneWithNodes();
  await after(plane, {}, 1_000);
  const received = receivedFrom(agentOf(plane).attach(app));
  await plane.clock.drain();
  received.leave();
  await received.code;

  t.regex(received.stdout(), /^container app of pod default\/pod is simulated .*\n$/);
});

test('input to a program that copies it comes back, and is in its log', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {restartPolicy: 'Never', containers: [{name: 'app', image: 'busybox', args: ['cat'], stdin: true, stdinOnce: true}]});
  await run(plane, {name: 'shut', restartPolicy: 'Never', containers: [{name: 'app', image: 'busybox', args: ['cat']}]});
  await clock.advance(60_000);
  t.deepEqual(
    [describePod(await podNamed(plane)), describePod(await podNamed(plane, 'shut'))],
    ['Running: app ready', 'Succeeded: app Completed(0)'],
  );
  const received = receivedFrom(agentOf(plane).attach(app), {stdin: 'typed\nand more'});
  await clock.advance(1_000);

  t.deepEqual([await received.code, received.stdout()], [0, 'typed\nand more\n']);
  t.deepEqual([await logOf(plane), describePod(await podNamed(plane))], ['typed\nand more\n', 'Succeeded: app Completed(0)']);
});

test('an attached shell ends its container on exit', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const container = {name: 'app', image: 'busybox', command: ['sh'], stdin: true, tty: true};
  await after(plane, {restartPolicy: 'Never', containers: [container]}, 1_000);
  const received = receivedFrom(agentOf(plane).attach(app), {stdin: 'echo hi\rexit 3\r', tty: true});
  await received.code;
  await clock.advance(1_000);

  t.is(received.stdout(), '/ # echo hi\r\nhi\r\n/ # exit 3\r\n');
  t.deepEqual([await logOf(plane), describePod(await podNamed(plane))], ['/ # echo hi\nhi\n/ # exit 3\n', 'Failed: app Error(3)']);
});

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
    createHttpServer(agentHandler({agent: agentOf(plane), naming: plane.naming, clock: plane.clock, failed}), {
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
  const handler = agentHandler({agent: agentOf(plane), naming: plane.naming, clock: plane.clock, failed: error => t.fail(String(error))});
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
