import test from 'ava';
import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import {noLog} from '#src/base/log.js';
import {naming} from '#src/api/naming.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {parseFlags} from '#src/options/parse.js';
import {waitingServer} from '#src/plane/api-server/waiting-server.js';
import {startPlane} from '#src/plane/plane.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {aPlane} from '#test/controllers/plane.js';
import {startServer} from '#test/fixtures/server.js';
import {wire} from './wire.js';

const anonymous = {name: 'system:anonymous', groups: ['system:unauthenticated']};

for (const namingName of ['plat', 'kubernetes'] as const) {
  test(`a plane in the ${namingName} naming is healthy, check by check`, async t => {
    await using plane = await startPlane({listen: false, clock: new VirtualClock(), naming: namingName});
    const {get} = wire(plane.api.handler);
    const store = namingName === 'plat' ? 'kvstore' : 'etcd';

    for (const endpoint of ['healthz', 'livez', 'readyz']) {
      const {status, text, type} = await get(`/${endpoint}`, {user: anonymous});
      t.deepEqual([status, text, type], [200, 'ok', 'text/plain; charset=utf-8'], endpoint);
      const verbose = (await get(`/${endpoint}?verbose`)).text;
      const checks = verbose.trimEnd().split('\n');
      t.is(checks.at(-1), `${endpoint} check passed`);
      for (const name of ['ping', 'log', store, 'poststarthook/start-system-namespaces-controller', 'poststarthook/rbac/bootstrap-roles'])
        t.true(checks.includes(`[+]${name} ok`), `${endpoint} ${name}`);
      for (const name of ['shutdown', `${store}-readiness`, 'informer-sync'])
        t.is(checks.includes(`[+]${name} ok`), endpoint === 'readyz', `${endpoint} ${name}`);
      t.is((await get(`/${endpoint}/ping`)).text, 'ok');
      t.is((await get(`/${endpoint}/poststarthook/rbac/bootstrap-roles`)).text, 'ok');
      t.is((await get(`/${endpoint}/nothing`)).status, 404);
      t.is((await wire(plane.api.handler).post(`/${endpoint}`, {})).text, 'ok');
      t.is((await get(`/${endpoint}?verbose=0`)).text, verbose);
    }
  });
}

/** The start hooks of the original's server, by the names of its health checks. */
const startHooks = [
  'apiservice-discovery-controller',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
  'apiservice-registration-controller',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'bootstrap-controller',
  'crd-informer-synced',
  'generic-apiserver-start-informers',
  'kube-apiserver-autoregistration',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-config-producer',
  'priority-and-fairness-filter',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'start-apiextensions-controllers',
  'start-apiextensions-informers',
  'start-apiserver-admission-initializer',
  'start-cluster-authentication-info-controller',
  'start-kube-aggregator-informers',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-kubernetes-service-cidr-controller',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'start-system-namespaces-controller',
  'storage-object-count-tracker-hook',
];

test('every step of the start has a check of its own, below each endpoint and in the index', async t => {
  await using plane = await aPlane({naming: 'kubernetes', isRestful: false, controllers: []});
  const {get} = wire(plane.api.handler);
  const {paths} = (await get('/')).json<{paths: string[]}>();

  for (const endpoint of ['healthz', 'livez', 'readyz']) {
    const checks = (await get(`/${endpoint}?verbose`)).text
      .split('\n')
      .flatMap(line => /^\[\+\]poststarthook\/(.*) ok$/.exec(line)?.[1] ?? []);
    t.deepEqual(checks.filter(name => name !== 'aggregator-reload-proxy-client-cert').sort(), startHooks);
    for (const name of startHooks) t.is((await get(`/${endpoint}/poststarthook/${name}`)).text, 'ok', name);
    for (const name of [...startHooks.map(hook => `poststarthook/${hook}`), 'ping', 'log', 'autoregister-completion'])
      t.true(paths.includes(`/${endpoint}/${name}`), name);
  }
  t.deepEqual(
    paths.filter(path => path.startsWith('/debug')),
    [],
  );
  t.true(paths.includes('/openapi/v3/'));
});

