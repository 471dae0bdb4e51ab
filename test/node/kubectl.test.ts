import {spawn, type ChildProcessWithoutNullStreams} from 'node:child_process';
import {once} from 'node:events';
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Container, Pod} from '#src/api/pod.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {aDirectory, Program} from '#test/cli/programs.js';
import {agentFlags, nodeSettings} from './agent-program.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

let node: Containerd;
let plane: Plane;
let agent: Program;
const directory = aDirectory();
const name = 'worker';

const startAgent = async (): Promise<Program> => {
  const settings = await nodeSettings(plane, directory, node.agentFolder, name);
  const program = new Program('platlet', agentFlags(node, {name, settings, port: 19450, healthPort: 19448}));
  await program.waitFor(/^ready: /m);
  return program;
};

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  plane = await startPlane({
    naming: 'kubernetes',
    dataDir: directory,
    bootstrapTokens: true,
    apiserverArgs: ['--platlet-preferred-address-types=InternalIP'],
    controllers: ['serviceaccount-controller', 'root-ca-certificate-publisher-controller'],
  });
  agent = await startAgent();
});

test.after.always(async () => {
  if (containersMissing) return;
  await agent?.stop();
  await plane?.stop();
  await node?.stop();
});

const pods = () => plane.client().resource(kinds.pods);
const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', '--kubeconfig', join(directory, 'kubeconfig'), ...args);

/** Creates a pod of a container that runs a script, and waits until it is as wanted. */
const aPod = async (
  t: ExecutionContext,
  pod: string,
  script: string,
  isWanted: (pod: Pod) => boolean,
  {terminationGracePeriodSeconds = 1, ...more}: {readonly terminationGracePeriodSeconds?: number} & Partial<Container> = {},
): Promise<Pod> => {
  await pods().create({
    metadata: {name: pod, namespace: 'default'},
    spec: {
      nodeName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds,
      containers: [{name: 'app', image: recipes.busybox.reference, command: ['sh', '-c', script], ...more}],
    },
  });
  return becomes(t, pod, isWanted);
};

const becomes = async (t: ExecutionContext, pod: string, isWanted: (pod: Pod) => boolean): Promise<Pod> => {
  const end = Date.now() + 30_000;
  for (;;) {
    const found = await pods().get(pod, {namespace: 'default'});
    if (isWanted(found)) return found;
    if (Date.now() > end) t.fail(`waited in vain for ${pod}: ${JSON.stringify(found.status)}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};

const isReady = ({status}: Pod): boolean => status?.containerStatuses?.[0]?.ready === true;

/** A kubectl that runs, with what it prints. */
class Session implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  output = '';

  constructor(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(program, args, {env: {...process.env, KUBECONFIG: join(directory, 'kubeconfig'), ...env}});
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => void (this.output += text));
  }

  /** Waits until it has printed something. */
  async shows(t: ExecutionContext, pattern: RegExp): Promise<void> {
    const end = Date.now() + 10_000;
    while (!pattern.test(this.output) && Date.now() < end) await new Promise(resolve => setTimeout(resolve, 20));
    t.regex(this.output, pattern);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const closed = once(this.child, 'close');
    this.child.kill('SIGKILL');
    await closed;
  }
}

contained('kubectl follows a log until the container ends', async t => {
  await aPod(t, 'counter', 'n=0; while [ ! -e /stop ]; do n=$((n+1)); echo "line $n"; sleep 0.1; done; echo last', isReady);
  await using session = new Session('kubectl', ['logs', '-f', 'counter']);
  await session.shows(t, /^line 1\nline 2\nline 3\n/);
  const closed = once(session.child, 'close');
  await kubectl('exec', 'counter', '--', 'touch', '/stop');
  t.deepEqual((await closed)[0], 0);
  t.regex(session.output, /\nlast\n$/);
});

contained('kubectl shows the log of the container before', async t => {
  await aPod(t, 'restarting', 'echo run; sleep 0.2; exit 1', ({status}) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  t.is(await kubectl('logs', '--previous', 'restarting'), 'run\n');
});

contained('kubectl attaches to a container and writes to it', async t => {
  await aPod(t, 'reader', 'while read line; do echo "read $line"; done', isReady, {stdin: true});
  await using session = new Session('kubectl', ['attach', '-i', 'reader']);
  session.child.stdin.write('one\n');
  await session.shows(t, /read one\n/);
});

contained('kubectl forwards a port to a pod', async t => {
  await aPod(t, 'web', 'mkdir /www; echo page > /www/index.html; exec httpd -f -p 8080 -h /www', isReady);
  await using session = new Session('kubectl', ['port-forward', 'pod/web', ':8080']);
  await session.shows(t, /Forwarding from 127\.0\.0\.1:\d+/);
  const port = /127\.0\.0\.1:(\d+)/.exec(session.output)![1]!;
  for (let count = 0; count < 3; count++) {
    const response = await fetch(`http://127.0.0.1:${port}/`, {headers: {connection: 'close'}});
    t.is(await response.text(), 'page\n');
  }
});

