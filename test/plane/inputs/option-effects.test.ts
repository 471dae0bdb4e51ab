import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import http2 from 'node:http2';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {systemFiles} from '#src/base/files/files.js';
import {createLog} from '#src/observe/log.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {alone} from './option-files.js';

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
  await using plane = await aPlane({...alone, isRestful: false, apiserverArgs: greatest});
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

/** How the requests of one connection with the headers are answered, and whether it then ends. */
const connectionOf = async (url: string, headers: http2.OutgoingHttpHeaders) => {
  const session = http2.connect(url, {rejectUnauthorized: false});
  let isEnded = false;
  session.on('goaway', () => (isEnded = true));
  const [answer] = (await once(session.request({':path': '/api/v1', ...headers}).resume(), 'response')) as [{':status': number}];
  if (!isEnded) await new Promise(resolve => session.ping(resolve));
  await new Promise(resolve => setImmediate(resolve));
  session.destroy();
  return [answer[':status'], isEnded];
};

test('a connection of HTTP/2 ends with an anonymous request or one that is refused with 401, unless the gate is off', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-tokens-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, 'good,jane,1\n');
  for (const isOn of [true, false]) {
    await using plane = await startPlane({
      ...alone,
      apiserverArgs: [`--token-auth-file=${tokens}`, `--feature-gates=UnauthenticatedHTTP2DOSMitigation=${isOn}`],
    });

    t.deepEqual(await connectionOf(plane.url, {}), [403, isOn]);
    t.deepEqual(await connectionOf(plane.url, {authorization: 'Bearer bad'}), [401, isOn]);
    t.deepEqual(await connectionOf(plane.url, {authorization: 'Bearer good'}), [200, false]);
  }
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

test('the emulated release and the minimum compatibility are in the version and in metrics', async t => {
  await using plane = await aPlane({
    naming: 'kubernetes',
    controllers: [],
    apiserverArgs: ['--emulated-version=kube=1.34', '--min-compatibility-version=kube=1.33'],
  });
  const {get} = wire(plane.api.handler);

  t.like((await get('/version')).json<Record<string, string>>(), {
    major: '1',
    minor: '35',
    emulationMajor: '1',
    emulationMinor: '34',
    minCompatibilityMajor: '1',
    minCompatibilityMinor: '33',
  });
  t.true((await get('/metrics')).text.includes('version_info{component="kube",binary="1.35.0",emulation="1.34",min_compat="1.33"} 1\n'));
});

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
      if (line.includes('waiting for the servers')) waits();
    },
  });
  const starting = startPlane({
    listen: false,
    clock,
    log,
    apiserverArgs: ['--kvstore-servers=http://127.0.0.1:1', '--storage-initialization-timeout=2m'],
  });
  const refused = t.throwsAsync(starting, {
    message: /^--storage-initialization-timeout: the store was not ready within 120 s: http:\/\/127\.0\.0\.1:1: .*connection refused$/,
  });
  await waiting;
  await clock.advance(120_000);
  await refused;

  t.regex(
    lines[0]!,
    /waiting for the servers of the store" servers="http:\/\/127\.0\.0\.1:1" reason="http:\/\/127\.0\.0\.1:1: .*connection refused/,
  );
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
