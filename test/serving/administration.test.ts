import test from 'ava';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {naming} from '#src/api/naming.js';
import {versionInfo} from '#src/api/version.js';
import {notFound, statusError} from '#src/api/status.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {certificatePem, parseCertificate} from '#src/pki/certificate.js';
import {administration, type AdministrationSettings} from '#src/serving/administration/handler.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {metricsRoute, slisRoute} from '#src/serving/administration/metrics.js';
import {configzRoute, verbosityRoute} from '#src/serving/administration/plain.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import type {AdministrativeRoute} from '#src/serving/administration/route.js';
import {flagzRoute, statuszRoute} from '#src/serving/administration/zpages.js';
import {type DelegatedSecurityFlags, delegatedSecurity} from '#src/serving/delegated/delegated-security.js';
import type {Delegate} from '#src/serving/delegation.js';
import {aPair, anAuthority} from './credentials.js';

const plat = naming('plat');

const flags: DelegatedSecurityFlags = {
  requestheaderAllowedNames: [],
  requestheaderUsernameHeaders: ['x-remote-user'],
  requestheaderGroupHeaders: ['x-remote-group'],
  requestheaderExtraHeadersPrefix: ['x-remote-extra-'],
  requestheaderUidHeaders: [],
  authenticationSkipLookup: false,
  authenticationTolerateLookupFailure: false,
  authenticationTokenWebhookCacheTtl: 10_000,
  authorizationAlwaysAllowPaths: ['/healthz', '/readyz', '/livez'],
  authorizationWebhookCacheAuthorizedTtl: 10_000,
  authorizationWebhookCacheUnauthorizedTtl: 10_000,
};

/** A port of a component, with every answer of its API server given by `respond`. */
const aPort = async (
  respond: ((method: string, path: string, body: never) => unknown) | undefined,
  more: Partial<DelegatedSecurityFlags> = {},
  routes: readonly AdministrativeRoute[] = [],
  settings: Pick<AdministrationSettings, 'closesUnauthenticated'> = {},
) => {
  const clock = new VirtualClock(Date.now());
  const requested: unknown[] = [];
  const delegate: Delegate | undefined = respond && {
    naming: plat,
    request: async (method, path, options) => {
      if (method === 'POST') requested.push((options!.body as {spec: unknown}).spec);
      return respond(method, path, options?.body as never);
    },
  };
  const stop = new AbortController();
  const security = await delegatedSecurity({
    flags: {...flags, ...more},
    authentication: delegate,
    authorization: delegate,
    naming: plat,
    clock,
    random: seededRandom(1),
    files: systemFiles,
    log: noLog,
    signal: stop.signal,
    withUid: false,
  });
  const checks = new HealthChecks(noLog);
  const handler = administration({
    ...security,
    ...settings,
    routes: [...healthRoutes({healthz: checks, livez: checks, readyz: checks}), configzRoute(() => ({a: {Generic: {}}})), ...routes],
    failed: error => {
      throw error;
    },
  });
  const ask = async (url: string, more: Partial<ApiRequest> = {}) => answerOf(await handler(aRequest(url, more)));
  return {clock, requested, checks, ask, stop: () => stop.abort()};
};

const aRequest = (url: string, more: Partial<ApiRequest>): ApiRequest => ({
  method: 'GET',
  url,
  headers: {},
  caller: {credentials: {certificates: [], connection: {}}},
  remoteAddress: '127.0.0.1',
  signal: new AbortController().signal,
  ...more,
});

const answerOf = ({status, body, headers}: ApiResponse) => ({status, headers, text: body.kind === 'bytes' ? body.bytes.toString() : ''});

const bearer = (token: string) => ({headers: {authorization: `Bearer ${token}`}});

const lookupMissing = (method: string) => {
  if (method === 'GET') throw notFound({group: '', resource: 'configmaps'}, 'extension-apiserver-authentication');
};

/** Knows the token `good`, and lets its user see everything. */
const respond = (method: string, path: string, body: {spec: {token: string; user: string}}) => {
  if (method === 'GET') return {data: {}};
  if (path.endsWith('tokenreviews'))
    return {status: body.spec.token === 'good' ? {authenticated: true, user: {username: 'jane', groups: ['dev']}} : {authenticated: false}};
  return {status: {allowed: body.spec.user === 'jane', reason: 'because'}};
};

