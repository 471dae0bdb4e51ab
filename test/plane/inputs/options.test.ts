import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, writeFileSync} from 'node:fs';
import http2 from 'node:http2';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {systemFiles, type Files} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {createLog} from '#src/observe/log.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {followAgentTrust} from '#src/plane/api-server/agent-trust.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {refusal} from '#test/resources/environment.js';
import {wire} from '#test/apiserver/wire.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';

const aFile = (text: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-options-')), 'file.yaml');
  writeFileSync(file, text);
  return file;
};

const authority = await anAuthority();
const [pair, another] = [
  await aPair(authority, {commonName: 'one'}, 'client auth'),
  await aPair(authority, {commonName: 'other'}, 'client auth'),
];
const alone = {controllerManagerArgs: ['--controllers=']};

const bad: readonly (readonly [object, string])[] = [
  [{nameing: 'plat'}, 'there is no option "nameing": did you mean "naming"?'],
  [{dataDIR: 'x'}, 'there is no option "dataDIR": did you mean "dataDir"?'],
  [{apiServerArgs: []}, 'there is no option "apiServerArgs": did you mean "apiserverArgs"?'],
  [{port: 6443}, 'there is no option "port": the options are naming, dataDir, listen, '],
  [{naming: 'k8s'}, 'naming must be "kubernetes" or "plat", not "k8s"'],
  [{listen: 'no'}, 'listen must be true or false, not "no"'],
  [{securePort: 70_000}, 'securePort must be a port from 0 to 65535, not 70000'],
  [{securePort: '6443'}, 'securePort must be a port from 0 to 65535, not "6443"'],
  [{nodes: -1}, 'nodes must be a whole number from 0 to 10000, not -1'],
  [{nodes: 1.5}, 'nodes must be a whole number from 0 to 10000, not 1.5'],
  [{dataDir: ''}, 'dataDir must be a path, not ""'],
  [{bindAddress: 'localhost'}, 'bindAddress must be an IP address, not "localhost"'],
  [{apiserverArgs: '--v=2'}, 'apiserverArgs must be a list of flags such as "--feature-gates=X=true", not "--v=2"'],
  [{schedulerArgs: ['v=2']}, 'schedulerArgs must be a list of flags such as "--feature-gates=X=true", not ["v=2"]'],
  [{manifests: 'crds'}, 'manifests must be a list of paths or objects, not "crds"'],
  [{webhooks: 9443}, 'webhooks must be {port: N} with a port from 1 to 65535, not 9443'],
  [{clock: () => 0}, 'clock must be a Clock (with now, monotonic, schedule, hold, unhandled, keepAlive), not a function'],
  [{freeze: null}, 'freeze must be true or false, not null'],
  [{listen: false, kubeconfig: 'file'}, 'kubeconfig needs a port: leave listen out, or kubeconfig'],
  [{simulationFile: 'rules.yaml'}, 'simulationFile needs nodes: how many of them to simulate'],
];
for (const [options, message] of bad) {
  test(`a plane does not start with ${Object.keys(options).join(' and ')} like that: ${message}`, async t => {
    const error = await t.throwsAsync(startPlane(options));
    t.true(error!.message.startsWith(`startPlane: ${message}`), error!.message);
  });
}

test('undefined options count as not given, and a configured store is used without a directory', async t => {
  const undefinedOptions = {naming: undefined, dataDir: undefined, nodes: undefined} as object;
  await using plane = await startPlane({...undefinedOptions, listen: false, clock: new VirtualClock(), ...alone});

  t.is(plane.naming.name, 'kubernetes');
  await t.throwsAsync(startPlane({apiserverArgs: ['--storage-backend=etcd3']}), {message: /requires --kvstore-servers/});
  await t.throwsAsync(startPlane('here' as never), {message: 'startPlane: the options must be an object, not "here"'});
});

test('admission plugins read their configuration file', async t => {
  const file = aFile(`
kind: AdmissionConfiguration
apiVersion: apiserver.config.plat.io/v1
plugins:
- name: PodSecurity
  configuration: {kind: PodSecurityConfiguration, apiVersion: pod-security.admission.config.plat.io/v1, defaults: {enforce: baseline}}
`);
  await using plane = await aPlane({...alone, apiserverArgs: [`--admission-control-config-file=${file}`]});
  const pods = plane.client().resource(kinds.pods);
  await plane
    .client()
    .resource(kinds.serviceAccounts)
    .create({metadata: {name: 'default', namespace: 'default'}});

  t.regex(
    (
      await refusal(
        pods.create({metadata: {name: 'p', namespace: 'default'}, spec: {hostPID: true, containers: [{name: 'c', image: 'i'}]}}),
      )
    ).message ?? '',
    /violates PodSecurity "baseline:latest"/,
  );
});

