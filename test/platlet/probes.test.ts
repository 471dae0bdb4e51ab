import {createServer as createHttp, type RequestListener} from 'node:http';
import {createServer as createHttp2} from 'node:http2';
import {createServer, type AddressInfo, type Server} from 'node:net';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Probe} from '#src/api/pod.js';
import {systemClock} from '#src/base/clock.js';
import {probeRunner} from '#src/platlet/prober/probe.js';
import {httpTarget, portOf} from '#src/platlet/prober/target.js';
import {RuntimeError} from '#src/platlet/runtime/runtime.js';
import {frameOf} from '#src/transport/grpc/frames.js';
import {MessageWriter} from '#src/transport/grpc/message.js';
import {systemNetwork} from '#src/transport/network.js';

type Exec = (command: readonly string[]) => Promise<{readonly stdout: Buffer; readonly stderr: Buffer; readonly exitCode: number}>;

const neverRun: Exec = () => Promise.reject(new RuntimeError('failed', 'no such container'));

const probe = async (given: Probe, port = 1, exec: Exec = neverRun): Promise<string> => {
  const run = probeRunner({
    naming: naming('kubernetes'),
    runtime: {execSync: (_, command) => exec(command)},
    clock: systemClock,
    network: systemNetwork(systemClock),
  });
  const container = {name: 'app', ports: [{name: 'web', containerPort: port}]};
  const {result, output, isWarning, error} = await run({timeoutSeconds: 2, ...given}, {container, id: 'id', address: '127.0.0.1'});
  return `${result}${isWarning ? ' warning' : ''}${error === undefined ? '' : ` error ${error}`}: ${output}`;
};

/** Runs with a server until its end. */
const serving = async <T>(server: Server | ReturnType<typeof createHttp2>, run: (port: number) => Promise<T>): Promise<T> => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  try {
    return await run((server.address() as AddressInfo).port);
  } finally {
    await new Promise(resolve => server.close(resolve));
  }
};

const result =
  (exitCode: number, output = ''): Exec =>
  () =>
    Promise.resolve({stdout: Buffer.from(output), stderr: Buffer.alloc(0), exitCode});

test('a command succeeds by its exit code', async t => {
  const exec = {exec: {command: ['check', 'it']}};
  t.is(await probe(exec, 1, result(0, 'fine')), 'success: fine');
  t.is(await probe(exec, 1, result(2, 'broken')), 'failure: broken');
  t.is((await probe(exec, 1, result(1, 'x'.repeat(20_000)))).length, 'failure: '.length + 10_240);
  t.is(
    await probe(exec, 1, () => Promise.reject(new RuntimeError('timeout', 'late'))),
    'failure: command timed out: "check it" timed out after 2s',
  );
});

test('a probe that cannot be made is tried three times', async t => {
  let tries = 0;
  const exec: Exec = () => {
    tries++;
    return neverRun([]);
  };
  t.is(await probe({exec: {command: ['check']}}, 1, exec), 'unknown error no such container: ');
  t.is(tries, 3);
  t.is(await probe({}), 'unknown error missing probe handler for container app: ');
});

test('a request succeeds by its status, and is what the original sends', async t => {
  const seen: string[] = [];
  const listener: RequestListener = ({url, headers}, response) => {
    const {'user-agent': agent, accept, host, 'x-a': a} = headers;
    seen.push(`${url} ${agent} ${accept} ${host?.replace(/:\d+$/, '')} ${String(a)}`);
    const status = Number(/\d+/.exec(url ?? '')?.[0] ?? 200);
    if (url === '/away') response.writeHead(302, {location: 'http://example.com/'}).end('moved');
    else if (url === '/near') response.writeHead(302, {location: '/200'}).end();
    else response.writeHead(status).end('body');
  };
  await serving(createHttp(listener), async port => {
    const get = (path: string, httpHeaders: {name: string; value: string}[] = []) =>
      probe({httpGet: {path, port: 'web', httpHeaders}}, port);
    t.is(await get('/200'), 'success: body');
    t.is(await get('/399'), 'success: body');
    t.is(await get('/404'), 'failure: HTTP probe failed with statuscode: 404');
    t.is(await get('/near'), 'success: body');
    t.is(await get('/away'), 'success warning: Probe terminated redirects, Response body: moved');
    await get('/h', [
      {name: 'X-A', value: '1'},
      {name: 'X-A', value: '2'},
      {name: 'Host', value: 'other'},
      {name: 'User-Agent', value: ''},
      {name: 'Accept', value: 'text/x'},
    ]);
  });
  t.is(seen[0], '/200 kube-probe/1.35 */* 127.0.0.1 undefined');
  t.is(seen.at(-1), '/h undefined text/x other 1, 2');
});

