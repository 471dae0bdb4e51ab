import test from 'ava';
import {forbidden, type Status} from '#src/api/status.js';
import {InFlight} from '#src/apiserver/flowcontrol/in-flight.js';
import {admin, aConfigMap, configMaps, csrs, startWire} from './wire.js';

const env = await startWire();
const {send} = env;
await env.post(configMaps, aConfigMap('a'));
const status = async (method: string, url: string, body?: unknown): Promise<Status> =>
  (await send(method, url, body === undefined ? {} : {body})).json<Status>();

for (const [method, url] of [
  ['GET', '/api/v1/nothings'],
  ['GET', '/api/v2/configmaps'],
  ['GET', '/apis/none/v1/things'],
  ['GET', '/apis//v1/configmaps'],
  ['GET', '/api/v1/configmaps/a'],
  ['GET', '/api/v1/namespaces/default/nodes'],
  ['GET', '/api/v1/namespaces/default/namespaces/default'],
  ['DELETE', '/api/v1/namespaces/default/namespaces/plat-system'],
  ['GET', `${configMaps}/a/status`],
  ['GET', `${configMaps}/a/constructor`],
  ['PUT', `${csrs}/a/__proto__`],
  ['GET', `${csrs}/a/toString`],
  ['GET', '/nothing'],
  ['POST', '/apis/authorization.plat.io/v1/localsubjectaccessreviews'],
  ['POST', '/apis/authentication.plat.io/v1/tokenreviews/a'],
] as const) {
  test(`${method} ${url} is no address`, async t => {
    const {status: code, text, type} = await send(method, url, method === 'GET' ? {} : {body: {}});

    if (/^\/apis?\/(?!none|\/)/.test(url)) {
      t.deepEqual([code, type], [404, 'application/json']);
      t.deepEqual(JSON.parse(text), {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'the server could not find the requested resource',
        reason: 'NotFound',
        details: {},
        code: 404,
      });
    } else t.deepEqual([code, text, type], [404, '404 page not found\n', 'text/plain; charset=utf-8']);
  });
}

for (const [method, url] of [
  ['PUT', configMaps],
  ['PATCH', configMaps],
  ['POST', `${configMaps}/a`],
  ['POST', '/api/v1/configmaps'],
  ['DELETE', '/api/v1/configmaps'],
  ['DELETE', '/api/v1/namespaces'],
  ['POST', '/api/v1/watch/namespaces/default/configmaps'],
  ['DELETE', '/api/v1/watch/namespaces/default/configmaps/a'],
  ['CONSTRUCTOR', configMaps],
  ['TRACE', `${configMaps}/a`],
  ['GET', '/apis/authentication.plat.io/v1/tokenreviews'],
  ['DELETE', `${csrs}/a/status`],
  ['POST', `${csrs}/a/approval`],
  ['GET', '/api/v1/namespaces/default/finalize'],
  ['PATCH', '/api/v1/namespaces/default/finalize'],
  ['POST', '/api'],
  ['PUT', '/apis/certificates.plat.io/v1'],
] as const) {
  test(`${method} ${url} is not supported`, async t => {
    const {status: text, reason, code, message, details} = await status(method, url, aConfigMap('b'));
    t.deepEqual(
      {status: text, reason, code, message, details},
      {
        status: 'Failure',
        reason: 'MethodNotAllowed',
        code: 405,
        message: 'the server does not allow this method on the requested resource',
        details: {},
      },
    );
    t.is((await send('GET', `${configMaps}/b`)).status, 404);
  });
}

for (const [method, url] of [
  ['POST', '/apis'],
  ['PUT', '/apis/certificates.plat.io'],
  ['DELETE', '/'],
] as const) {
  test(`${method} ${url} is answered as GET is`, async t => {
    t.is((await send(method, url)).text, (await send('GET', url)).text);
  });
}

for (const url of ['/api/v1/watch', '/api/v1/proxy/', '/apis/apps/v1/watch?resourceVersion=0']) {
  test(`${url} lacks a resource`, async t => {
    const {status: code, text} = await send('GET', url);

    t.is(code, 500);
    const reason = `failed to create RequestInfo: unable to determine kind and namespace from url, ${url}`;
    t.is(text, `Internal Server Error: "${url}": ${reason}\n`);
  });
}