for (const [what, text, message] of [
  [
    'has an unknown field',
    'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugin: []',
    /^--admission-control-config-file: \S+: strict decoding error: unknown field "plugin"$/,
  ],
  [
    'has an invalid plugin configuration',
    'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugins: [{name: PodSecurity, configuration: {}}]',
    /^--admission-control-config-file: \S+: PodSecurity: kind is missing: expected PodSecurityConfiguration of \S+$/,
  ],
  [
    'names users that are not there',
    'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\nplugins: [{name: MutatingAdmissionWebhook, configuration: {kind: WebhookAdmissionConfiguration, apiVersion: apiserver.config.plat.io/v1, kubeConfigFile: /none/users.yaml}}]',
    /^--admission-control-config-file: MutatingAdmissionWebhook: kubeConfigFile \/none\/users\.yaml: no such file or directory$/,
  ],
] as const) {
  test(`a server does not start with a configuration of plugins that ${what}`, async t => {
    await t.throwsAsync(aPlane({...alone, apiserverArgs: [`--admission-control-config-file=${aFile(text)}`]}), {message});
  });
}

test('a server is spoken of by the name it has outside', async t => {
  await using plane = await startPlane({...alone, apiserverArgs: ['--external-hostname=api.example']});
  const {get} = wire(plane.api.handler);
  const {port} = new URL(plane.url);

  t.deepEqual((await get('/api')).json<{serverAddressByClientCIDRs: object[]}>().serverAddressByClientCIDRs, [
    {clientCIDR: '0.0.0.0/0', serverAddress: `api.example:${port}`},
  ]);
  t.is((await get('/.well-known/openid-configuration')).json<{jwks_uri: string}>().jwks_uri, `https://api.example:${port}/openid/v1/jwks`);
});

for (const [what, args, message] of [
  [
    'an authority that is not there',
    () => ['--platlet-certificate-authority=/none/ca.crt'],
    /^--platlet-certificate-authority: open \/none\/ca\.crt: no such file or directory$/,
  ],
  [
    'an authority that is none',
    () => [`--platlet-certificate-authority=${aFile('nothing')}`],
    /^--platlet-certificate-authority: \S+: .+$/,
  ],
  [
    'a certificate that is not there',
    () => ['--platlet-client-certificate=/none/x.crt', `--platlet-client-key=${aFile(pair.key)}`],
    /^--platlet-client-certificate: open \/none\/x\.crt: no such file or directory$/,
  ],
  [
    'a key that is none',
    () => [`--platlet-client-certificate=${aFile(pair.cert)}`, `--platlet-client-key=${aFile('nothing')}`],
    /^--platlet-client-certificate: \S+, --platlet-client-key: \S+: .+$/,
  ],
  [
    'a key of another certificate',
    () => [`--platlet-client-certificate=${aFile(pair.cert)}`, `--platlet-client-key=${aFile(another.key)}`],
    /^--platlet-client-certificate: \S+, --platlet-client-key: \S+: tls: private key does not match public key$/,
  ],
] as const) {
  test(`a server does not start with ${what} for the agents of nodes`, async t => {
    await t.throwsAsync(aPlane({...alone, apiserverArgs: args()}), {message});
  });
}

test('key pairs for agents and the server change with their files, and stay while these are invalid', async t => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const contents = new Map([
    ['cert', pair.cert],
    ['key', pair.key],
  ]);
  const files: Files = {
    ...systemFiles,
    read: path => Promise.resolve(contents.has(path) ? Buffer.from(contents.get(path)!) : undefined),
    stamp: path => contents.get(path) ?? '',
    watch: () => ({[Symbol.dispose]() {}}),
  };
  const options = {platletCertificateAuthority: '', platletClientCertificate: 'cert', platletClientKey: 'key'};
  const trust = await followAgentTrust(options, {files, clock, log: noLog, signal: stop.signal});
  const first = trust.current;
  contents.set('cert', another.cert);
  await clock.advance(120_000);
  const unfitting = trust.current;
  contents.set('key', another.key);
  await clock.advance(120_000);
  stop.abort();

  t.is(unfitting, first);
  t.is(String(first.verified.pair?.cert), pair.cert);
  t.is(String(trust.current.verified.pair?.cert), another.cert);
  t.is(trust.current.verified.insecure, true, 'without an authority every agent is believed');
});

const anEvent = {metadata: {name: 'e', namespace: 'default'}, involvedObject: {namespace: 'default'}, reason: 'Tested', type: 'Normal'};
const hours = 3_600_000;