test('checks can be excluded, and unknown ones are reported', async t => {
  await using plane = await aPlane({isRestful: false, controllers: []});
  const {get} = wire(plane.api.handler);
  const {text} = await get('/readyz?verbose&exclude=ping&exclude=kvstore&exclude=nothing');

  t.true(text.includes('[+]ping excluded: ok\n'));
  t.true(text.includes('[+]kvstore excluded: ok\n'));
  t.true(text.includes('warn: some health checks cannot be excluded: no matches for "nothing"\n'));
});

test('readiness fails as soon as shutdown begins, and hides its reason', async t => {
  await using plane = await aPlane({isRestful: false, controllers: []});
  const {get} = wire(plane.api.handler);
  plane.api.health.shutDown();
  const ready = await get('/readyz');

  t.is(ready.status, 500);
  t.true(ready.text.includes('[-]shutdown failed: reason withheld\n'));
  t.true(ready.text.endsWith('readyz check failed\n'));
  t.deepEqual([(await get('/healthz')).status, (await get('/livez')).status], [200, 200]);
  t.like(await get('/readyz/shutdown'), {status: 500, text: 'internal server error: process is shutting down\n'});
  t.is((await get('/readyz?exclude=shutdown')).status, 200);
});

test('health needs permission, and an administrator reads the version and the metrics', async t => {
  await using plane = await startPlane({naming: 'plat', listen: false, clock: new VirtualClock(), controllers: 'none'});
  const {get, watch} = wire(plane.api.handler);
  using _ = await watch('/api/v1/namespaces?watch=1');
  await get('/api/v1/namespaces/none');
  await wire(plane.api.handler).send('BREW', '/api/v1/namespaces/none/made-up');

  t.is((await get('/version', {user: anonymous})).status, 200);
  t.like((await get('/api', {user: anonymous})).json<{message: string}>(), {
    message: 'forbidden: User "system:anonymous" cannot get path "/api"',
  });
  t.is((await get('/metrics', {user: anonymous})).status, 403);
  const version = (await get('/version')).json<Record<string, string>>();
  t.regex(version['gitVersion'] ?? '', /^v1\.35\.\d+-plat/);
  t.deepEqual([version['major'], version['minor']], ['1', '35']);
  t.true(Object.values(version).every(value => typeof value === 'string'));

  const {text, type} = await get('/metrics');
  t.regex(type, /^text\/plain/);
  for (const line of [
    /^apiserver_request_total\{verb="GET",dry_run="",group="",version="v1",resource="namespaces",subresource="",scope="resource",component="apiserver",code="404"\} [1-9]\d*$/m,
    /^apiserver_request_total\{verb="other",.*resource="",.*\} 1$/m,
    /^apiserver_request_duration_seconds_bucket\{/m,
    /^apiserver_current_inflight_requests\{request_kind="readOnly"\} \d+$/m,
    /^apiserver_longrunning_requests\{verb="WATCH",group="",version="v1",resource="namespaces",subresource="",scope="cluster",component="apiserver"\} [1-9]\d*$/m,
    /^apiserver_response_sizes_bucket\{le="1000",verb="GET",group="",version="v1",resource="namespaces",subresource="",scope="resource",component="apiserver"\} [1-9]\d*$/m,
    /^apiserver_request_sli_duration_seconds_bucket\{le="0.05",verb="GET",group="",version="v1",resource="namespaces",subresource="",scope="resource",component="apiserver"\} [1-9]\d*$/m,
    /^etcd_request_duration_seconds_bucket\{le="0.005",operation="create",group="",resource="namespaces"\} [1-9]\d*$/m,
    /^etcd_requests_total\{operation="list",group="rbac\.authorization\.plat\.io",resource="clusterroles"\} [1-9]\d*$/m,
    /^authorization_attempts_total\{result="allowed"\} [1-9]\d*$/m,
    /^authorization_attempts_total\{result="no-opinion"\} [1-9]\d*$/m,
    /^plat_build_info\{major="1",minor="35",git_version="v1\.35\.0-plat[^"]*",git_commit="",git_tree_state="",build_date="[^"]*",go_version="v\d[^"]*",compiler="tsc",platform="[a-z]+\/[a-z0-9]+"\} 1$/m,
    /^plat_feature_enabled\{name="WatchList",stage="BETA"\} 1$/m,
    /^plat_feature_enabled\{name="AllAlpha",stage="ALPHA"\} 0$/m,
    /^scheduler_pending_pods\{queue="active"\} 0$/m,
    /^running_managed_controllers\{manager="plat-scheduler",name="scheduler"\} 1$/m,
    /^apiserver_watch_events_total\{group="",version="v1",resource="namespaces"\} [1-9]\d*$/m,
    /^apiserver_storage_objects\{resource="namespaces"\} 4$/m,
    /^apiserver_storage_objects\{resource="clusterroles\.rbac\.authorization\.plat\.io"\} [1-9]\d*$/m,
  ])
    t.regex(text, line);
  t.false(text.includes('made-up'));
});

test('service level metrics count health checks, apart from the other metrics', async t => {
  await using plane = await startPlane({
    naming: 'plat',
    listen: false,
    clock: new VirtualClock(),
    controllerManagerArgs: ['--controllers='],
  });
  const {get, send} = wire(plane.api.handler);
  await get('/readyz');
  await get('/livez?exclude=log');
  const {text} = await get('/metrics/slis');

  for (const line of [
    'plat_healthcheck{name="ping",type="readyz"} 1',
    'plat_healthchecks_total{name="kvstore",type="livez",status="success"} 1',
  ])
    t.true(text.includes(`${line}\n`), line);
  t.false(text.includes('name="log",type="livez"'));
  t.regex(text, /^process_start_time_seconds \d/m);
  t.false(text.includes('apiserver_'));
  t.false((await get('/metrics')).text.includes('plat_healthcheck'));
  t.is((await send('DELETE', '/metrics/slis')).text, 'metrics reset\n');
  t.false((await get('/metrics/slis')).text.includes('readyz'));
});

test('z-pages are served where their gates are on, to monitoring users', async t => {
  const gates = '--feature-gates=ComponentStatusz=true,ComponentFlagz=true';
  await using plane = await startPlane({
    naming: 'kubernetes',
    listen: false,
    clock: new VirtualClock(),
    apiserverArgs: [gates],
    controllerManagerArgs: ['--controllers='],
  });
  const {get} = wire(plane.api.handler);
  const statusz = (await get('/statusz', {headers: {accept: 'application/json;v=v1alpha1;g=config.k8s.io;as=Statusz'}})).json<{
    metadata: {name: string};
    paths: string[];
  }>();
  const flagz = (await get('/flagz', {headers: {accept: 'application/json;v=v1alpha1;g=config.k8s.io;as=Flagz'}})).json<{
    metadata: {name: string};
    flags: Record<string, string>;
  }>();

  t.deepEqual(
    [statusz.metadata.name, statusz.paths],
    ['apiserver', ['/debug', '/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/version']],
  );
  t.is(flagz.metadata.name, 'kube-apiserver');
  t.like(flagz.flags, {
    'feature-gates': 'ComponentFlagz=true,ComponentStatusz=true',
    'request-timeout': '1m0s',
    'authorization-mode': '[RBAC]',
  });
  t.is((await get('/statusz', {user: anonymous})).status, 403);
  const role = (await get('/apis/rbac.authorization.k8s.io/v1/clusterroles/system:monitoring')).json<{
    rules: {nonResourceURLs?: string[]}[];
  }>();
  t.deepEqual(
    role.rules.flatMap(({nonResourceURLs = []}) => nonResourceURLs).filter(path => path.endsWith('z') && /flag|status/.test(path)),
    ['/flagz', '/statusz'],
  );

  await using without = await startPlane({listen: false, clock: new VirtualClock(), controllerManagerArgs: ['--controllers=']});
  for (const path of ['/statusz', '/flagz']) t.is((await wire(without.api.handler).get(path)).status, 404);
});

/** Everything that counts, on a server that knows jane by her token. */
const counting = () => {
  const meter = new MetricsRegistry();
  const tokens: Authenticator = {
    name: 'tokens',
    takesTokens: true,
    authenticate({headers: {authorization}}) {
      if (authorization === 'Bearer jane') return {user: {name: 'jane@example.com', groups: []}};
      return authorization === 'Bearer later' ? Promise.resolve({user: {name: 'admin', groups: []}}) : undefined;
    },
  };
  const authorizer: Authorizer = {
    authorize({path, verb}) {
      if (path === '/broken') throw new Error('broken');
      if (path === '/later') return Promise.resolve({decision: 'deny'});
      return verb === 'delete' ? {decision: 'noOpinion', error: 'a role is missing'} : {decision: 'allow'};
    },
  };
  const {server} = startServer({meter, authenticators: [tokens], authorizer, failed: () => {}});
  const ask = async (url: string, headers: Record<string, string>, method = 'GET') => {
    const body = {kind: 'bytes' as const, read: () => Promise.resolve(Buffer.from('{}'))};
    const caller = {credentials: {certificates: []}};
    const response = await server.handler({method, url, headers, caller, remoteAddress: '', body, signal: new AbortController().signal});
    if (response.body.kind === 'object') response.body.bytes();
    return response.status;
  };
  const metrics = async (pattern: RegExp) =>
    (await meter.exposition()).body.split('\n').filter(line => pattern.test(line) && !line.startsWith('#'));
  return {ask, metrics};
};

test('authentications and authorizations are counted by result', async t => {
  const {ask, metrics} = counting();
  const jane = {authorization: 'Bearer jane'};
  t.is(await ask('/api', jane), 200);
  t.is(await ask('/api', {authorization: 'Bearer later'}), 200);
  t.is(await ask('/api', {}), 401);
  t.is(await ask('/api', {authorization: 'Bearer other'}), 401);
  // An error of the authorizer that no other one overrides is reported as such.
  t.is(await ask('/api/v1/namespaces/a', jane, 'DELETE'), 500);
  t.is(await ask('/later', jane), 403);
  t.is(await ask('/broken', jane), 500);

  t.deepEqual(await metrics(/^authentication_(attempts|duration_seconds_count)/), [
    'authentication_attempts{result="success"} 5',
    'authentication_attempts{result="failure"} 1',
    'authentication_attempts{result="error"} 1',
    'authentication_duration_seconds_count{result="success"} 5',
    'authentication_duration_seconds_count{result="failure"} 1',
    'authentication_duration_seconds_count{result="error"} 1',
  ]);
  t.deepEqual(await metrics(/^authenticated_user_requests/), [
    'authenticated_user_requests{username="email_id"} 4',
    'authenticated_user_requests{username="admin"} 1',
  ]);
  t.deepEqual(await metrics(/^authorization_attempts_total/), [
    'authorization_attempts_total{result="allowed"} 2',
    'authorization_attempts_total{result="error"} 2',
    'authorization_attempts_total{result="denied"} 1',
  ]);
});

test('requests are counted by the verbs, scopes and dry runs that monitoring knows', async t => {
  const {ask, metrics} = counting();
  const jane = {authorization: 'Bearer jane', 'content-type': 'application/json'};
  await ask('/api/v1/namespaces/a/configmaps?dryRun=All', jane, 'POST');
  await ask('/api/v1/namespaces/a/configmaps?dryRun=Some', jane, 'POST');
  await ask('/api/v1/namespaces/a/configmaps', jane);
  await ask('/api/v1/namespaces/a/configmaps/a', {...jane, 'content-type': 'application/apply-patch+yaml'}, 'PATCH');
  await ask('/api/v1/namespaces/a/configmaps/a', {...jane, 'content-type': 'application/merge-patch+json'}, 'PATCH');
  await ask('/api/v1/namespaces/a/pods/a/log', jane);

  const shown = (await metrics(/^apiserver_request_total/)).map(line =>
    /verb="(\w+)",dry_run="(\w*)",.*resource="(\w+)",subresource="(\w*)",scope="(\w+)"/.exec(line)?.slice(1).join(' '),
  );
  t.deepEqual(shown, [
    'POST All configmaps  resource',
    'POST invalid configmaps  resource',
    'LIST  configmaps  namespace',
    'APPLY  configmaps  resource',
    'PATCH  configmaps  resource',
    'CONNECT  pods log resource',
  ]);
  t.deepEqual(
    (await metrics(/^apiserver_response_sizes_count/)).map(line => /verb="(\w+)"/.exec(line)?.[1]),
    ['LIST'],
  );
});

test('deprecated versions, own requests, allocations and pod security are counted as in the original', async t => {
  await using plane = await startPlane({listen: false, clock: new VirtualClock(), naming: 'kubernetes', controllers: 'none'});
  const {get, post} = wire(plane.api.handler);
  await get('/api/v1/namespaces/default/endpoints');
  await post('/api/v1/namespaces', {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: {name: 'strict', labels: {[`pod-security.kubernetes.io/enforce`]: 'baseline'}},
  });
  await post('/api/v1/namespaces/strict/serviceaccounts', {kind: 'ServiceAccount', apiVersion: 'v1', metadata: {name: 'default'}});
  const pod = {kind: 'Pod', apiVersion: 'v1', metadata: {name: 'p'}, spec: {hostNetwork: true, containers: [{name: 'c', image: 'i'}]}};
  const refused = await post('/api/v1/namespaces/strict/pods', pod);
  t.is(refused.status, 403);
  t.regex(refused.text, /violates PodSecurity/);
  const service = (name: string, spec: object) =>
    post('/api/v1/namespaces/default/services', {kind: 'Service', apiVersion: 'v1', metadata: {name}, spec: {ports: [{port: 1}], ...spec}});
  await service('a', {type: 'NodePort'});
  await service('b', {clusterIP: '10.96.0.1'});
  const {text} = await get('/metrics');
  const cidr = 'cidr="10.96.0.0/16"';

  for (const line of [
    '# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
    'apiserver_requested_deprecated_apis{group="",version="v1",resource="endpoints",subresource="",removed_release=""} 1',
    'pod_security_evaluations_total{decision="deny",policy_level="baseline",policy_version="latest",mode="enforce",request_operation="create",resource="pod",subresource=""} 1',
    'pod_security_exemptions_total{request_operation="update",resource="controller",subresource=""} 0',
    `kube_apiserver_clusterip_allocator_allocation_total{${cidr},scope="dynamic"} 1`,
    `kube_apiserver_clusterip_allocator_allocation_errors_total{${cidr},scope="static"} 1`,
    `kube_apiserver_clusterip_allocator_allocation_duration_seconds_count{${cidr}} 2`,
    'kube_apiserver_nodeport_allocator_allocation_total{scope="dynamic"} 1',
    'kube_apiserver_nodeport_allocator_allocated_ports 1',
    'kube_apiserver_nodeport_allocator_available_ports 2767',
  ])
    t.true(text.split('\n').includes(line), line);
  t.regex(text, /^apiserver_selfrequest_total\{verb="POST",group="",resource="namespaces",subresource=""\} [1-9]/m);
});

test('a server that waits for its store fails its health checks with the reason, and answers all else with 503', async t => {
  const clock = new VirtualClock();
  const {options} = parseFlags(apiserverFlags, [
    '--naming=kubernetes',
    '--authorization-mode=RBAC',
    '--anonymous-auth=true',
    '--service-account-issuer=https://issuer.example.com',
  ]);
  const waiting = waitingServer({
    options,
    naming: naming('kubernetes'),
    clock,
    log: noLog,
    gate: () => false,
  });
  t.teardown(() => waiting.close());
  const get = async (url: string): Promise<[number, string]> => {
    const {status, body} = await waiting.handler({
      method: 'GET',
      url,
      headers: {},
      caller: {credentials: {certificates: [], connection: {}}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    return [status, body.kind === 'bytes' ? String(body.bytes) : ''];
  };

  t.deepEqual(await get('/readyz/etcd'), [500, 'internal server error: the store is not open yet\n']);
  waiting.report('dial tcp 127.0.0.1:2379: connect: connection refused');
  for (const endpoint of ['healthz', 'livez', 'readyz']) {
    t.deepEqual(await get(`/${endpoint}?verbose`), [
      500,
      `[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n${endpoint} check failed\n`,
    ]);
    t.deepEqual(await get(`/${endpoint}/etcd`), [500, 'internal server error: dial tcp 127.0.0.1:2379: connect: connection refused\n']);
  }
  const [status, text] = await get('/api/v1/pods');
  t.is(status, 503);
  t.like(JSON.parse(text), {kind: 'Status', reason: 'ServiceUnavailable', message: 'the server is waiting for its storage backend'});
});