test('a path below a group that is not served is no address', async t => {
  for (const url of ['/apis/none', '/apis/none/v1', '/apis/none/v1/things'])
    t.is((await send('GET', url)).text, '404 page not found\n', url);
});

test('a kind that supports list but not watch reports that', async t => {
  t.is(
    (await status('GET', '/api/v1/componentstatuses?watch=1')).message,
    'watch is not supported on resources of kind "componentstatuses"',
  );
});

for (const [name, shown, problem] of [
  ['..', '..', "may not be '..'"],
  ['.', '.', "may not be '.'"],
  ['a%25b', 'a%b', "may not contain '%'"],
] as const) {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    test(`${method} refuses the name ${name}, and the namespace`, async t => {
      t.like(await status(method, `${configMaps}/${name}`, {}), {
        code: 400,
        reason: 'BadRequest',
        message: `Name parameter invalid: ${JSON.stringify(shown)}: ${problem}`,
      });
      t.like(await status(method, `/api/v1/namespaces/${name}/configmaps/a`, {}), {
        code: 400,
        message: `Namespace parameter invalid: ${JSON.stringify(shown)}: ${problem}`,
      });
    });
  }
}

test('a path without a name where one belongs is refused', async t => {
  t.like(await status('GET', '/api/v1/namespaces//configmaps/a'), {code: 400, message: 'Namespace parameter required.'});
  for (const method of ['GET', 'POST', 'DELETE'])
    t.like(await status(method, `${configMaps}//status`), {code: 404, message: 'the server could not find the requested resource'});
});

test('an empty namespace before a collection is none', async t => {
  t.deepEqual((await send('GET', '/api/v1/namespaces//configmaps')).json(), (await send('GET', '/api/v1/configmaps')).json());
});

test('an escaped slash parts a path like any other', async t => {
  t.is((await send('GET', `${configMaps}/a%2F`)).text, (await send('GET', `${configMaps}/a`)).text);
  t.like(await status('GET', `${configMaps}/none%2F`), {code: 404, message: 'configmaps "none" not found'});
  t.like(await status('GET', '/api/v1/namespaces/a%2Fb/configmaps'), {
    code: 404,
    message: 'the server could not find the requested resource',
  });
});

test('an unsupported method is reported before an invalid name', async t => {
  t.is((await status('POST', `${configMaps}/%2e%2e`, {})).code, 405);
});

test('a path that is not escaped right is turned down in plain text', async t => {
  const {status: code, text, header} = await send('GET', `${configMaps}/%zz`);

  t.deepEqual([code, text], [400, '400 Bad Request']);
  t.deepEqual(['audit-id', 'cache-control', 'x-content-type-options'].map(header), [undefined, undefined, undefined]);
});

test('a slash at the end changes nothing', async t => {
  t.is((await send('GET', `${configMaps}/`)).status, 200);
  t.is((await send('GET', '/api/v1/')).status, 200);
  t.is((await send('GET', '/apis/')).status, 200);
});

test('built-in resources are never requested with HEAD alone', async t => {
  for (const url of [configMaps, `${configMaps}/a`, `${configMaps}?watch=1`]) t.is((await send('HEAD', url)).status, 405, url);
  t.is((await send('HEAD', '/api/v1/namespaces/default/nothing')).status, 404);
});

test('every answer names its audit, and is not to be kept', async t => {
  const echoed = await send('GET', `${configMaps}/a`, {headers: {'Audit-Id': 'mine'}});
  const own = await send('GET', `${configMaps}/none`);

  t.is(echoed.header('audit-id'), 'mine');
  t.regex(String(own.header('audit-id')), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.is(own.header('cache-control'), 'no-cache, private');
});

test('an internal error is a 500 without a stack', async t => {
  const failures: unknown[] = [];
  const broken = await startWire({
    failed: error => void failures.push(error),
    authorizer: {authorize: ({path}) => (path.includes('broken') ? Promise.reject(new TypeError('it broke')) : {decision: 'allow'})},
  });
  const {status: code, text} = await broken.get('/api/v1/namespaces/broken');

  t.is(code, 500);
  t.deepEqual(JSON.parse(text), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Internal error occurred: it broke',
    reason: 'InternalError',
    details: {causes: [{message: 'it broke'}]},
    code: 500,
  });
  t.is(failures.length, 1);
});