test('a request that is not answered has failed', async t => {
  await serving(
    createHttp(() => {}),
    async port => {
      t.regex(
        await probe({httpGet: {port: 'web', path: '/x'}, timeoutSeconds: 0.1}, port),
        /^failure: Get "http:\/\/127\.0\.0\.1:\d+\/x": context deadline exceeded/,
      );
    },
  );
  t.regex(
    await probe({httpGet: {port: 1}}),
    /^failure: Get "http:\/\/127\.0\.0\.1:1\/": dial tcp 127\.0\.0\.1:1: connect: connection refused$/,
  );
});

test('a connection succeeds when it is accepted', async t => {
  await serving(
    createServer(socket => void socket.end()),
    async port => {
      t.is(await probe({tcpSocket: {port: 'web'}}, port), 'success: ');
    },
  );
  t.is(await probe({tcpSocket: {port: 1}}), 'failure: dial tcp 127.0.0.1:1: connect: connection refused');
});

test('a service succeeds when it says that it serves', async t => {
  const seen: string[] = [];
  const server = createHttp2();
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('data', chunk => chunks.push(chunk as Buffer));
    stream.on('end', () => {
      const service = Buffer.concat(chunks).subarray(7).toString();
      seen.push(`${headers[':path']} ${headers['user-agent']} ${service}`);
      const code = service === 'none' ? 12 : 0;
      stream.respond({':status': 200, 'content-type': 'application/grpc'}, {waitForTrailers: true});
      stream.on('wantTrailers', () => stream.sendTrailers({'grpc-status': String(code), 'grpc-message': code ? 'unknown service' : ''}));
      if (code === 0) stream.write(frameOf(new MessageWriter().int(1, service === 'down' ? 2 : 1).finish()));
      stream.end();
    });
  });
  await serving(server, async port => {
    const check = (service: string) => probe({grpc: {port, service}}, port);
    t.is(await check('up'), 'success: service healthy');
    t.is(await check('down'), 'failure: service unhealthy (responded with "NOT_SERVING")');
    t.is(
      await check('none'),
      'failure: error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
    );
  });
  t.is(seen[0], '/grpc.health.v1.Health/Check kube-probe/1.35 up');
  t.regex(await probe({grpc: {port: 1}}), /^failure: timeout: failed to connect service "127\.0\.0\.1:1" within 2s: /);
});

test('a port is a number or has a name in the container', t => {
  const container = {name: 'app', ports: [{name: 'web', containerPort: 8080}]};
  t.is(portOf('web', container), 8080);
  t.is(portOf(80, container), 80);
  t.is(portOf('81', container), 81);
  t.throws(() => portOf('none', container), {message: `couldn't find port: "none" in container`});
  t.throws(() => portOf(70_000, container), {message: 'invalid port number: 70000'});
  t.is(httpTarget({port: 'web', path: 'x?y=1', scheme: 'HTTPS'}, container, 'fd00::1').url.href, 'https://[fd00::1]:8080/x?y=1');
  t.is(httpTarget({port: 80, host: 'example.com'}, container, '10.0.0.1').url.href, 'http://example.com/');
});
