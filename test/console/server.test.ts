import {once} from 'node:events';
import test from 'ava';
import {WebSocket} from 'ws';
import {seededRandom} from '#src/base/random.js';
import {kinds} from '#src/api/kinds/index.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openConsole} from '#src/console/console.js';
import type {ServedConsole} from '#src/console/served-console.js';
import {realTime, VirtualTime} from '#src/console/time.js';
import {upstreamInProcess, type Upstream} from '#src/console/upstream.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {systemClock} from '#src/base/clock.js';
import {openRelay} from '#src/transport/client/relay.js';
import {readSettings} from '#src/transport/kubeconfig/settings-file.js';
import {openPage, send, type TestPage} from './browser.js';

let plane: Plane;
let served: ServedConsole;
let page: TestPage;
let origin: string;

const clock = new VirtualClock();

/** A console with a clock that the test moves. */
const open = (more: {upstream?: Upstream; address?: string; clock?: VirtualClock} = {}): Promise<ServedConsole> =>
  openConsole({
    upstream: more.upstream ?? upstreamInProcess(plane.api.handler, {name: 'admin', groups: ['system:masters', 'system:authenticated']}),
    server: 'the cluster',
    version: '1.2.3',
    time: realTime(systemClock),
    clock: more.clock ?? clock,
    random: seededRandom(1),
    log: noLog,
    at: {address: more.address ?? '127.0.0.1', port: 0},
  });

test.before(async () => {
  plane = await startPlane({controllerManagerArgs: ['--controllers='], nodes: 0});
  served = await open();
  origin = served.url;
  page = await openPage(served);
});

test.after.always(async () => {
  await served[Symbol.asyncDispose]();
  await plane.stop();
});

const messageOf = (text: string): string => (JSON.parse(text) as {message: string}).message;

test('the page is served to everybody, with a policy that lets nothing in from elsewhere and no inline script', async t => {
  const {status, headers, text} = await send(served, '/');

  t.is(status, 200);
  t.is(
    headers['content-security-policy'],
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  );
  t.is(headers['x-content-type-options'], 'nosniff');
  t.is(headers['referrer-policy'], 'no-referrer');
  t.regex(text, /<script type="module" src="\/\w+\.js"><\/script>/);
  t.notRegex(text, /<script(?![^>]*src=)|<style|\son\w+=|\sstyle=/);
});

test('the files of the page are named by their content, and kept by the browser', async t => {
  const [, script = ''] = /src="(\/\w+\.js)"/.exec((await send(served, '/')).text) ?? [];
  const {status, headers} = await send(served, script, {headers: {'accept-encoding': 'gzip'}});

  t.is(status, 200);
  t.is(headers['content-encoding'], 'gzip');
  t.is(headers['cache-control'], 'public, max-age=31536000, immutable');
  t.is((await send(served, '/../package.json', {headers: {cookie: page.cookie}})).status, 404);
});

test('a link works once', async t => {
  const link = served.link();
  const token = new URL(link).hash.slice('#token='.length);
  const redeem = () => send(served, '/console/v1/session', {method: 'POST', headers: {origin}, body: JSON.stringify({token})});

  const first = await redeem();
  const second = await redeem();

  t.is(first.status, 200);
  t.regex(first.headers['set-cookie']?.[0] ?? '', /^plat-console-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/);
  t.is(second.status, 401);
  t.is(second.headers['set-cookie'], undefined);
});