test('a server with flags at their maximum keeps events, watches and collections for that long', async t => {
  const longest = '2562047h47m16s';
  const durations = [
    'request-timeout',
    'storage-initialization-timeout',
    'kvstore-healthcheck-timeout',
    'kvstore-readycheck-timeout',
    'platlet-timeout',
    'livez-grace-period',
    'kvstore-compaction-interval',
  ];
  const counts = [
    'min-request-timeout',
    'lease-reuse-duration-seconds',
    'delete-collection-workers',
    'max-requests-inflight',
    'max-mutating-requests-inflight',
    'default-not-ready-toleration-seconds',
  ];
  const greatest = [
    ...durations.map(flag => `--${flag}=${longest}`),
    ...counts.map(flag => `--${flag}=9007199254740991`),
    '--event-ttl=2500000h',
  ];
  await using plane = await aPlane({...alone, apiserverArgs: greatest});
  const {get, post, watch, remove} = wire(plane.api.handler);
  t.is((await post('/api/v1/namespaces/default/events', anEvent)).status, 201);
  using watching = await watch('/api/v1/namespaces/default/events?watch=1');
  await plane.clock.advance(3 * hours);

  t.deepEqual(watching.summaries, ['ADDED e']);
  t.false(watching.ended);
  t.is((await get('/readyz')).status, 200);
  t.is((await remove('/api/v1/namespaces/default/events')).status, 200);
  t.is((await get('/api/v1/namespaces/default/events')).json<{items: object[]}>().items.length, 0);
});

test('events are kept for ever with a time of 0, and for a second at least', async t => {
  for (const [ttl, found] of [
    ['0', 200],
    ['1s', 404],
  ] as const) {
    await using plane = await aPlane({
      ...alone,
      apiserverArgs: [`--event-ttl=${ttl}`, '--kvstore-count-metric-poll-period=0', '--kvstore-db-metric-poll-interval=0'],
    });
    const {get, post, put} = wire(plane.api.handler);
    t.is((await post('/api/v1/namespaces/default/events', anEvent)).status, 201);
    const event = (await get('/api/v1/namespaces/default/events/e')).json();
    t.is((await put('/api/v1/namespaces/default/events/e', {...event, reason: 'Again'})).status, 200, ttl);
    await plane.clock.advance(3 * hours);

    t.is((await get('/api/v1/namespaces/default/events/e')).status, found, ttl);
  }
});

test('as many streams may be open on a connection as HTTP/2 can number', async t => {
  await using plane = await startPlane({...alone, apiserverArgs: ['--http2-max-streams-per-connection=4294967295']});
  const session = http2.connect(plane.url, {rejectUnauthorized: false});
  const [headers] = (await once(session.request({':path': '/healthz'}), 'response')) as [http2.IncomingHttpHeaders & {':status': number}];
  const most = session.remoteSettings.maxConcurrentStreams;
  session.destroy();

  t.is(headers[':status'], 200);
  t.is(most, 4_294_967_295);
});

test('a manager whose flags are at their greatest works', async t => {
  const greatest = [
    'concurrent-namespace-syncs',
    'concurrent-gc-syncs',
    'concurrent-deployment-syncs',
    'large-cluster-size-threshold',
    'plat-api-burst',
  ].map(flag => `--${flag}=2147483647`);
  const longest = [
    'namespace-sync-period',
    'resource-quota-sync-period',
    'min-resync-period',
    'node-startup-grace-period',
    'cluster-signing-duration',
  ].map(flag => `--${flag}=2562047h47m16s`);
  await using plane = await aPlane({
    controllerManagerArgs: [
      ...greatest,
      ...longest,
      '--plat-api-qps=1.7976931348623157e308',
      '--node-eviction-rate=1.7976931348623157e308',
      '--max-endpoints-per-slice=1',
    ],
  });
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: 'n'}});
  await plane.clock.drain();

  t.is((await plane.client().resource(kinds.serviceAccounts).get('default', {namespace: 'n'})).metadata?.name, 'default');
});

for (const dataDir of ['/proc/x/y', '/dev/null/x']) {
  test(`a plane in ${dataDir}, which cannot be made, is refused in one line`, async t => {
    await t.throwsAsync(startPlane({dataDir, listen: false}), {message: /^--data-dir: cannot make \S+: E\w+: .*$/});
  });
}

test('a certificate directory that cannot be made is refused in one line', async t => {
  await t.throwsAsync(systemFiles.write('/proc/x/y/apiserver.key', '', 0o600), {message: /^ENOENT: /});
});

