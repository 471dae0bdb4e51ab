import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {createServer, get as getPlain, type IncomingMessage} from 'node:http';
import {get as getSecure, type RequestOptions} from 'node:https';
import net, {type AddressInfo} from 'node:net';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {certificatePem} from '#src/pki/certificate.js';
import {kinds} from '#src/api/kinds/index.js';
import {freePort} from '#test/fixtures/free-port.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import type {RecordingRuntime} from './recording-runtime.js';
import {aWholeAgent, memoryMachine, type WholeAgentOptions} from './whole-agent.js';

/** Asks a port: the status and the body, or the code of the failure. */
const ask = (url: string, options: RequestOptions = {}): Promise<string> =>
  new Promise(resolve => {
    const answered = async (response: IncomingMessage): Promise<void> => resolve(`${response.statusCode} ${await text(response)}`);
    const own = {...options, agent: false, rejectUnauthorized: false};
    (url.startsWith('https:')
      ? getSecure(url, own, response => void answered(response))
      : getPlain(url, own, response => void answered(response))
    ).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });

interface Serving extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly runtime: RecordingRuntime;
  readonly port: number;
  /** Asks the port with TLS. */
  ask(path: string, options?: RequestOptions): Promise<string>;
}

/** Starts an agent without an API server that serves, on the local host. */
const serving = async (argv: readonly string[], options: WholeAgentOptions = {}): Promise<Serving> => {
  const port = await freePort();
  const clock = new VirtualClock();
  const {agent, runtime, ...rest} = await aWholeAgent(
    ['--enable-server=true', '--address=127.0.0.1', `--port=${port}`, '--read-only-port=0', ...argv],
    {clock, ...options},
  );
  return {
    clock,
    runtime,
    port: agent.ports.port,
    ask: (path, more) => ask(`https://127.0.0.1:${port}${path}`, more),
    [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose](),
  };
};

test('--address, --port, --read-only-port, --healthz-bind-address and --healthz-port are where the agent listens', async t => {
  const [port, readOnly, health] = [await freePort(), await freePort(), await freePort()];
  const argv = [
    '--address=127.0.0.2',
    `--port=${port}`,
    `--read-only-port=${readOnly}`,
    '--healthz-bind-address=127.0.0.3',
    `--healthz-port=${health}`,
  ];
  {
    await using _ = await serving(argv);
    t.regex(await ask(`https://127.0.0.2:${port}/healthz`), /^200 ok/);
    t.is(await ask(`https://127.0.0.1:${port}/healthz`), 'ECONNREFUSED');
    t.regex(await ask(`http://127.0.0.2:${readOnly}/pods`), /^200 /);
    t.is(await ask(`http://127.0.0.1:${readOnly}/pods`), 'ECONNREFUSED');
    t.is(await ask(`http://127.0.0.3:${health}/healthz`), '200 ok');
    t.is(await ask(`http://127.0.0.1:${health}/healthz`), 'ECONNREFUSED');
  }
  await using _ = await serving([...argv, '--enable-server=false']);
  t.is(await ask(`https://127.0.0.2:${port}/healthz`), 'ECONNREFUSED');
  t.is(await ask(`http://127.0.0.2:${readOnly}/pods`), 'ECONNREFUSED');
  t.is(await ask(`http://127.0.0.3:${health}/healthz`), '200 ok');
});

test('--enable-debugging-handlers and --contention-profiling rule what is served for debugging', async t => {
  await using usual = await serving([]);
  t.regex(await usual.ask('/configz'), /^200 /);
  t.regex(await usual.ask('/debug/pprof/block'), /^404 /);
  await using profiling = await serving(['--contention-profiling']);
  t.regex(await profiling.ask('/debug/pprof/block'), /^200 /);
  await using none = await serving(['--enable-debugging-handlers=false']);
  t.is(await none.ask('/configz'), '405 Debug endpoints are disabled.\n');
});