/** What newer clients of kubectl open streams with, and what all do. */
const protocols: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  WebSocket: {},
  SPDY: {KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false'},
};

for (const [protocol, env] of Object.entries(protocols))
  contained(`kubectl ends the input of a command, gets its exit code, and reaches a port over ${protocol}`, async t => {
    await using command = new Session('kubectl', ['exec', '-i', 'web', '--', 'sh', '-c', 'wc -c; exit 5'], env);
    const closed = once(command.child, 'close');
    command.child.stdin.end('x'.repeat(100_000));
    t.is((await closed)[0], 5);
    t.regex(command.output, /^100000\ncommand terminated with exit code 5\n$/);

    await using forward = new Session('kubectl', ['port-forward', 'pod/web', ':8080'], env);
    await forward.shows(t, /Forwarding from 127\.0\.0\.1:\d+/);
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(forward.output)!;
    t.is(await (await fetch(`http://127.0.0.1:${port}/`, {headers: {connection: 'close'}})).text(), 'page\n');
  });

contained('a deleted pod runs its hook, ends at once when it is deleted with less time, and leaves nothing', async t => {
  const uid = (
    await aPod(t, 'slow', 'trap "" TERM; while true; do sleep 0.1; done', isReady, {
      terminationGracePeriodSeconds: 120,
      lifecycle: {preStop: {exec: {command: ['sh', '-c', 'echo "the hook runs" > /proc/1/fd/1']}}},
    })
  ).metadata!.uid!;
  await using log = new Session('kubectl', ['logs', '-f', 'slow']);
  await kubectl('delete', 'pod', 'slow', '--wait=false');
  await log.shows(t, /^the hook runs\n/);
  const deleted = Date.now();
  await kubectl('delete', 'pod', 'slow', '--grace-period=1', '--wait=false');
  await kubectl('wait', '--for=delete', 'pod/slow', '--timeout=30s');

  t.true(Date.now() - deleted < 30_000);
  const left = () => [...node.leftovers().filter(text => text.includes(uid)), ...readdirSync(join(node.agentFolder, 'root/pods'))];
  await untilWithin(10)(t, 'nothing is left of it', async () => !left().join().includes(uid));
});

contained('kubectl runs a command with a terminal of its size', async t => {
  const command = 'stty rows 33 cols 77; kubectl exec -it web -- sh -c "sleep 0.3; stty size; echo done"';
  await using session = new Session('script', ['-qec', command, '/dev/null']);
  await session.shows(t, /33 77\r*\n+done/);
});

contained('an agent that was killed finds its containers again', async t => {
  const states = async () =>
    (await pods().list({namespace: 'default'})).items
      .filter(pod => pod.metadata?.name !== 'restarting')
      .flatMap(({status}) => status?.containerStatuses ?? [])
      .filter(({state}) => state?.running)
      .map(({containerID, restartCount, state}) => `${containerID} ${restartCount} ${String(state?.running?.startedAt)}`);
  await kubectl('delete', 'pod', 'restarting', '--wait=false');
  const before = await states();
  t.true(before.length >= 2);
  await agent.stop('SIGKILL');
  agent = await startAgent();
  await aPod(t, 'later', 'exec sleep 600', isReady); // It works on pods again.
  const after = await states();
  for (const state of before) t.true(after.includes(state), state);
  t.is(await kubectl('exec', 'web', '--', 'cat', '/www/index.html'), 'page\n');
});
