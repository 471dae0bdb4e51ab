import {execFile, spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {createServer as createHttp, get} from 'node:http';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {connect, createServer, type AddressInfo} from 'node:net';
import {networkInterfaces, tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {authorityPem} from '#src/pki/authority.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {anAgent, type TestAgent} from '#test/apiserver/agent.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {bareEnvironment, hasKubectl, Kubectl} from './kubectl.js';
import {hasPython, runPython} from './python.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-streams-'));
const settings = join(directory, 'kubeconfig');
/** Older ones do not speak WebSocket by themselves. */
const fits = hasKubectl(31);
let plane: Plane;
let agent: TestAgent;
let kubectl: Kubectl;

const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text, {mode: 0o600});
  return path;
};

test.before(async () => {
  if (!fits) return;
  const callers = await anAuthority('callers');
  const pair = await aPair(callers, {commonName: 'the-server'}, 'client auth');
  agent = await anAgent({clientCa: authorityPem(callers).certificate});
  plane = await startPlane({
    naming: 'kubernetes',
    nodes: 1,
    kubeconfig: settings,
    controllerManagerArgs: ['--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller'],
    apiserverArgs: [
      `--platlet-certificate-authority=${file('ca.crt', agent.ca)}`,
      `--platlet-client-certificate=${file('client.crt', pair.cert)}`,
      `--platlet-client-key=${file('client.key', pair.key)}`,
      '--platlet-preferred-address-types=InternalIP',
    ],
  });
  kubectl = new Kubectl(settings);
  const client = plane.client();
  const accounts = client.resource(kinds.serviceAccounts);
  while ((await accounts.list({namespace: 'default'})).items.length === 0) await setImmediate();
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {name: 'n'},
    status: {addresses: [{type: 'InternalIP', address: '127.0.0.1'}], daemonEndpoints: {kubeletEndpoint: {Port: agent.port}}},
  };
  await kubectl.ok('create -f -', JSON.stringify(node));
  const pod = (name: string, podIP: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name},
    spec: {nodeName: 'n', containers: [{name: 'c', image: 'x', stdin: true}]},
    status: {phase: 'Running', podIPs: [{ip: podIP}], podIP},
  });
  for (const object of [pod('p', '10.1.1.1'), pod('here', ownAddress ?? '10.1.1.2')]) {
    await kubectl.ok('create -f -', JSON.stringify(object));
    await kubectl.okay(['replace', '--subresource=status', '-f', '-'], JSON.stringify(object));
  }
});
test.after.always(async () => {
  kubectl?.[Symbol.dispose]();
  await plane?.stop();
  await agent?.[Symbol.asyncDispose]();
  rmSync(directory, {recursive: true, force: true});
});

/** An address by which this machine reaches itself, and which calls may lead to. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap(found => found ?? [])
  .find(({internal, family}) => !internal && family === 'IPv4')?.address;
if (!ownAddress) console.log('skipped: this machine has no address but that of itself');

const sees = fits ? test : test.skip;
const ways = {
  WebSocket: {KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'true', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'true'},
  SPDY: {KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false'},
};

/** A running kubectl, and its output so far. */
const running = (
  args: readonly string[],
  env: object = {},
): {readonly child: ChildProcess; until(pattern: RegExp): Promise<RegExpExecArray>} => {
  const child = spawn('kubectl', args, {env: {...bareEnvironment, HOME: directory, KUBECONFIG: settings, ...env}});
  let output = '';
  child.stdout.on('data', chunk => (output += String(chunk)));
  child.stderr.on('data', chunk => (output += String(chunk)));
  return {
    child,
    async until(pattern) {
      for (;;) {
        const found = pattern.exec(output);
        if (found) return found;
        if (child.exitCode !== null) throw new Error(`kubectl ended: ${output}`);
        await Promise.race([once(child.stdout!, 'data'), once(child.stderr!, 'data'), once(child, 'close')]);
      }
    },
  };
};
const stopped = async (child: ChildProcess): Promise<void> => {
  const over = once(child, 'close');
  child.kill();
  await over;
};