test('--anonymous-auth and --client-ca-file say who is served', async t => {
  using host = memoryMachine();
  const authority = await anAuthority();
  const [own, other] = [
    await aPair(authority, {commonName: 'me'}, 'client auth'),
    await aPair(await anAuthority(), {commonName: 'me'}, 'client auth'),
  ];
  const file = join(host.root, 'ca.crt');
  writeFileSync(file, certificatePem(authority.certificate));
  await using strict = await serving(['--anonymous-auth=false', `--client-ca-file=${file}`], {host});
  t.is(await strict.ask('/pods'), '401 Unauthorized');
  t.is(await strict.ask('/pods', other), '401 Unauthorized');
  t.regex(await strict.ask('/pods', own), /^200 /);
  await using open = await serving([]);
  t.regex(await open.ask('/pods'), /^200 /);
});

test('--tls-cert-file, --tls-private-key-file, --tls-min-version and --tls-cipher-suites rule the handshake', async t => {
  using host = memoryMachine();
  const authority = await anAuthority();
  const {cert, key} = await aPair(authority, {commonName: 'served'}, 'server auth');
  const [certFile, keyFile] = [join(host.root, 'tls.crt'), join(host.root, 'tls.key')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const pair = [`--tls-cert-file=${certFile}`, `--tls-private-key-file=${keyFile}`];
  await using strict = await serving([...pair, '--tls-min-version=VersionTLS13'], {host});
  t.not(await strict.ask('/healthz', {maxVersion: 'TLSv1.2'}), '200 ok');
  t.is(await strict.ask('/healthz', {minVersion: 'TLSv1.3'}), '200 ok');
  const subject = await new Promise<string>(resolve =>
    getSecure(`https://127.0.0.1:${strict.port}/healthz`, {agent: false, ca: certificatePem(authority.certificate)}, response => {
      response.resume();
      resolve(String((response.socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN));
    }),
  );
  t.is(subject, 'served');
  await using few = await serving([...pair, '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'], {host});
  const with12 = (ciphers: string) => few.ask('/healthz', {maxVersion: 'TLSv1.2', ciphers});
  t.is(await with12('ECDHE-ECDSA-AES256-GCM-SHA384'), '200 ok');
  t.not(await with12('ECDHE-ECDSA-AES128-GCM-SHA256'), '200 ok');
});

test('--cert-dir is where the certificate is kept that the agent makes for itself', async t => {
  using host = memoryMachine();
  const folder = join(host.root, 'certificates');
  await using _ = await serving([`--cert-dir=${folder}`], {host});
  t.true((await host.list(folder)).includes('platlet.crt'));
});

test('reviews are asked for and remembered as --authentication-token-webhook, --authorization-mode and their times say', async t => {
  const plat = naming('plat');
  const reviews: string[] = [];
  const delegate = {
    naming: plat,
    async request(_: string, __: string, {body}: {body?: unknown} = {}) {
      const {kind, spec} = body as {
        kind: string;
        spec: {token?: string; nonResourceAttributes?: object; resourceAttributes?: {subresource: string}};
      };
      reviews.push(kind === kinds.tokenReviews.kind ? 'token' : (spec.resourceAttributes?.subresource ?? ''));
      if (kind === kinds.tokenReviews.kind) return {status: {authenticated: spec.token === 'right', user: {username: 'me'}}};
      return {status: {allowed: spec.resourceAttributes?.subresource === 'metrics'}};
    },
  };
  await using agent = await serving(
    [
      '--authentication-token-webhook',
      '--authentication-token-webhook-cache-ttl=10m',
      '--authorization-mode=Webhook',
      '--authorization-webhook-cache-authorized-ttl=1m',
      '--authorization-webhook-cache-unauthorized-ttl=3m',
      '--anonymous-auth=false',
    ],
    {delegate},
  );
  const [right, wrong] = ['right', 'wrong'].map(token => ({headers: {authorization: `Bearer ${token}`}}));
  const counted = async (path: string): Promise<string> => {
    reviews.length = 0;
    const answer = await agent.ask(path, right);
    return `${answer.slice(0, 3)} ${[...new Set(reviews)].join(' ')}`.trim();
  };
  t.is(await agent.ask('/metrics', wrong), '401 Unauthorized');
  t.is(await counted('/metrics/probes'), '200 token metrics');
  t.is(await counted('/metrics/probes'), '200');
  t.is(await counted('/stats/summary'), '403 stats');
  await agent.clock.advance(2 * 60_000);
  t.is(await counted('/metrics/probes'), '200 metrics');
  t.is(await counted('/stats/summary'), '403');
  await agent.clock.advance(2 * 60_000);
  t.is(await counted('/stats/summary'), '403 stats');
  await agent.clock.advance(9 * 60_000);
  t.regex(await counted('/metrics/probes'), /token/);
});

test('--runtime-cgroups is measured as the group of the runtime', async t => {
  using host = memoryMachine();
  const files = {'memory.current': '4096', 'memory.stat': 'anon 1', 'cpu.stat': 'usage_usec 1000'};
  for (const [name, content] of Object.entries(files)) host.setGroup(`containers/${name}`, content);
  const measured = async (...argv: readonly string[]): Promise<readonly string[]> => {
    await using agent = await serving(argv, {host});
    const summary = JSON.parse((await agent.ask('/stats/summary')).slice(4)) as {node: {systemContainers?: readonly {name: string}[]}};
    return summary.node.systemContainers?.map(({name}) => name) ?? [];
  };
  t.true((await measured('--runtime-cgroups=/containers')).includes('runtime'));
  t.false((await measured()).includes('runtime'));
});

const manifest = (name: string): string =>
  JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata: {name}, spec: {containers: [{name: 'app', image: 'app'}]}});

