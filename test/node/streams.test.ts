import {randomBytes} from 'node:crypto';
import {Duplex, PassThrough, Readable, Writable} from 'node:stream';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {RuntimeError, type ProcessStreams} from '#src/platlet/runtime/runtime.js';
import {startContainerd, type Containerd} from './containerd.js';
import {aContainer, aSandbox, removePods} from './pods.js';
import {containersMissing} from './requirements.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.serial.skip : test.serial;

let node: Containerd;
let runtime: CriRuntime;
let sandbox: string;
let container: string;

const never = new AbortController().signal;

const started = async (name: string, script: string, changes: Partial<Parameters<typeof aContainer>[2]> = {}) => {
  const config = aSandbox(node, name);
  const pod = await runtime.runSandbox(config, '');
  const id = await runtime.createContainer(pod, aContainer(config, script, changes), config);
  await runtime.startContainer(id);
  return {pod, id};
};

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  runtime = new CriRuntime({endpoint: node.endpoint, requestTimeoutMs: 20_000, clock: systemClock});
  ({pod: sandbox, id: container} = await started(
    'streams',
    '(while :; do nc -l -p 80 -e cat; done) & echo main is there; read line; echo got $line; exit 5',
    {stdin: true},
  ));
});

test.after.always(async () => {
  if (containersMissing) return;
  await removePods(runtime).catch(() => {});
  await runtime[Symbol.asyncDispose]();
  await node.stop();
});

/** A stream that collects what is written. */
const sink = () => {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  return {stream, text: () => Buffer.concat(chunks).toString(), bytes: () => Buffer.concat(chunks)};
};

const exec = async (script: string, streams: Partial<ProcessStreams> = {}, signal = never): Promise<number> =>
  await runtime.exec(container, ['sh', '-c', script], {tty: false, ...streams}, signal);

contained('a command has its input to the end, and gives its output and exit code', async t => {
  const [out, err] = [sink(), sink()];
  const script = 'cat; echo all read; echo trouble >&2; exit 7';

  const code = await exec(script, {
    stdin: Readable.from([Buffer.from('one\n'), Buffer.from('two\n')]),
    stdout: out.stream,
    stderr: err.stream,
  });

  t.deepEqual([code, out.text(), err.text()], [7, 'one\ntwo\nall read\n', 'trouble\n']);
  t.is(await exec('true', {stdout: out.stream}), 0);
  t.false(out.stream.writableEnded);
  await t.throwsAsync(runtime.exec(container, ['absent'], {tty: false, stdout: out.stream}, never), {
    instanceOf: RuntimeError,
    message: /absent/,
  });
});

contained('a large input comes back whole, and waits for a slow reader', async t => {
  const content = randomBytes(3 << 20);
  let held = 0;
  let most = 0;
  const received: Buffer[] = [];
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _, done) {
      received.push(chunk);
      held += chunk.length;
      most = Math.max(most, chunk.length);
      setImmediate(done);
    },
  });

  t.is(await exec('cat', {stdin: Readable.from([content.subarray(0, 1 << 20), content.subarray(1 << 20)]), stdout: slow}), 0);

  t.is(held, content.length);
  t.true(Buffer.concat(received).equals(content));
  t.true(most <= 1 << 20);
});

contained('a terminal has the size that it is given', async t => {
  const out = sink();
  async function* sizes() {
    yield {width: 101, height: 33};
  }

  const code = await exec('for i in 1 2 3 4 5 6 7 8 9; do [ "$(stty size)" = "33 101" ] && break; sleep 0.1; done; stty size; tty', {
    stdin: new PassThrough(),
    stdout: out.stream,
    tty: true,
    sizes: sizes(),
  });

  t.is(code, 0);
  t.regex(out.text(), /33 101\r\n\/dev\/pts\/\d+\r\n$/);
});

contained('an abort ends a command', async t => {
  const abort = new AbortController();
  const out = sink();
  const running = exec('echo begun; sleep 100', {stdout: out.stream}, abort.signal);
  while (out.text() === '') await new Promise(resolve => setTimeout(resolve, 10));

  abort.abort(new Error('enough'));

  await t.throwsAsync(running, {message: 'enough'});
  await t.throwsAsync(exec('true', {stdout: out.stream}, abort.signal), {message: 'enough'});
});

/** Two ends of a connection. */
const connection = () => {
  const [toPod, fromPod] = [new PassThrough(), new PassThrough()];
  return {
    near: Duplex.from({readable: fromPod, writable: toPod}) as Duplex,
    far: Duplex.from({readable: toPod, writable: fromPod}) as Duplex,
  };
};

contained('a port of a pod is reached, and one that nobody listens at is refused', async t => {
  const {near, far} = connection();
  const received = sink();
  near.pipe(received.stream);
  const forwarding = runtime.portForward(sandbox, 80, far, never);
  near.end('echo this');
  await forwarding;
  t.is(received.text(), 'echo this');

  const refused = connection();
  refused.near.resume().end();
  const error = await t.throwsAsync(runtime.portForward(sandbox, 81, refused.far, never), {instanceOf: RuntimeError});
  t.regex(error?.message ?? '', /failed to connect to localhost:81 inside namespace/);
});

contained('one attaches to the main process', async t => {
  const out = sink();
  const stdin = new PassThrough();
  const attached = runtime.attach(container, {stdin, stdout: out.stream, tty: false}, never);
  stdin.write('the line\n');

  t.is(await attached, 0);

  t.is(out.text(), 'got the line\n');
  stdin.destroy();
  while ((await runtime.containerStatus(container)).state === 'running') await new Promise(resolve => setTimeout(resolve, 10));
  t.is((await runtime.containerStatus(container)).exitCode, 5);
});

contained('a runtime that is restarted is called again, and pending calls fail', async t => {
  const other = await started('survivor', 'sleep 100');
  const pending = runtime.execSync(other.id, ['sleep', '50'], 0);
  pending.catch(() => {});
  await new Promise(resolve => setTimeout(resolve, 200));

  await node.kill();

  t.is((await t.throwsAsync(pending, {instanceOf: RuntimeError}))?.kind, 'unavailable');
  const error = await t.throwsAsync(runtime.status(), {instanceOf: RuntimeError});
  t.is(error?.kind, 'unavailable');
  t.regex(
    error?.message ?? '',
    /^rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix .*: connect: /,
  );
  await node.start();
  t.is((await runtime.containerStatus(other.id)).state, 'running');

  node.freeze(true);
  // A signal reaches the threads one after the other.
  await new Promise(resolve => setTimeout(resolve, 200));
  await using impatient = new CriRuntime({endpoint: node.endpoint, requestTimeoutMs: 300, clock: systemClock});
  const [late] = await Promise.all([
    t.throwsAsync(impatient.version(), {instanceOf: RuntimeError}),
    new Promise(resolve => setTimeout(resolve, 500)),
  ]);
  t.true(['timeout', 'unavailable'].includes(late?.kind ?? ''));
  node.freeze(false);
  t.is((await runtime.version()).name, 'containerd');
});
