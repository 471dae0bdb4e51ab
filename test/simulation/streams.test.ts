import {PassThrough} from 'node:stream';
import test from 'ava';
import type {RunCommand} from '#src/api/node/agent.js';
import {annotate, aPlaneWithNodes, podNamed, run, describePod, type NodesPlane} from './environment.js';
import {after, agentOf, app, behavior, logOf} from './containers.js';

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

const exec = async (
  plane: NodesPlane,
  command: readonly string[],
  typed?: Typed,
): Promise<[code: number, stdout: string, stderr: string]> => {
  const received = receivedFrom(agentOf(plane).exec(app, command), {stdin: '', ...typed});
  return [await received.code, received.stdout(), received.stderr()];
};

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