test('too many at once are turned away in plain text, but not the system\u2019s masters', async t => {
  const full = await startWire({maxInFlight: {reading: 1, mutating: 1}});
  using reading = full.server.inFlight.enter({verb: 'get', path: '/', query: new URLSearchParams()});
  const user = {name: 'jane', groups: ['system:authenticated']};
  const refused = await full.get(configMaps, {user});

  t.truthy(reading);
  t.deepEqual(
    [refused.status, refused.text, refused.type, refused.header('retry-after')],
    [429, 'Too many requests, please try again later.\n', 'text/plain; charset=utf-8', '1'],
  );
  t.is((await full.post(configMaps, aConfigMap('x'), {user})).status, 201, 'writes are counted apart');
  t.is((await full.get(configMaps, {user: admin})).status, 200);
});

const aRead = {verb: 'get', path: '/', query: new URLSearchParams()};
const aWrite = {...aRead, verb: 'create'};
for (const [limits, reads, writes] of [
  [{reading: 2, mutating: 1}, 2, 1],
  [{reading: 0, mutating: 1}, 10, 1],
  [{reading: 1, mutating: 0}, 1, 10],
] as const) {
  test(`of ten requests of each kind ${reads} reads and ${writes} writes get in with the limits ${JSON.stringify(limits)}`, t => {
    const inFlight = new InFlight(limits);
    const entered = (info: typeof aRead) => Array.from({length: 10}, () => inFlight.enter(info)).filter(Boolean);

    t.deepEqual([entered(aRead).length, entered(aWrite).length], [reads, writes]);
  });
}

test('only a refusal before the handler forbids guessing its type', async t => {
  let isMoody = false;
  const mood = {
    name: 'Moody',
    validate: () => {
      if (isMoody) throw forbidden({group: '', resource: 'configmaps'}, 'a', 'not today');
    },
  };
  const moody = await startWire({admission: () => [mood]});
  isMoody = true;
  const refused = await moody.post(configMaps, {metadata: {name: 'a'}});

  t.deepEqual([refused.status, refused.header('x-content-type-options')], [403, undefined]);
});

test('a denial names the user, the verb, the resource and the namespace', async t => {
  const closed = await startWire({
    authorizer: {authorize: ({user}) => (user === admin ? {decision: 'allow'} : {decision: 'noOpinion', reason: 'nobody knows jane'})},
  });
  const user = {name: 'jane', groups: []};
  const denied = await closed.get(`${configMaps}/a`, {user});

  t.is(denied.header('x-content-type-options'), 'nosniff');
  t.like(denied.json<Status>(), {
    code: 403,
    reason: 'Forbidden',
    message:
      'configmaps "a" is forbidden: User "jane" cannot get resource "configmaps" in API group "" in the namespace "default": nobody knows jane',
    details: {name: 'a', kind: 'configmaps'},
  });
  t.is(
    (await closed.get(`${csrs}/a/status`, {user})).json<Status>().message,
    'certificatesigningrequests.certificates.plat.io "a" is forbidden: User "jane" cannot get resource "certificatesigningrequests/status" in API group "certificates.plat.io" at the cluster scope: nobody knows jane',
  );
  t.like((await closed.get('/api', {user})).json<Status>(), {
    message: 'forbidden: User "jane" cannot get path "/api": nobody knows jane',
    details: {},
  });
});

test('the name that a field selector pins is passed to the authorizer', async t => {
  const requested: string[] = [];
  const listening = await startWire({
    authorizer: {authorize: ({verb, resource}) => (requested.push(`${verb} ${resource?.name ?? ''}`), {decision: 'allow'})},
  });
  requested.length = 0;
  for (const selector of ['metadata.name=x', 'metadata.name==x,metadata.namespace=default', 'metadata.name!=x', 'metadata.name=x/y'])
    await listening.get(`${configMaps}?fieldSelector=${encodeURIComponent(selector)}`);
  await listening.remove(`${configMaps}?fieldSelector=metadata.name%3Dx`);
  await listening.get('/api/v1/namespaces/n1');

  t.deepEqual(requested, ['list x', 'list x', 'list ', 'list ', 'deletecollection x', 'get n1']);
});

test('of an audit id of its caller an answer repeats no more than a part', async t => {
  const answer = await send('GET', `${configMaps}/a`, {headers: {'Audit-Id': 'x'.repeat(900_000)}});

  t.is(answer.status, 200);
  t.is(answer.header('audit-id'), 'x'.repeat(1024));
});