test('an anonymous or refused request over HTTP/2 ends its connection, if unauthenticated clients have one each', async t => {
  const port = await aPort(respond, {}, [], {closesUnauthenticated: true});
  const connection = async (more: Partial<ApiRequest>) => (await port.ask('/healthz', {isHttp2: true, ...more})).headers['Connection'];

  t.is(await connection({}), 'close');
  t.is(await connection(bearer('bad')), 'close');
  t.is(await connection(bearer('good')), undefined);
  t.is(await connection({isHttp2: false}), undefined);
  port.stop();
});

test('health is open to all, everything else to users whom the API server authorizes', async t => {
  const port = await aPort(respond);

  t.is((await port.ask('/healthz')).text, 'ok');
  const anonymous = await port.ask('/configz');
  t.is(anonymous.status, 403);
  t.is(JSON.parse(anonymous.text).message, 'forbidden: User "system:anonymous" cannot get path "/configz": because');
  t.is((await port.ask('/configz', bearer('bad'))).status, 401);
  const allowed = await port.ask('/configz', bearer('good'));
  t.is(allowed.status, 200);
  t.is(allowed.text, '{"a":{"Generic":{}}}\n');
  t.is(allowed.headers['Cache-Control'], 'no-cache, private');
  t.is((await port.ask('/nothing', bearer('good'))).status, 404);
});

test('answers of the API server are kept for their time, whether they allow or not', async t => {
  const port = await aPort(respond);

  for (const wait of [0, 9_000, 2_000]) {
    await port.clock.advance(wait);
    await Promise.all([port.ask('/configz', bearer('good')), port.ask('/configz', bearer('good'))]);
  }

  t.deepEqual(
    port.requested.map(spec => Object.keys(spec as object).join()),
    ['token', 'nonResourceAttributes,user,groups', 'token', 'nonResourceAttributes,user,groups'],
  );
  t.deepEqual(port.requested[1], {
    user: 'jane',
    groups: ['dev', 'system:authenticated'],
    nonResourceAttributes: {path: '/configz', verb: 'get'},
  });
});

test('an unreachable API server is tried five times; then tokens are invalid and access is an internal error', async t => {
  const port = await aPort(method => {
    if (method === 'GET') return {data: {}};
    throw statusError('ServiceUnavailable', 'down');
  });
  const settle = async <T>(answer: Promise<T>): Promise<T> => {
    await port.clock.advance(60_000);
    return answer;
  };

  t.is((await settle(port.ask('/configz', bearer('good')))).status, 401);
  t.is(port.requested.length, 5);
  const access = await settle(port.ask('/configz'));
  t.is(access.status, 500);
  t.is(access.text, 'Internal Server Error: "/configz": down\n');
});

test('without an API server to ask, all but the open paths is forbidden, and tokens are no credentials', async t => {
  const port = await aPort(undefined);

  t.is((await port.ask('/readyz')).status, 200);
  t.is((await port.ask('/healthz', bearer('good'))).status, 200);
  const refused = await port.ask('/configz', bearer('good'));
  t.is(refused.status, 403);
  t.is((JSON.parse(refused.text) as {message: string}).message, 'forbidden: User "system:anonymous" cannot get path "/configz"');
  t.is((await port.ask('/configz')).status, 403);
});

test('a failed lookup of the authentication configuration is fatal unless it is to be tolerated', async t => {
  const error = await t.throwsAsync(aPort(lookupMissing));
  t.is(
    error!.message,
    'unable to look up the authentication configuration plat-system/extension-apiserver-authentication: configmaps "extension-apiserver-authentication" not found',
  );
  await t.notThrowsAsync(aPort(lookupMissing, {authenticationTolerateLookupFailure: true}));
  await t.notThrowsAsync(aPort(lookupMissing, {authenticationSkipLookup: true}));
});