for (const [emulated, missing, storedAs] of [
  ['1.32', ['ipaddresses', 'servicecidrs', 'volumeattributesclasses', 'resourceclaims'], undefined],
  ['1.33', ['volumeattributesclasses', 'resourceclaims'], 'v1beta1'],
  ['1.34', [], 'v1'],
] as const) {
  test(`a plane of emulated release ${emulated} serves the resources of that release, and works`, async t => {
    await using plane = await aPlane({apiserverArgs: [`--emulated-version=${emulated}`]});
    const {get} = wire(plane.api.handler);
    const groups = (await get('/apis', {headers: {accept: 'application/json;v=v2;g=apidiscovery.plat.io;as=APIGroupDiscoveryList'}})).json<{
      items: {versions: {resources: {resource: string}[]}[]}[];
    }>();
    const reported = groups.items.flatMap(({versions}) => versions.flatMap(({resources}) => resources.map(({resource}) => resource)));
    const hashes = (await get('/apis/networking.plat.io/v1')).json<{resources: {name: string; storageVersionHash?: string}[]}>().resources;
    const hashOf = (version: string) =>
      createHash('sha256').update(`networking.plat.io/${version}/IPAddress`).digest().subarray(0, 8).toString('base64');
    await plane
      .client()
      .resource(kinds.namespaces)
      .create({metadata: {name: 'n'}});
    const service = await plane
      .client()
      .resource(kinds.services)
      .create({metadata: {name: 's', namespace: 'n'}, spec: {ports: [{port: 80}]}});
    await plane.clock.drain();

    t.deepEqual(
      missing.filter(resource => reported.includes(resource)),
      [],
    );
    t.deepEqual(
      ['ipaddresses', 'servicecidrs', 'volumeattributesclasses', 'resourceclaims'].filter(resource => !reported.includes(resource)),
      [...missing],
    );
    t.is(hashes.find(({name}) => name === 'ipaddresses')?.storageVersionHash, storedAs && hashOf(storedAs));
    t.is((await get('/apis/storage.plat.io/v1/volumeattributesclasses')).status, missing.length > 0 ? 404 : 200);
    t.is((await get('/readyz')).status, 200);
    t.regex(service.spec?.clusterIP ?? '', /^10\.96\./);
    t.is((await plane.client().resource(kinds.serviceAccounts).get('default', {namespace: 'n'})).metadata?.name, 'default');
  });
}

test('a version that came after the emulated release stops the start when it is named', async t => {
  await t.throwsAsync(aPlane({...alone, apiserverArgs: ['--emulated-version=1.33', '--runtime-config=resource.plat.io/v1=true']}), {
    message:
      '--runtime-config: cannot enable version resource.plat.io/v1, because all its resources are introduced after the emulated version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true',
  });
});

test('a store that does not answer fails the start with its last error, which is logged while waiting', async t => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  let waits = () => {};
  const waiting = new Promise<void>(resolve => (waits = resolve));
  const log = createLog({
    clock,
    program: 'test',
    write(line) {
      lines.push(line);
      if (line.includes('the store is not usable yet')) waits();
    },
  });
  const starting = startPlane({
    listen: false,
    clock,
    log,
    apiserverArgs: ['--kvstore-servers=http://127.0.0.1:1', '--storage-initialization-timeout=1h'],
  });
  const refused = t.throwsAsync(starting, {
    message: /^--storage-initialization-timeout: the store was not ready within 3600 s: http:\/\/127\.0\.0\.1:1: .*connection refused$/,
  });
  await waiting;
  await clock.advance(3_600_000);
  await refused;

  t.regex(lines[0]!, /the store is not usable yet; it is tried again" reason="http:\/\/127\.0\.0\.1:1: .*connection refused/);
});

for (const [v, vmodule, reported] of [
  [2, '', false],
  [3, '', true],
  [0, 'httplog=3', true],
  [5, 'httplog=2', false],
] as const) {
  test(`requests are ${reported ? '' : 'not '}logged at -v=${v} --vmodule=${vmodule}`, async t => {
    const lines: string[] = [];
    const log = createLog({
      clock: new VirtualClock(),
      program: 'test',
      verbosity: new Verbosity(v, vmodule),
      write: line => void lines.push(line),
    });
    await using plane = await aPlane({...alone, log});
    const {get} = wire(plane.api.handler);
    await get('/api/v1/namespaces/default/configmaps?limit=7', {headers: {'user-agent': 'me/1', 'audit-id': 'a-1'}});

    const line = lines.find(text => text.includes('limit=7')) ?? '';
    t.is(line !== '', reported);
    if (reported)
      t.regex(
        line,
        /httplog\] "HTTP" verb="LIST" URI="\/api\/v1\/namespaces\/default\/configmaps\?limit=7" latency="\S+" userAgent="me\/1" audit-ID="a-1" srcIP="127\.0\.0\.1" resp=200/,
      );
    t.is(
      lines.some(text => text.includes('a start hook has finished')),
      v >= 2,
    );
  });
}
