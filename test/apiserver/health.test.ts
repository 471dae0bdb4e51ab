import test from 'ava';
import {noLog} from '#src/base/log.js';
import {naming} from '#src/api/naming.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {apiserverFlags} from '#src/options/apiserver.js';
import {parseFlags} from '#src/options/parse.js';
import {ServerHealth} from '#src/plane/health.js';
import {startPlane} from '#src/plane/plane.js';
import {waitingServer} from '#src/plane/waiting-server.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {wire} from './wire.js';

const nobody = {name: 'system:anonymous', groups: ['system:unauthenticated']};

for (const namingName of ['plat', 'kubernetes'] as const) {
  test(`a plane in the ${namingName} naming is well, and says how`, async t => {
    await using plane = await startPlane({listen: false, clock: new VirtualClock(), naming: namingName});
    const {get} = wire(plane.api.exchange);
    const store = namingName === 'plat' ? 'kvstore' : 'etcd';

    for (const endpoint of ['healthz', 'livez', 'readyz']) {
      const {status, text, type} = await get(`/${endpoint}`, {user: nobody});
      t.deepEqual([status, text, type], [200, 'ok', 'text/plain; charset=utf-8'], endpoint);
      const verbose = (await get(`/${endpoint}?verbose`)).text;
      const checks = verbose.trimEnd().split('\n');
      t.is(checks.at(-1), `${endpoint} check passed`);
      for (const name of ['ping', 'log', store, 'poststarthook/start-system-namespaces-controller', 'poststarthook/rbac/bootstrap-roles']) t.true(checks.includes(`[+]${name} ok`), `${endpoint} ${name}`);
      for (const name of ['shutdown', `${store}-readiness`, 'informer-sync']) t.is(checks.includes(`[+]${name} ok`), endpoint === 'readyz', `${endpoint} ${name}`);
      t.is((await get(`/${endpoint}/ping`)).text, 'ok');
      t.is((await get(`/${endpoint}/poststarthook/rbac/bootstrap-roles`)).text, 'ok');
      t.is((await get(`/${endpoint}/nothing`)).status, 404);
      t.is((await wire(plane.api.exchange).post(`/${endpoint}`, {})).text, 'ok');
      t.is((await get(`/${endpoint}?verbose=0`)).text, verbose);
    }
  });
}

test('checks can be left out, and unknown ones are told of', async t => {
  await using plane = await startPlane({naming: 'plat', listen: false, clock: new VirtualClock()});
  const {get} = wire(plane.api.exchange);
  const {text} = await get('/readyz?verbose&exclude=ping&exclude=kvstore&exclude=nothing');

  t.true(text.includes('[+]ping excluded: ok\n'));
  t.true(text.includes('[+]kvstore excluded: ok\n'));
  t.true(text.includes('warn: some health checks cannot be excluded: no matches for "nothing"\n'));
});

test('readiness fails as soon as the server begins to leave, and says no more than it must', async t => {
  await using plane = await startPlane({naming: 'plat', listen: false, clock: new VirtualClock()});
  const {get} = wire(plane.api.exchange);
  plane.api.health.shutDown();
  const ready = await get('/readyz');

  t.is(ready.status, 500);
  t.true(ready.text.includes('[-]shutdown failed: reason withheld\n'));
  t.true(ready.text.endsWith('readyz check failed\n'));
  t.deepEqual([(await get('/healthz')).status, (await get('/livez')).status], [200, 200]);
  t.like(await get('/readyz/shutdown'), {status: 500, text: 'internal server error: process is shutting down\n'});
  t.is((await get('/readyz?exclude=shutdown')).status, 200);
});

test('liveness trusts unfinished hooks for the grace period, readiness does not', async t => {
  const clock = new VirtualClock();
  const health = new ServerHealth({clock, log: noLog, naming: naming('plat'), store: memoryStore({clock}), livezGraceMs: 10_000, healthTimeoutMs: 2000, readyTimeoutMs: 2000});
  let finish = () => {};
  const running = health.run([{name: 'slow', run: () => new Promise<void>(resolve => (finish = resolve))}]);
  const states = async () => [(await health.livez.all('livez')).status, (await health.readyz.all('readyz')).status, (await health.healthz.all('healthz')).status];

  t.deepEqual(await states(), [200, 500, 500]);
  await clock.advance(9999);
  t.deepEqual(await states(), [200, 500, 500]);
  await clock.advance(1);
  t.deepEqual(await states(), [500, 500, 500]);
  finish();
  await running;
  t.deepEqual(await states(), [200, 200, 200]);
});

test('who may not look is refused, who may finds the version and the metrics by their names', async t => {
  await using plane = await startPlane({naming: 'plat', listen: false, clock: new VirtualClock()});
  const {get, watch} = wire(plane.api.exchange);
  using _ = await watch('/api/v1/namespaces?watch=1');
  await get('/api/v1/namespaces/none');
  await wire(plane.api.exchange).send('BREW', '/api/v1/namespaces/none/made-up');

  t.is((await get('/version', {user: nobody})).status, 200);
  t.like((await get('/api', {user: nobody})).json<{message: string}>(), {message: 'forbidden: User "system:anonymous" cannot get path "/api"'});
  t.is((await get('/metrics', {user: nobody})).status, 403);
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
    /^apiserver_longrunning_requests\{verb="WATCH"\} [1-9]\d*$/m,
    /^apiserver_watch_events_total\{group="",version="v1",resource="namespaces"\} [1-9]\d*$/m,
    /^apiserver_storage_objects\{resource="namespaces"\} 4$/m,
    /^apiserver_storage_objects\{resource="clusterroles\.rbac\.authorization\.plat\.io"\} [1-9]\d*$/m,
  ]) t.regex(text, line);
  t.false(text.includes('made-up'));
});

test('a server that waits for its store fails its health checks with the reason, answers all else with 503, and hands over', async t => {
  const clock = new VirtualClock();
  const {options} = parseFlags(apiserverFlags, ['--naming=kubernetes', '--authorization-mode=RBAC', '--anonymous-auth=true', '--service-account-issuer=https://issuer.example.com']);
  const waiting = await waitingServer({options, naming: naming('kubernetes'), clock, log: noLog, gate: () => false, reason: () => 'dial tcp 127.0.0.1:2379: connect: connection refused'});
  const get = async (url: string): Promise<[number, string]> => {
    const {status, body} = await waiting.exchange({method: 'GET', url, headers: {}, caller: {credentials: {certificates: [], connection: {}}}, remoteAddress: '', signal: new AbortController().signal});
    return [status, body.kind === 'bytes' ? String(body.bytes) : ''];
  };

  for (const endpoint of ['healthz', 'livez', 'readyz']) {
    t.deepEqual(await get(`/${endpoint}?verbose`), [500, `[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n${endpoint} check failed\n`]);
    t.deepEqual(await get(`/${endpoint}/etcd`), [500, 'internal server error: dial tcp 127.0.0.1:2379: connect: connection refused\n']);
  }
  const [status, text] = await get('/api/v1/pods');
  t.is(status, 503);
  t.like(JSON.parse(text), {kind: 'Status', reason: 'ServiceUnavailable', message: 'the server is waiting for its storage backend'});

  waiting.handOver(async () => ({status: 200, headers: {}, body: {kind: 'empty'}}));
  t.deepEqual(await get('/readyz/etcd'), [200, '']);
});