test('client certificates and trusted proxies are verified with the published configuration of the cluster', async t => {
  const [clients, proxies] = [await anAuthority('clients'), await anAuthority('proxies')];
  const data = {
    'client-ca-file': certificatePem(clients.certificate),
    'requestheader-client-ca-file': certificatePem(proxies.certificate),
    'requestheader-allowed-names': '["front-proxy"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  };
  const users: unknown[] = [];
  const port = await aPort((method, _, body: {spec: unknown}) =>
    method === 'GET' ? {data} : (users.push(body.spec), {status: {allowed: true}}),
  );
  const calling = async (authority: typeof clients, commonName: string, headers: ApiRequest['headers'] = {}) => {
    const {cert} = await aPair(authority, {commonName, organizations: ['org']}, 'client auth');
    return {headers, caller: {credentials: {certificates: [parseCertificate(derOf(cert)).raw], connection: {}}}};
  };
  const claimed = {'x-remote-user': 'joe', 'x-remote-group': ['a', 'b'], 'x-remote-extra-some%2fkey': 'v'};

  t.is((await port.ask('/configz', await calling(clients, 'jane'))).status, 200);
  t.is((await port.ask('/configz', await calling(proxies, 'front-proxy', claimed))).status, 200);
  t.is((await port.ask('/configz', await calling(proxies, 'impostor', claimed))).status, 401);
  t.is((await port.ask('/configz', await calling(clients, 'jane', claimed))).status, 200);

  const seen = users as {user: string; groups: string[]; extra: object}[];
  t.deepEqual(
    seen.map(({user}) => user),
    ['jane', 'joe', 'jane'],
  );
  t.deepEqual(seen[1]!.groups, ['a', 'b', 'system:authenticated']);
  t.deepEqual(seen[1]!.extra, {'some/key': ['v']});
});

const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64');

const masters = {caller: {user: {name: 'root', groups: ['system:masters']}}};

test('health responses list each check where requested, and the failing ones in any case', async t => {
  const port = await aPort(undefined);
  port.checks.add('ping', () => {});
  port.checks.add('leaderElection', () => {
    throw new Error('lost');
  });

  const failing = await port.ask('/healthz');
  t.is(failing.status, 500);
  t.is(failing.text, '[+]ping ok\n[-]leaderElection failed: reason withheld\nhealthz check failed\n');
  t.is((await port.ask('/healthz?exclude=leaderElection')).text, 'ok');
  t.is((await port.ask('/livez/ping', masters)).text, 'ok');
  t.is((await port.ask('/livez/leaderElection', masters)).status, 500);
  t.is((await port.ask('/livez/none', masters)).status, 404);
});

test('metrics are shown, and service levels count how checks fared until they are reset', async t => {
  const checks = new HealthChecks(noLog);
  checks.add('ping', () => {});
  const metrics = new MetricsRegistry();
  metrics.counter({name: 'things_total', help: 'Things.'}).add();
  const port = await aPort(undefined, {}, [
    metricsRoute(metrics, {resets: true}),
    slisRoute(plat, [checks], {resets: true}),
    ...healthRoutes({healthz: checks, livez: checks, readyz: checks}),
  ]);

  await port.ask('/readyz');
  t.regex((await port.ask('/metrics', masters)).text, /^things_total 1$/m);
  const levels = (await port.ask('/metrics/slis', masters)).text;
  t.regex(levels, /^plat_healthcheck\{name="ping",type="readyz"\} 1$/m);
  t.regex(levels, /^plat_healthchecks_total\{name="ping",type="readyz",status="success"\} 1$/m);
  await port.ask('/metrics/slis', {...masters, method: 'DELETE'});
  t.notRegex((await port.ask('/metrics/slis', masters)).text, /success/);
  t.regex((await port.ask('/metrics', masters)).text, /^things_total 1$/m);
  t.notRegex((await port.ask('/metrics/slis', masters)).text, /things/);
  t.is((await port.ask('/metrics', {...masters, method: 'DELETE'})).text, 'metrics reset\n');
  t.notRegex((await port.ask('/metrics', masters)).text, /^things_total [1-9]/m);
});

const version = versionInfo({emulated: '1.34', minCompatibility: '1.34', runtime: {version: 'v20.0.0', platform: 'linux', arch: 'x64'}});
const start = Date.parse('2026-01-02T03:04:05Z');

/** The pages of a component that has run for an hour, a minute and a second. */
const zPagesPort = async () => {
  const clock = new VirtualClock(start);
  const ports = {naming: plat, clock, random: {...seededRandom(1), float: () => 0.3}};
  const paths = ['/healthz', '/healthz/*', '/metrics', '/metrics/slis', '/apis', '/openapi/v2', '/', '/flagz'];
  const statusz = statuszRoute({component: 'plat-scheduler', version, startedAt: start, paths: () => paths}, ports);
  const flagz = flagzRoute({component: 'plat-scheduler', flags: () => ({v: '2', 'secure-port': '0'})}, ports);
  await clock.advance(3_661_900);
  const port = await aPort(undefined, {}, [statusz, flagz]);
  return (path: string, accept?: string) => port.ask(path, {...masters, headers: accept === undefined ? {} : {accept}});
};

const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n';
const statuszText = `
plat-scheduler statusz
${warning}
Started:  Fri Jan  2 03:04:05 UTC 2026
Up:  1 hr 01 min 01 sec
Go version:  v20.0.0
Binary version:  1.35.0-plat.0.1.0
Emulation version:  1.34
Paths:  /flagz /healthz /metrics
`;

test('z-pages describe a component in plain text', async t => {
  const ask = await zPagesPort();
  for (const accept of [
    undefined,
    '',
    'text/plain',
    '*/*',
    'text/*',
    'application/json;v=foo;g=config.plat.io;as=Statusz,*/*',
    'application/json, text/plain',
  ]) {
    const {status, text, headers} = await ask('/statusz', accept);
    t.deepEqual([status, text], [200, statuszText], accept);
    t.is(headers['X-Content-Type-Options'], 'nosniff');
  }
  t.is((await ask('/flagz')).text, `\nplat-scheduler flagz\n${warning}secure-port: 0\nv: 2\n`);
});

test('z-pages have a structured form with a version, and no other', async t => {
  const ask = await zPagesPort();
  const statusz = await ask('/statusz', 'application/json;v=v1alpha1;g=config.plat.io;as=Statusz');
  t.deepEqual(JSON.parse(statusz.text), {
    kind: 'Statusz',
    apiVersion: 'config.plat.io/v1alpha1',
    metadata: {name: 'plat-scheduler'},
    startTime: '2026-01-02T03:04:05Z',
    uptimeSeconds: 3661,
    goVersion: 'v20.0.0',
    binaryVersion: '1.35.0-plat.0.1.0',
    emulationVersion: '1.34',
    paths: ['/flagz', '/healthz', '/metrics'],
  });
  t.deepEqual(JSON.parse((await ask('/flagz', 'application/json;v=v1alpha1;g=config.plat.io;as=Flagz')).text), {
    kind: 'Flagz',
    apiVersion: 'config.plat.io/v1alpha1',
    metadata: {name: 'plat-scheduler'},
    flags: {v: '2', 'secure-port': '0'},
  });
  for (const accept of [
    'application/json',
    'application/xml',
    'application/json;v=v1alpha1;g=config.plat.io',
    'application/json;v=v1alpha1;g=config.plat.io;as=Flagz',
    'text/plain;as=Statusz;g=config.plat.io;v=v1alpha1',
  ]) {
    const {status, text} = await ask('/statusz', accept);
    t.is(status, 406, accept);
    t.like(JSON.parse(text), {
      reason: 'NotAcceptable',
      message:
        '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.plat.protobuf, text/plain',
    });
  }
  const yaml = await ask('/statusz', 'application/yaml;v=v1alpha1;g=config.plat.io;as=Statusz');
  t.is(yaml.status, 500);
  t.is((JSON.parse(yaml.text) as {message: string}).message, "content negotiation failed: unsupported media type 'application/yaml'");
});

test('verbosity is set by a PUT of a number', async t => {
  const verbosity = new Verbosity(2);
  const port = await aPort(undefined, {}, [verbosityRoute(verbosity)]);
  const put = (value: string) =>
    port.ask('/debug/flags/v', {...masters, method: 'PUT', body: {kind: 'bytes', read: async () => Buffer.from(value)}});

  t.is((await put('5')).status, 200);
  t.is(verbosity.level, 5);
  t.is((await put('five')).status, 400);
  t.is((await port.ask('/debug/flags/v', masters)).status, 406);
  t.is(verbosity.level, 5);
});

test("profiles are taken one at a time, and are V8's own", async t => {
  const clock = new VirtualClock();
  const port = await aPort(undefined, {}, profilingRoutes({clock, argv: ['plat-controller-manager', '--v=2'], contention: true}));

  const profile = port.ask('/debug/pprof/profile?seconds=1', masters);
  const second = await port.ask('/debug/pprof/heap?seconds=1', masters);
  const progress = {isTaken: false};
  void profile.then(() => {
    progress.isTaken = true;
  });
  while (!progress.isTaken) await clock.advance(1000);

  t.is(second.status, 500);
  t.true(Array.isArray(JSON.parse((await profile).text).nodes));
  t.is((await port.ask('/debug/pprof/cmdline', masters)).text, 'plat-controller-manager\0--v=2');
  t.regex((await port.ask('/debug/pprof/block', masters)).text, /event loop delay p99/);
  t.is((await port.ask('/debug/pprof/none', masters)).status, 404);
});