test('the token of a link is in no request line: it stands behind the #', t => {
  const {pathname, search, hash} = new URL(served.link());
  t.deepEqual([pathname, search], ['/', '']);
  t.regex(hash, /^#token=[\w-]{43}$/);
});

test('only the latest links and sessions are kept', async t => {
  const own = await open();
  const first = own.link();
  for (let more = 0; more < 16; more++) own.link();
  await t.throwsAsync(openPage(own, first), {message: 'the link was refused with 401'});
  const early = await openPage(own);
  for (let more = 0; more < 16; more++) await openPage(own);
  t.is((await early.send('/version')).status, 401);
  await own[Symbol.asyncDispose]();
});

test('a session that is not used for half a day is over, and one can be ended', async t => {
  const time = new VirtualClock();
  const own = await open({clock: time});
  const used = await openPage(own);
  const unused = await openPage(own);
  await time.advance(7 * 3_600_000);
  t.is((await used.send('/version')).status, 200);
  await time.advance(6 * 3_600_000);

  t.is((await used.send('/version')).status, 200);
  t.is((await unused.send('/version')).status, 401);
  t.is((await used.send('/console/v1/session', {method: 'DELETE'})).status, 200);
  t.is((await used.send('/version')).status, 401);
  await own[Symbol.asyncDispose]();
});

test('without a session nothing is relayed', async t => {
  for (const path of ['/api/v1/namespaces', '/version', '/metrics', '/console/v1/session', '/console/v1/time'])
    t.is((await send(served, path)).status, 401, path);
  t.is((await send(served, '/version', {headers: {cookie: `${page.cookie}x`}})).status, 401);
});

for (const host of ['evil.example', 'evil.example:80', '192.0.2.1', '127.0.0.1.evil.example', '[2001:db8::1]:80', '['])
  test(`a name that leads here is refused: Host ${JSON.stringify(host)}`, async t => {
    const {status, text} = await page.send('/version', {headers: {host, origin: undefined}});
    t.is(status, 403);
    t.regex(messageOf(text), /loopback/);
  });

for (const host of ['localhost:8001', '127.0.0.1:8001', '[::1]:8001', 'localhost'])
  test(`a tunnel to this port is served: Host ${host}`, async t => {
    t.is((await page.send('/version', {headers: {host, origin: `http://${host}`}})).status, 200);
  });

const foreign: readonly Readonly<Record<string, string>>[] = [
  {origin: 'http://evil.example'},
  {origin: 'null'},
  {origin: 'https://127.0.0.1'},
  {origin: 'http://127.0.0.1:1'},
  {'sec-fetch-site': 'cross-site'},
  {'sec-fetch-site': 'same-site'},
];

for (const headers of foreign)
  test(`a request by another page is refused: ${JSON.stringify(headers)}`, async t => {
    for (const method of ['GET', 'POST', 'DELETE']) t.is((await page.send('/api/v1/namespaces', {method, headers})).status, 403, method);
    t.is((await page.send('/api/v1/namespaces?watch=1', {headers, upgrades: true})).status, 403);
    t.is((await send(served, '/console/v1/session', {method: 'POST', headers, body: JSON.stringify({token: 'any'})})).status, 403);
  });

test('what may change something needs the secret of the page besides its cookie', async t => {
  const body = JSON.stringify({metadata: {name: 'other'}});
  const create = (secret: string | undefined) =>
    page.send('/api/v1/namespaces?dryRun=All', {
      method: 'POST',
      headers: {'x-plat-console': secret, 'content-type': 'application/json'},
      body,
    });

  t.is((await create(undefined)).status, 403);
  t.is((await create('')).status, 403);
  t.is((await create(`${page.csrf.slice(0, -1)}-`)).status, 403);
  t.is((await create(page.csrf)).status, 201);
  t.is((await page.send('/api/v1/namespaces', {headers: {'x-plat-console': undefined}})).status, 200);
});

test('a request that changes something, or opens a WebSocket, says which page it comes from', async t => {
  t.is((await page.send('/api/v1/namespaces', {method: 'POST', headers: {origin: undefined}, body: '{}'})).status, 403);
  t.is((await page.send('/api/v1/namespaces?watch=1', {headers: {origin: undefined}, upgrades: true})).status, 403);
  t.is((await page.send('/api/v1/namespaces?watch=1', {upgrades: true})).status, 101);
});

test('only the paths of the API are relayed', async t => {
  for (const path of ['/version', '/readyz', '/api', '/apis', '/apis/apps/v1', '/openapi/v3', '/metrics'])
    t.is((await page.send(path)).status, 200, path);
  for (const path of [
    '/debug/pprof/heap',
    '/apix',
    '/api/../metrics',
    '/api/%2e%2e/metrics',
    '/api/v1/..%2fnamespaces',
    '/configz',
    '/console/v1/other',
  ])
    t.is((await page.send(path)).status, 404, path);
});

test('a backslash in a name is relayed where it is encoded, and a path that could be taken for another is not', async t => {
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  await plane.client().create(kinds.clusterRoles, {metadata: {name: String.raw`team\admin`}});

  const {status, text} = await page.send(`${roles}/team%5Cadmin`);
  t.is(status, 200);
  t.is((JSON.parse(text) as {metadata: {name: string}}).metadata.name, String.raw`team\admin`);
  t.is((await page.send(`${roles}/team%5cadmin`)).status, 200);
  for (const name of [
    String.raw`team\admin`,
    'team%2Fadmin',
    'team%00admin',
    'team%255Cadmin',
    'team%25admin',
    '..',
    '%2e%2e',
    '..%5Croles',
    'team%5C..%5Cadmin',
    '%252e%252e',
    'team%E0%A4%A',
  ]) {
    const refused = await page.send(`${roles}/${name}`);
    t.true(refused.status >= 400, name);
    // The API server would name what it does not find.
    t.notRegex(refused.text, /clusterroles/, name);
  }
});

test('what pods, services and nodes serve is not relayed: it would be a page of this origin', async t => {
  for (const path of [
    '/api/v1/namespaces/default/pods/web/proxy',
    '/api/v1/namespaces/default/pods/web/proxy/index.html',
    '/api/v1/namespaces/default/services/web/proxy/',
    '/api/v1/nodes/a/proxy/metrics',
    '/api/v1/nodes/a/%70roxy/metrics',
    '/api/v1/proxy/nodes/a',
    '/api/v1//nodes/a/proxy',
  ])
    t.is((await page.send(path)).status, 404, path);
  t.is((await page.send('/api/v1/namespaces/proxy')).status, 404);
  t.is(messageOf((await page.send('/api/v1/namespaces/proxy')).text), 'namespaces "proxy" not found');
});

test('what the API server says is never a page', async t => {
  const {headers} = await page.send('/api/v1/namespaces/default');
  t.is(headers['content-security-policy'], "default-src 'none'; sandbox; frame-ancestors 'none'");
  t.is(headers['x-content-type-options'], 'nosniff');
});

test('the rights are those of the user of the console, whatever the page sends', async t => {
  const own = await open({upstream: upstreamInProcess(plane.api.handler, {name: 'nobody', groups: ['system:authenticated']})});
  const limited = await openPage(own);
  const headers = {
    authorization: 'Bearer of-somebody',
    'impersonate-user': 'plat-admin',
    'x-remote-user': 'plat-admin',
    'x-remote-group': 'system:masters',
  };
  const {status, text} = await limited.send('/api/v1/namespaces', {headers});

  t.is(status, 403);
  t.regex(messageOf(text), /User "nobody" cannot list resource "namespaces"/);
  await own[Symbol.asyncDispose]();
});

test('a body that no server reads is refused', async t => {
  const {status} = await page.send('/api/v1/namespaces', {
    method: 'POST',
    headers: {'content-type': 'application/json'},
    body: `"${'a'.repeat(3 << 20)}"`,
  });
  t.is(status, 413);
});

test('a console is only served on this machine', async t => {
  for (const address of ['0.0.0.0', '192.0.2.1', '::'])
    await t.throwsAsync(open({address}), {message: new RegExp(`^--address=${address}: a console is only served on a loopback address`)});
});

/** The first event of a watch over a WebSocket. */
const watched = async (of: ServedConsole, {cookie}: TestPage, path: string): Promise<unknown[]> => {
  const socket = new WebSocket(`${of.url.replace('http', 'ws')}${path}`, {headers: {cookie, origin: of.url}});
  const [data] = (await once(socket, 'message')) as [Buffer];
  socket.close();
  return [JSON.parse(String(data))];
};

test('a WebSocket asks for a table by a parameter, since pages cannot set its headers', async t => {
  const accept = encodeURIComponent('application/json;as=Table;v=v1;g=meta.k8s.io,application/json');
  const [event] = await watched(served, page, `/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddefault&console-accept=${accept}`);

  t.like(event, {type: 'ADDED', object: {kind: 'Table', rows: [{object: {metadata: {name: 'default'}}}]}});
});

test('over the network, requests have the credentials of the settings, and bodies, refusals and watches pass', async t => {
  const settings = await readSettings(plane.kubeconfig, {});
  using relay = await openRelay(settings, {clock: systemClock, log: noLog});
  const own = await open({upstream: request => relay.relay(request)});
  const far = await openPage(own);
  const headers = {'content-type': 'application/yaml'};
  const created = await far.send('/api/v1/namespaces/default/configmaps', {
    method: 'POST',
    headers,
    body: 'metadata: {name: far}\ndata: {a: b}\n',
  });
  const refused = await far.send('/api/v1/namespaces/default/configmaps', {method: 'POST', headers, body: 'metadata: {name: far}\n'});
  const [event] = await watched(
    own,
    far,
    '/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Dfar&resourceVersion=0',
  );

  t.is(created.status, 201);
  t.like(JSON.parse(created.text), {data: {a: 'b'}});
  t.is(created.headers['content-security-policy'], "default-src 'none'; sandbox; frame-ancestors 'none'");
  t.is(refused.status, 409);
  t.is(messageOf(refused.text), 'configmaps "far" already exists');
  t.like(event, {type: 'ADDED', object: {metadata: {name: 'far'}}});
  await own[Symbol.asyncDispose]();
});

test('without a server, the answer says so', async t => {
  const relay = await openRelay(
    {server: 'https://127.0.0.1:9', trust: {insecure: true}, identity: {}, source: 'test'},
    {clock: systemClock, log: noLog},
  );
  const own = await open({upstream: request => relay.relay(request)});
  const {status, text} = await (await openPage(own)).send('/version');

  t.is(status, 503);
  t.regex(messageOf(text), /^the API server cannot be reached: .*127\.0\.0\.1:9/);
  await own[Symbol.asyncDispose]();
  relay[Symbol.dispose]();
});

test('real time is shown, and not moved', async t => {
  const state = JSON.parse((await page.send('/console/v1/time')).text) as {kind: string};
  t.is(state.kind, 'real');
  t.is((await page.send('/console/v1/time', {method: 'POST', body: '{"action":"advance","ms":1}'})).status, 400);
});

test('virtual time advances, runs to the next event, and pauses', async t => {
  const [time, real] = [new VirtualClock(0), new VirtualClock(0)];
  const virtual = new VirtualTime(time, real);
  let rings = 0;
  time.schedule(5000, () => void rings++);
  t.like(virtual.state(), {now: 0, next: 5000, timers: 1, rate: 0});

  t.is((await virtual.act({action: 'advance', ms: 1000})).now, 1000);
  t.is((await virtual.act({action: 'next'})).now, 5000);
  t.is(rings, 1);

  t.is((await virtual.act({action: 'run', rate: 10})).rate, 10);
  await t.throwsAsync(virtual.act({action: 'advance', ms: 1}), {message: /is being moved: pause it first/});
  await real.advance(200);
  await virtual.act({action: 'pause'});
  await real.advance(1000);
  t.like(virtual.state(), {now: 7000, rate: 0, isMoving: false});

  for (const request of [{action: 'advance'}, {action: 'advance', ms: -1}, {action: 'run', rate: 1e9}, {action: 'other'}])
    await t.throwsAsync(virtual.act(request), {message: /must be/});
});