const startedPods = ({calls}: RecordingRuntime): number => calls.filter(call => call.startsWith('start app')).length;

test('--pod-manifest-path has pods, which are read again with --file-check-frequency', async t => {
  using host = memoryMachine();
  const folder = join(host.root, 'manifests');
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.json'), manifest('a'));
  await using agent = await aWholeAgent([`--pod-manifest-path=${folder}`, '--file-check-frequency=5m'], {host});
  const {clock, runtime} = agent;
  await clock.advance(5_000);
  t.is(startedPods(runtime), 1);
  writeFileSync(join(folder, 'b.json'), manifest('b'));
  await clock.advance(240_000);
  t.is(startedPods(runtime), 1);
  await clock.advance(90_000);
  t.is(startedPods(runtime), 2);
});

test('--manifest-url has pods, which are asked for with --manifest-url-header, again with --http-check-frequency', async t => {
  const asked: unknown[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers['x-token']);
    response.end(manifest('a'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
  {
    await using agent = await aWholeAgent([
      `--manifest-url=${url}`,
      '--manifest-url-header=X-Token:a,X-Token:b',
      '--http-check-frequency=5m',
    ]);
    await agent.clock.advance(5_000);
    t.is(startedPods(agent.runtime), 1);
    t.deepEqual(asked, ['a, b']);
    await agent.clock.advance(290_000);
    t.is(asked.length, 1);
    await agent.clock.advance(10_000);
    t.is(asked.length, 2);
  }
  server.close();
});

/** Opens a stream to a container. */
const openStream = async (agent: Serving): Promise<net.Socket> => {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    'sec-websocket-protocol': `v4.channel.${naming('plat').apiSuffix}`,
  };
  const request = getSecure(`https://127.0.0.1:${agent.port}/exec/default/a-node/app?command=a&output=1`, {
    agent: false,
    rejectUnauthorized: false,
    headers,
  });
  return new Promise<net.Socket>((resolve, reject) => {
    request.on('upgrade', (_, opened) => resolve(opened.resume() as net.Socket));
    request.on('response', response => void text(response).then(answer => reject(new Error(`${response.statusCode} ${answer}`))));
    request.on('error', reject);
  });
};

test('--streaming-connection-idle-timeout closes streams without bytes', async t => {
  for (const timeout of ['1m', '1h']) {
    using host = memoryMachine();
    const folder = join(host.root, 'manifests');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.json'), manifest('a'));
    await using agent = await serving([`--streaming-connection-idle-timeout=${timeout}`, `--pod-manifest-path=${folder}`], {host});
    await agent.clock.advance(30_000);
    t.is(startedPods(agent.runtime), 1);
    const stream = await openStream(agent);
    const closed = once(stream, 'close');
    await agent.clock.advance(5 * 60_000);
    if (timeout === '1m') await closed;
    else t.is(await agent.ask('/healthz'), '200 ok');
    t.is(stream.closed, timeout === '1m');
    stream.destroy();
  }
});