sees('kubectl logs shows a log, follows it and says what it will not', async t => {
  t.is(await kubectl.ok('logs p --tail=3 --previous'), 'c says hello\n?previous=true&tailLines=3\n');
  const {code, stderr} = await kubectl.try('logs p -c other');
  t.is(code, 1);
  t.regex(stderr, /container other is not valid for pod p/);

  const {child, until} = running(['logs', '-f', 'p']);
  await until(/c says hello\n/);
  agent.log('and goes on\n');
  await until(/and goes on\n/);
  agent.log();
  if (child.exitCode === null) await once(child, 'close');
  t.is(child.exitCode, 0);
});

/** A pod on the simulated node, which runs by its own rules. */
const simulated = async (name: string, behavior: string, containers: readonly object[] = [{name: 'app', image: 'web'}]): Promise<void> => {
  const metadata = {name, labels: {app: name}, annotations: {'simulation.kubernetes.io/behavior': behavior}};
  await kubectl.ok('create -f -', JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata, spec: {nodeName: 'plat-node-0', containers}}));
  await kubectl.ok(`wait --for=condition=Ready pod/${name}`);
};

sees('kubectl logs shows what simulated pods log', async t => {
  await simulated(
    'chatty',
    '[{match: {containers: app}, log: [one, {line: two, stream: stderr}]}, {match: {containers: side}, log: "beside"}]',
    [
      {name: 'app', image: 'web'},
      {name: 'side', image: 'web'},
    ],
  );
  await simulated('crashed', '{log: "run $(HOSTNAME) begins"}');
  await kubectl.ok('annotate pod crashed simulation.kubernetes.io/kill=app=137:OOMKilled');
  await kubectl.okay(['wait', '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', 'pod/crashed']);

  t.is(await kubectl.ok('logs chatty -c app'), 'one\ntwo\n');
  t.is(await kubectl.ok('logs chatty -c app --tail=1'), 'two\n');
  t.deepEqual((await kubectl.ok('logs chatty --all-containers --prefix --since=1h')).trim().split('\n').sort(), [
    '[pod/chatty/app] one',
    '[pod/chatty/app] two',
    '[pod/chatty/side] beside',
  ]);
  t.is(await kubectl.ok('logs chatty -c app --since-time=2100-01-01T00:00:00Z'), '');
  t.regex(await kubectl.ok('logs -l app=chatty -c side --timestamps'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z beside\n$/);
  t.is(await kubectl.ok('logs crashed --previous'), 'run $(HOSTNAME) begins\n');
  t.regex((await kubectl.try('logs chatty -c app --previous')).stderr, /previous terminated container "app" in pod "chatty" not found/);

  const {child, until} = running(['logs', '-f', 'chatty', '-c', 'side']);
  await until(/beside\n/);
  await kubectl.okay(['annotate', 'pod', 'chatty', 'simulation.kubernetes.io/log=side=and goes on']);
  await until(/and goes on\n/);
  await kubectl.okay(['annotate', 'pod', 'chatty', 'simulation.kubernetes.io/kill=side=0']);
  if (child.exitCode === null) await once(child, 'close');
  t.is(child.exitCode, 0);
});

for (const [way, env] of Object.entries(ways)) {
  sees(`kubectl exec runs a command, with its streams and its exit code (${way})`, async t => {
    const run = (args: readonly string[], input = '') => kubectl.run(['exec', ...args], input, env);
    const failed = await run(['p', '--', 'sh', '-c', 'echo out; echo bad >&2; exit 3']);
    const fed = await run(['-i', 'p', '--', 'cat'], 'what is typed');
    const large = await run(['p', '--', 'sh', '-c', 'head -c 500000 /dev/zero | tr "\\0" x']);

    t.deepEqual([failed.code, failed.stdout, failed.stderr], [3, 'out\n', 'bad\ncommand terminated with exit code 3\n']);
    t.deepEqual([fed.code, fed.stdout], [0, 'what is typed']);
    t.is(large.stdout.length, 500_000);
    const {headers} = agent.requests.findLast(({url}) => url.startsWith('/exec/') && url.includes('500000'))!;
    t.is(headers.upgrade, 'SPDY/3.1');
  });

  sees(`kubectl exec, attach, cp and port-forward reach into simulated pods (${way})`, async t => {
    const name = `simulated-${way.toLowerCase()}`;
    const run = (args: readonly string[], input = '') => kubectl.run(args, input, env);
    await simulated(
      name,
      '{stdin: echo, log: [], exec: [{command: "psql *", stdout: "1 row\\n", stderr: "slow\\n", exitCode: 3}], ports: {80: {http: {body: hello}}, 22: refuse}}',
      [{name: 'app', image: 'web', stdin: true, stdinOnce: true}],
    );
    const ruled = await run(['exec', name, '--', 'psql', '-c', 'x']);
    const unruled = await run(['exec', name, '--', 'serve']);
    const fed = await run(['exec', '-i', name, '--', 'sh'], 'echo one > /tmp/file; cat /tmp/file\nexit 5\n');
    t.deepEqual([ruled.code, ruled.stdout, ruled.stderr], [3, '1 row\n', 'slow\ncommand terminated with exit code 3\n']);
    t.deepEqual([unruled.code, unruled.stdout], [126, '']);
    t.regex(unruled.stderr, /is simulated and does not run "serve"/);
    t.deepEqual([fed.code, fed.stdout], [5, 'one\n']);

    const text = 'copied '.repeat(100_000);
    const there = await run(['cp', file(name, text), `${name}:/tmp`]);
    const back = await run(['cp', `${name}:/tmp/${name}`, join(directory, `${name}-back`)]);
    t.deepEqual([there.code, back.code], [0, 0], there.stderr + back.stderr);
    t.is(readFileSync(join(directory, `${name}-back`), 'utf8'), text);

    const {child, until} = running(['port-forward', `pod/${name}`, ':80'], env);
    const [, port] = await until(/Forwarding from 127\.0\.0\.1:(\d+)/);
    const [answer] = (await once(get(`http://127.0.0.1:${port}/`), 'response')) as [import('node:http').IncomingMessage];
    t.is((await answer.setEncoding('utf8').toArray()).join(''), 'hello');
    await stopped(child);

    const attached = await run(['attach', '-i', name], 'typed\n');
    t.deepEqual([attached.code, attached.stdout], [0, 'typed\n']);
    await kubectl.okay(['wait', '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', `pod/${name}`]);
    t.is(await kubectl.ok(`logs ${name} --previous`), 'typed\n');
    t.regex((await run(['exec', 'none', '--', 'true'])).stderr, /pods "none" not found/);
  });

  sees(`kubectl attach joins what runs (${way})`, async t => {
    const {code, stdout} = await kubectl.run(['attach', '-i', 'p'], 'joined\n', env);

    t.deepEqual([code, stdout], [0, 'attached\nJOINED\n']);
  });

  sees(`kubectl cp copies there and back (${way})`, async t => {
    const name = `copied-${way}-${process.pid}`;
    const text = 'copied '.repeat(100_000);
    const there = await kubectl.run(['cp', file(name, text), `p:${join(tmpdir(), name)}`], '', env);
    const back = await kubectl.run(['cp', `p:${join(tmpdir(), name)}`, join(directory, `${name}-back`)], '', env);
    rmSync(join(tmpdir(), name), {force: true});

    t.deepEqual([there.code, back.code], [0, 0], there.stderr + back.stderr);
    t.is(readFileSync(join(directory, `${name}-back`), 'utf8'), text);
  });

  sees(`kubectl port-forward leads to a port (${way})`, async t => {
    const listener = createServer(
      socket => void socket.on('error', () => {}).once('data', chunk => socket.end(chunk.toString().toUpperCase())),
    );
    await new Promise<void>(resolve => {
      listener.listen(0, '127.0.0.1', resolve);
    });
    const {child, until} = running(['port-forward', 'pod/p', `:${(listener.address() as AddressInfo).port}`], env);
    const [, port] = await until(/Forwarding from 127\.0\.0\.1:(\d+)/);
    const output = await Promise.all(
      ['one', 'two'].map(async text => {
        const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
        socket.write(text);
        return (await socket.toArray()).join('');
      }),
    );
    await stopped(child);
    listener.close();

    t.deepEqual(output, ['ONE', 'TWO']);
  });
}

const script = ['/usr/bin/script', '/bin/script'].find(path => existsSync(path));
if (!script) console.log('skipped: script is not installed, which gives programs a terminal');

(fits && script ? test : test.skip)('kubectl exec passes on the size of a terminal', async t => {
  const {KUBECTL_REMOTE_COMMAND_WEBSOCKETS: on} = ways.WebSocket;
  const before = agent.sizes.length;
  const child = execFile(script!, ['-qec', 'stty rows 33 cols 99; kubectl exec -it p -- sh -c "echo seen; sleep 0.3"', '/dev/null'], {
    env: {...bareEnvironment, HOME: directory, KUBECONFIG: settings, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: on},
  });
  let output = '';
  child.stdout?.on('data', chunk => (output += String(chunk)));
  await once(child, 'close');

  t.regex(output, /seen/);
  t.true(agent.sizes.slice(before).includes('{"Width":99,"Height":33}'), agent.sizes.join(' '));
});

(fits && ownAddress ? test : test.skip)('kubectl proxy and raw requests reach the port of a pod', async t => {
  const server = createHttp((request, response) =>
    response.writeHead(200, {'content-type': 'text/html'}).end(`<a href="/next">${request.method} ${request.url}</a>`),
  );
  await new Promise<void>(resolve => {
    server.listen(0, ownAddress, resolve);
  });
  const path = `/api/v1/namespaces/default/pods/here:${(server.address() as AddressInfo).port}/proxy`;
  const raw = await kubectl.okay(['get', '--raw', `${path}/some/page?x=1`]);
  const {child, until} = running(['proxy', '--port=0']);
  const [, port] = await until(/Starting to serve on 127\.0\.0\.1:(\d+)/);
  const [answer] = (await once(get(`http://127.0.0.1:${port}${path}/`), 'response')) as [import('node:http').IncomingMessage];
  const page = (await answer.setEncoding('utf8').toArray()).join('');
  await stopped(child);
  server.close();

  t.is(raw, `<a href="${path}/next">GET /some/page?x=1</a>`);
  t.is(page, `<a href="${path}/next">GET /</a>`);
});

const program = `
import sys
from kubernetes import client, config
from kubernetes.stream import portforward, stream
config.load_kube_config(sys.argv[1])
api = client.CoreV1Api()
print(api.read_namespaced_pod_log('p', 'default', tail_lines=2), end='')
print(stream(api.connect_get_namespaced_pod_exec, 'p', 'default', command=['sh', '-c', 'echo out; echo bad >&2'], stderr=True, stdin=False, stdout=True, tty=False), end='')
talk = stream(api.connect_get_namespaced_pod_exec, 'p', 'default', command=['sh', '-c', 'read line; echo "[$line]"; exit 5'], stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False)
talk.write_stdin('typed\\n')
talk.run_forever(timeout=20)
print(talk.read_stdout(), talk.returncode)
print(stream(api.connect_get_namespaced_pod_exec, 'simulated', 'default', command=['sh', '-c', 'echo simulated; exit 2'], stderr=True, stdin=False, stdout=True, tty=False), end='')
ports = portforward(api.connect_get_namespaced_pod_portforward, 'simulated', 'default', ports='7,13')
socket = ports.socket(7)
socket.sendall(b'echoed')
print(socket.recv(64).decode(), ports.socket(13).recv(64).decode(), ports.error(7))
`;

(fits && hasPython() ? test : test.skip)('the Python client reads logs and talks to commands', async t => {
  await simulated('simulated', '{ports: {7: echo, 13: {reply: noon}}}');
  const output = await runPython(program, settings);

  t.deepEqual(
    output.split('\n').filter(Boolean).sort(),
    ['5', '?tailLines=2', '[typed]', 'bad', 'c says hello', 'echoed noon None', 'out', 'simulated']
      .sort()
      .map(line => (line === '5' ? ' 5' : line)),
  );
});
