import http2 from 'node:http2';
import {request} from 'node:https';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {connect, type ConnectionOptions, type TLSSocket} from 'node:tls';
import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {startPlane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {sweepServer} from '#test/sweep/server.js';

/** Starts a plane without controllers, with its port. */
const plane = (...apiserverArgs: readonly string[]) =>
  startPlane({naming: 'kubernetes', controllerManagerArgs: ['--controllers='], apiserverArgs, securePort: 0});

/** Returns the connection to a port, or the code of the refusal. */
const handshake = (url: string, options: ConnectionOptions): Promise<TLSSocket | string> =>
  new Promise(resolve => {
    const socket = connect({host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false, ...options});
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('secureConnect', () => {
      socket.resume().end();
      resolve(socket);
    });
  });

const both = {ALPNProtocols: ['h2', 'http/1.1']};

const shown = (result: TLSSocket | string): string =>
  typeof result === 'string' ? 'refused' : `${result.getProtocol()} ${result.alpnProtocol || ''}`;

/** Returns the headers of a response to a client without credentials. */
const headersFrom = (url: string, headers: Readonly<Record<string, string>>): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) =>
    request(`${url}/livez`, {headers, rejectUnauthorized: false, agent: false}, answer => {
      answer.resume();
      resolve(answer.headers);
    })
      .on('error', reject)
      .end(),
  );

test('--tls-min-version, --tls-sni-cert-key and --disable-http2-serving rule the handshake', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-sni-'));
  const {cert, key} = await aPair(await anAuthority(), {commonName: 'other.example'}, 'server auth');
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const named = `--tls-sni-cert-key=${certFile},${keyFile}:other.example`;
  await using strict = await plane('--tls-min-version=VersionTLS13', named, '--disable-http2-serving');

  t.is(shown(await handshake(strict.url, {...both, maxVersion: 'TLSv1.2'})), 'refused');
  t.is(shown(await handshake(strict.url, both)), 'TLSv1.3 http/1.1');
  for (const [servername, isOther] of [
    ['other.example', true],
    ['localhost', false],
  ] as const) {
    const socket = (await handshake(strict.url, {servername})) as TLSSocket;
    t.is(socket.getPeerCertificate().subject?.CN === 'other.example', isOther, servername);
  }
});

test('--tls-cipher-suites, --strict-transport-security-directives and --cors-allowed-origins rule a port whose certificate the plane issues', async t => {
  await using other = await plane(
    '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
    '--strict-transport-security-directives=max-age=60',
    '--cors-allowed-origins=^https://ok\\.example$',
  );
  const with12 = (ciphers: string) => handshake(other.url, {...both, maxVersion: 'TLSv1.2', ciphers});
  const response = await headersFrom(other.url, {origin: 'https://ok.example'});
  const stranger = await headersFrom(other.url, {origin: 'https://no.example'});

  t.is(shown(await with12('ECDHE-ECDSA-AES256-GCM-SHA384')), 'TLSv1.2 h2');
  t.is(shown(await with12('ECDHE-ECDSA-AES128-GCM-SHA256')), 'refused');
  t.is(response['strict-transport-security'], 'max-age=60');
  t.is(response['access-control-allow-origin'], 'https://ok.example');
  t.is(stranger['access-control-allow-origin'], undefined);
});

test('--goaway-chance lets clients of HTTP/2 connect again', async t => {
  const wasSentAway = async (...flags: readonly string[]): Promise<boolean> => {
    const random = {...seededRandom(1), float: () => 0.01};
    const gates = '--feature-gates=UnauthenticatedHTTP2DOSMitigation=false'; // The request is anonymous.
    await using server = await startPlane({random, controllerManagerArgs: ['--controllers='], apiserverArgs: [...flags, gates]});
    return await new Promise(resolve => {
      const session = http2.connect(server.url, {rejectUnauthorized: false}).on('error', () => undefined);
      session.on('goaway', () => resolve(true));
      session
        .request({':path': '/livez'})
        .resume()
        .on('close', () => session.close(() => resolve(false)));
    });
  };

  t.true(await wasSentAway('--goaway-chance=0.02'));
  t.false(await wasSentAway('--goaway-chance=0.005'));
});

test('--enable-garbage-collector=false deletes objects at once whose dependents nobody would delete', async t => {
  const statusAfterDeletion = async (...flags: readonly string[]): Promise<number> => {
    await using server = await sweepServer({thread: false, flags});
    const {get, post, remove} = wire(server.handler);
    const configMaps = '/api/v1/namespaces/default/configmaps';
    await post(configMaps, {kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'a'}});
    await remove(`${configMaps}/a?propagationPolicy=Foreground`);
    return (await get(`${configMaps}/a`)).status;
  };

  t.is(await statusAfterDeletion(), 200);
  t.is(await statusAfterDeletion('--enable-garbage-collector=false'), 404);
});

const services = '/api/v1/namespaces/default/services';
const pods = '/api/v1/namespaces/default/pods';

test('--service-node-port-range, --default-unreachable-toleration-seconds and --admission-control rule what is written, and --contention-profiling serves delays', async t => {
  await using server = await sweepServer({
    thread: false,
    flags: [
      '--service-node-port-range=31000-31001',
      '--default-unreachable-toleration-seconds=7',
      '--default-not-ready-toleration-seconds=8',
      '--admission-control=DefaultTolerationSeconds',
      '--contention-profiling',
    ],
  });
  const {get, post} = wire(server.handler);
  t.is((await get('/debug/pprof/block')).status, 200);
  const service = (name: string) => ({kind: 'Service', apiVersion: 'v1', metadata: {name}, spec: {type: 'NodePort', ports: [{port: 80}]}});
  const ports = [];
  for (const name of ['a', 'b']) {
    const {spec} = (await post(services, service(name))).json() as {spec: {ports: {nodePort: number}[]}};
    ports.push(spec.ports[0]!.nodePort);
  }
  t.deepEqual(ports.sort(), [31000, 31001]);
  t.is((await post(services, service('c'))).status, 500);

  const pod = {kind: 'Pod', apiVersion: 'v1', metadata: {name: 'p'}, spec: {containers: [{name: 'c', image: 'i'}]}};
  const made = (await post(pods, pod)).json() as {
    spec: {tolerations: {key: string; tolerationSeconds: number}[]; serviceAccountName?: string};
  };
  t.deepEqual(
    made.spec.tolerations.map(({key, tolerationSeconds}) => [key, tolerationSeconds]),
    [
      ['node.kubernetes.io/not-ready', 8],
      ['node.kubernetes.io/unreachable', 7],
    ],
  );
  // The plugin that sets it is not in the list.
  t.is(made.spec.serviceAccountName, undefined);
});

test('--plat-service-node-port and --endpoint-reconciler-type rule the self service', async t => {
  await using server = await sweepServer({thread: false, flags: ['--plat-service-node-port=30123', '--endpoint-reconciler-type=none']});
  const {get} = wire(server.handler);
  const settled = async () => {
    for (;;) {
      const response = await get(`${services}/kubernetes`);
      if (response.status === 200) return response.json() as {spec: {type: string; ports: {nodePort?: number}[]}};
      await new Promise(setImmediate);
    }
  };
  const {spec} = await settled();

  t.deepEqual([spec.type, spec.ports[0]!.nodePort], ['NodePort', 30123]);
  t.is((await get('/api/v1/namespaces/default/endpoints/kubernetes')).status, 404);
  t.is((await get('/debug/pprof/block')).status, 404);
});
