import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {systemClock as clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {systemRandom as random} from '#src/base/random.js';
import {authorityPem} from '#src/pki/authority.js';
import {etcdDialer, openEgress} from '#src/plane/outgoing/egress.js';
import {storeServersOf} from '#src/plane/api-server/store-servers.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {parseFlags} from '#src/options/parse.js';
import {openStoreServers} from '#src/storage/etcd/open.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {systemNetwork} from '#src/transport/network.js';
import {admin} from '#test/apiserver/wire.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {sweepServer} from '#test/sweep/server.js';
import {aBackend} from '#test/transport/backend.js';
import {aConnectProxy} from '#test/transport/connect-proxy.js';
import {KonnectivityServer} from '#test/transport/konnectivity-server.js';

const folder = mkdtempSync(join(tmpdir(), 'plat-egress-'));
let count = 0;
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

const authority = await anAuthority('proxy-ca');
const [serving, client] = [
  await aPair(authority, {commonName: 'proxy'}, 'server auth'),
  await aPair(authority, {commonName: 'the-server'}, 'client auth'),
];
const ca = authorityPem(authority).certificate;
const control = await aConnectProxy({tls: {...serving, ca, requestCert: true, rejectUnauthorized: true}});
const store = await aConnectProxy({socket: join(folder, 'store.sock')});
const cluster = await new KonnectivityServer().listen(join(folder, 'cluster.sock'));

const configurationOf = (...egressSelections: readonly object[]): string =>
  JSON.stringify({apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration', egressSelections});
const grpc = {name: 'cluster', connection: {proxyProtocol: 'GRPC', transport: {uds: {udsName: join(folder, 'cluster.sock')}}}};
const tcp = {
  url: `https://127.0.0.1:${control.port}`,
  tlsConfig: {caBundle: file('ca', ca), clientCert: file('cert', client.cert), clientKey: file('key', client.key)},
};
const configuration = configurationOf(
  grpc,
  {name: 'controlplane', connection: {proxyProtocol: 'HTTPConnect', transport: {tcp}}},
  {name: 'Etcd', connection: {proxyProtocol: 'HTTPConnect', transport: {uds: {udsName: join(folder, 'store.sock')}}}},
);

/** Answers every review: it allows, and knows everybody. */
const reviewer = await aBackend(
  (request, response) => {
    let sent = '';
    request
      .on('data', chunk => (sent += String(chunk)))
      .on('end', () => {
        if (sent === '')
          return response.end(JSON.stringify({issuer: `https://${reviewHost}/issuer`, jwks_uri: `https://${reviewHost}/keys`}));
        const {
          apiVersion,
          kind,
          request: {uid} = {uid: ''},
        } = JSON.parse(sent) as {apiVersion: string; kind: string; request?: {uid: string}};
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            apiVersion,
            kind,
            status: {allowed: true, authenticated: true, user: {username: 'somebody'}},
            response: {uid, allowed: true},
          }),
        );
      });
  },
  {tls: true},
);
test.after.always(async () => {
  control[Symbol.dispose]();
  store[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  await reviewer[Symbol.asyncDispose]();
  rmSync(folder, {recursive: true});
});
const reviewHost = `127.0.0.1:${reviewer.port}`;
const kubeconfig = file(
  'kubeconfig',
  JSON.stringify({
    'current-context': 'c',
    contexts: [{name: 'c', context: {cluster: 'c', user: 'u'}}],
    clusters: [
      {
        name: 'c',
        cluster: {server: `https://${reviewHost}/review`, 'certificate-authority-data': Buffer.from(reviewer.ca).toString('base64')},
      },
    ],
    users: [{name: 'u', user: {}}],
  }),
);

test.serial(
  'requests to pods and webhooks go through the selection for the cluster, reviews and audit events through that for the control plane',
  async t => {
    await using backend = await aBackend((_, response) => response.end('from the pod'), {
      upgrade: (_, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
        socket.pipe(socket);
      },
    });
    const policy = file('policy', JSON.stringify({apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{level: 'Metadata'}]}));
    await using server = await sweepServer({
      thread: false,
      flags: [
        `--egress-selector-config-file=${file(`egress-${count++}`, configuration)}`,
        '--disable-admission-plugins=ServiceAccount',
        `--authentication-token-webhook-config-file=${kubeconfig}`,
        '--authentication-token-webhook-version=v1',
        '--authorization-mode=RBAC,Webhook',
        `--authorization-webhook-config-file=${kubeconfig}`,
        '--authorization-webhook-version=v1',
        `--audit-webhook-config-file=${kubeconfig}`,
        '--audit-webhook-mode=blocking',
        `--audit-policy-file=${policy}`,
      ],
    });
    const requested = () => reviewer.requests.map(({url}) => url!.split('?')[0]);
    t.is((await server.get('/api', {user: {name: 'nobody', groups: []}})).status, 200);
    t.true(control.tunnels.length >= 2, 'authorization and audit');
    t.deepEqual([...new Set(control.tunnels)], [reviewHost]);
    t.deepEqual([...new Set(requested())], ['/review']);
    t.deepEqual(control.requests[0]!.headers.host, '127.0.0.1');
    const before = control.tunnels.length;
    const {body: authenticated} = await server.handler({
      method: 'GET',
      url: '/api',
      headers: {authorization: 'Bearer something'},
      caller: {credentials: {certificates: []}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    t.not(authenticated.kind, 'empty');
    t.is(control.tunnels.length, before + 1, 'authentication');
    t.deepEqual(cluster.dialled, []);

    const pods = '/api/v1/namespaces/shops/pods';
    await server.post('/api/v1/namespaces', {metadata: {name: 'shops'}});
    await server.post(pods, {metadata: {name: 'p'}, spec: {nodeName: 'n', containers: [{name: 'c', image: 'x'}]}});
    await server.put(`${pods}/p/status`, {metadata: {name: 'p'}, status: {podIP: '10.1.1.1', podIPs: [{ip: '10.1.1.1'}]}});
    const relayed = async (path: string, headers: Readonly<Record<string, string>>) =>
      (
        await server.handler({
          method: 'GET',
          url: `${pods}/p:${backend.port}/proxy/${path}`,
          headers,
          caller: {user: admin},
          remoteAddress: '',
          upgradable: true,
          signal: new AbortController().signal,
        })
      ).body;
    const answer = await relayed('', {});
    t.is(answer.kind === 'stream' ? await text(answer.source) : answer.kind, 'from the pod');
    t.deepEqual(cluster.dialled, [`10.1.1.1:${backend.port}`]);
    const body = await relayed('echo', {connection: 'Upgrade', upgrade: 'echo'});
    if (body.kind !== 'upgrade') return t.fail(body.kind);
    const [near, far] = duplexPair();
    await body.take(far, Buffer.alloc(0));
    const sent = Buffer.alloc(300_000, 'x');
    near.write(sent);
    let echoed = 0;
    for await (const chunk of near.iterator({destroyOnReturn: false})) {
      echoed += String(chunk).replaceAll(/[^x]/g, '').length;
      if (echoed === sent.length) break;
    }
    near.destroy();
    t.is(echoed, sent.length);

    const hook = await server.post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      metadata: {name: 'w'},
      webhooks: [
        {
          name: 'hook.k8s.io',
          clientConfig: {url: `https://${reviewHost}/hook`, caBundle: Buffer.from(reviewer.ca).toString('base64')},
          rules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    t.is(hook.status, 201, hook.text);
    cluster.dialled.length = 0;
    for (let attempt = 0; attempt < 100 && cluster.dialled.length === 0; attempt++)
      t.is((await server.post('/api/v1/namespaces/shops/configmaps', {metadata: {generateName: 'm-'}})).status, 201);
    t.deepEqual(cluster.dialled, [reviewHost]);
    t.true(requested().includes('/hook'));

    const metrics = (await server.get('/metrics')).text;
    t.regex(metrics, /^apiserver_egress_dialer_dial_start_total\{protocol="grpc",transport="uds"\} [3-9]$/m);
    t.regex(metrics, /^apiserver_egress_dialer_dial_duration_seconds_count\{protocol="http_connect",transport="tcp"\} [1-9]\d*$/m);
  },
);

test.serial('a connection through the konnectivity protocol is closed on both sides', async t => {
  await using backend = await aBackend((_, response) => response.end('x'));
  const egress = await openEgress(egressParts(configuration));
  const sessions = cluster.sessions;
  const connection = await egress.network('cluster').dial('pod.example', backend.port);
  t.is(cluster.dialled.at(-1), `pod.example:${backend.port}`);
  connection.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  t.true((await text(connection)).endsWith('\r\n\r\nx'));
  while (cluster.sessions > sessions) await new Promise(setImmediate);

  const other = await egress.network('cluster').dial('10.0.0.1', backend.port);
  other.destroy();
  while (cluster.sessions > sessions || backend.open > 0) await new Promise(setImmediate);
  t.deepEqual(cluster.packets.at(-1), [0, 2]);
});

const egressParts = (content: string, meter = noMeter) => ({
  options: {egressSelectorConfigFile: file(`egress-${count++}`, content)},
  naming: naming('kubernetes'),
  clock,
  random,
  meter,
  network: systemNetwork(clock),
});

test.serial('what a proxy server refuses is reported, with the stage in the metrics', async t => {
  const {MetricsRegistry} = await import('#src/observe/metrics.js');
  const meter = new MetricsRegistry();
  const egress = await openEgress(egressParts(configuration, meter));
  const absent = await openEgress(
    egressParts(configurationOf({name: 'cluster', connection: {proxyProtocol: 'GRPC', transport: {uds: {udsName: '/no/socket'}}}}), meter),
  );
  await t.throwsAsync(egress.network('etcd').dial('etcd', '1'), {
    message: `proxy error from ${join(folder, 'store.sock')} while dialing etcd:1, code 502: 502 Bad Gateway`,
  });
  cluster.refusal = 'no agent available';
  await t.throwsAsync(egress.network('cluster').dial('10.0.0.9', '80'), {message: 'no agent available'});
  cluster.refusal = '';
  await t.throwsAsync(absent.network('cluster').dial('10.0.0.9', '80'), {message: /dial unix \/no\/socket: connect: no such file/});

  const failures = (labels: object) => meter.value('apiserver_egress_dialer_dial_failure_count', {transport: 'uds', ...labels});
  t.is(failures({protocol: 'http_connect', stage: 'proxy'}), 1);
  t.is(failures({protocol: 'grpc', stage: 'proxy'}), 1);
  t.is(failures({protocol: 'grpc', stage: 'connect'}), 1);
});

test.serial('connections to etcd go through the selection for etcd', async t => {
  const parts = egressParts(configuration);
  const dial = await etcdDialer(parts);
  const {options} = parseFlags(apiserverFlags, [
    '--kvstore-servers=http://etcd.example:2379',
    '--storage-backend=etcd3',
    '--service-cluster-ip-range=10.0.0.0/16',
    '--service-account-issuer=https://x',
    `--service-account-signing-key-file=${file('sa', '')}`,
    `--service-account-key-file=${file('sa', '')}`,
  ]);
  const servers = storeServersOf({options, naming: parts.naming, gate: () => false, minCompatibility: '1.34', dial})!;
  const stop = new AbortController();
  await t.throwsAsync(openStoreServers(servers, {clock, random, log: noLog, waiting: () => stop.abort(new Error('seen'))}, stop.signal));

  t.true(store.tunnels.includes('etcd.example:2379'));
  t.is(await etcdDialer(egressParts(configurationOf(grpc))), undefined);
});

const selection = (connection: object, name = 'cluster') => configurationOf({name, connection});
for (const [what, content, problem] of [
  ['another kind', '{"kind": "Other", "apiVersion": "v1"}', 'no kind "Other" is registered for version "v1"'],
  ['an unknown field', '{"kind": "EgressSelectorConfiguration", "apiVersion": "apiserver.k8s.io/v1beta1", "x": 1}', 'unknown field "x"'],
  ['another network', selection({proxyProtocol: 'Direct'}, 'master'), 'service.connection: Unsupported value: "master"'],
  ['a network twice', configurationOf(grpc, {...grpc, name: 'Cluster'}), 'service.connection[1]: Duplicate value: "cluster"'],
  ['another protocol', selection({proxyProtocol: 'SOCKS'}), 'service.connection.protocol: Unsupported value: "SOCKS"'],
  ['a transport of direct connections', selection({proxyProtocol: 'Direct', transport: {}}), 'config must be absent for direct connect'],
  [
    'GRPC over TCP',
    selection({proxyProtocol: 'GRPC', transport: {tcp}}),
    'service.connection.uds: Required value: UDS must be set with GRPC',
  ],
  ['no transport', selection({proxyProtocol: 'HTTPConnect'}), 'transport must be set for HTTPConnect'],
  ['two transports', selection({proxyProtocol: 'HTTPConnect', transport: {tcp, uds: {udsName: 'x'}}}), 'TCP and UDS cannot both be set'],
  [
    'TLS settings without TLS',
    selection({proxyProtocol: 'HTTPConnect', transport: {tcp: {...tcp, url: 'http://x'}}}),
    'must not be present',
  ],
  [
    'no certificate',
    selection({proxyProtocol: 'HTTPConnect', transport: {tcp: {url: 'https://x', tlsConfig: {}}}}),
    'Using TLS requires clientCert',
  ],
] as const) {
  test.serial(`an egress configuration with ${what} ends the start with a line that names the flag`, async t => {
    const error = await t.throwsAsync(openEgress(egressParts(content)));
    t.regex(error.message, /^--egress-selector-config-file: \S+: [^\n]+$/);
    t.true(error.message.includes(problem), error.message);
  });
}

test.serial('issuers of tokens are reached through the selection that they name, which must be configured', async t => {
  const issuer = `https://${reviewHost}/issuer`;
  const authentication = file(
    'authentication',
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: {url: issuer, audiences: ['a'], egressSelectorType: 'controlplane', certificateAuthority: reviewer.ca},
          claimMappings: {username: {claim: 'sub', prefix: ''}},
        },
      ],
    }),
  );
  const start = (content: string, ...more: string[]) =>
    sweepServer({
      thread: false,
      flags: [`--authentication-config=${authentication}`, `--egress-selector-config-file=${file(`egress-${count++}`, content)}`, ...more],
    });
  await t.throwsAsync(start(configurationOf(grpc)), {message: 'oidc: egress lookup for "controlplane" is not configured'});
  await t.throwsAsync(start(configuration, '--feature-gates=StructuredAuthenticationConfigurationEgressSelector=false'), {
    message: /egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled/,
  });
  await using _ = await start(configuration);
  const discovered = () => reviewer.requests.some(({url = ''}) => url.startsWith('/issuer/.well-known'));
  while (!discovered()) await new Promise(setImmediate);

  t.true(control.tunnels.includes(reviewHost));
});
