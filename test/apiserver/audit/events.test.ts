import {PassThrough} from 'node:stream';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {forbidden} from '#src/api/status.js';
import {aConfigMap, admin, configMaps} from '#test/apiserver/wire.js';
import {ofStage, one, startAudited} from './environment.js';

const idHeader = {'Audit-Id': 'id-1', 'User-Agent': 'tester/1'};

test('the events of a creation have all fields in the order of the original', async t => {
  const {post, log} = await startAudited({naming: naming('kubernetes')});

  await post(configMaps, aConfigMap('a'), {
    headers: idHeader,
    user: {name: 'jane', uid: 'u-1', groups: ['devs', 'system:authenticated'], extra: {'b.example/x': ['2'], 'a.example/x': ['1']}},
  });

  const about =
    '"requestURI":"/api/v1/namespaces/default/configmaps","verb":"create",' +
    '"user":{"username":"jane","uid":"u-1","groups":["devs","system:authenticated"],"extra":{"a.example/x":["1"],"b.example/x":["2"]}},' +
    '"sourceIPs":["127.0.0.1"],"userAgent":"tester/1",';
  const times = '"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.000000Z"';
  t.deepEqual(log.lines, [
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1","stage":"RequestReceived",${about}"objectRef":{"resource":"configmaps","namespace":"default","apiVersion":"v1"},${times}}\n`,
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1","stage":"ResponseComplete",${about}"objectRef":{"resource":"configmaps","namespace":"default","name":"a","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},${times},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}\n`,
  ]);
});

test('the plat naming names the group and the annotations its own way', async t => {
  const {get, log} = await startAudited();

  await get(configMaps);

  const event = one(log);
  t.is(event.apiVersion, 'audit.plat.io/v1');
  t.deepEqual(event.annotations, {'authorization.plat.io/decision': 'allow', 'authorization.plat.io/reason': ''});
});

test('the audit id is that of the header, or a new one, and is in the response', async t => {
  const {get, log} = await startAudited();

  const known = await get(configMaps, {headers: idHeader});
  const made = await get(configMaps);

  t.deepEqual([...new Set(log.events.map(({auditID}) => auditID))], [known.header('Audit-Id'), made.header('Audit-Id')]);
  t.is(known.header('Audit-Id'), 'id-1');
});

test('the reference to an object has group, subresource, and uid and version of what was sent', async t => {
  const {post, put, log} = await startAudited();
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const made = await post(deployments, {
    metadata: {name: 'd'},
    spec: {selector: {matchLabels: {a: 'b'}}, template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}]}}},
  });
  const {metadata} = made.json();
  log.lines = [];

  await put(`${deployments}/d/status`, made.json());

  t.deepEqual(one(log).objectRef, {
    resource: 'deployments',
    namespace: 'default',
    name: 'd',
    uid: metadata!.uid!,
    apiGroup: 'apps',
    apiVersion: 'v1',
    resourceVersion: metadata!.resourceVersion!,
    subresource: 'status',
  });
});

test('source addresses are those of the proxies before the peer', async t => {
  const {get, log} = await startAudited();

  for (const headers of [
    {'X-Forwarded-For': '10.0.0.1, not an address,10.0.0.2'},
    {'X-Forwarded-For': '10.0.0.1', 'X-Real-Ip': '10.0.0.1'},
    {'X-Real-Ip': '10.0.0.3'},
    {'X-Forwarded-For': '10.0.0.1,127.0.0.1'},
  ])
    await get('/healthz', {headers: headers as Record<string, string>});

  t.deepEqual(
    ofStage(log).map(({sourceIPs}) => sourceIPs),
    [
      ['10.0.0.1', '10.0.0.2', '127.0.0.1'],
      ['10.0.0.1', '127.0.0.1'],
      ['10.0.0.3', '127.0.0.1'],
      ['10.0.0.1', '127.0.0.1'],
    ],
  );
});

test('a long user agent is cut', async t => {
  const {get, log} = await startAudited();

  await get('/healthz', {headers: {'User-Agent': 'x'.repeat(2000)}});

  t.is(one(log).userAgent, `${'x'.repeat(1024)}...TRUNCATED`);
});

test('a request without a resource has no object reference, and the method as its verb', async t => {
  const {get, log} = await startAudited({rule: {level: 'RequestResponse'}});

  await get('/healthz?verbose');

  const {verb, requestURI, objectRef, responseObject} = one(log);
  t.deepEqual([verb, requestURI, objectRef, responseObject], ['get', '/healthz?verbose', undefined, undefined]);
});

test('a refusal is recorded with its Status', async t => {
  const {get, log} = await startAudited();

  await get(`${configMaps}/none`);

  t.deepEqual(one(log).responseStatus, {
    metadata: {},
    status: 'Failure',
    message: 'configmaps "none" not found',
    reason: 'NotFound',
    details: {name: 'none', kind: 'configmaps'},
    code: 404,
  } as object);
});

test('what an authorizer forbids is recorded with its reason', async t => {
  const {get, log} = await startAudited({
    authorizer: {authorize: ({verb}) => (verb === 'get' ? {decision: 'deny', reason: 'not today'} : {decision: 'allow'})},
  });

  await get(`${configMaps}/a`, {user: {name: 'jane', groups: []}});

  const {responseStatus, annotations} = one(log);
  t.like(responseStatus, {code: 403, reason: 'Forbidden'});
  t.deepEqual(annotations, {'authorization.plat.io/decision': 'forbid', 'authorization.plat.io/reason': 'not today'});
});

test('the reason of an authorizer that fails is an internal error', async t => {
  let fails = false;
  const {get, log} = await startAudited({
    failed: () => undefined,
    authorizer: {
      authorize() {
        if (fails) throw forbidden({group: '', resource: ''}, '', 'broken');
        return {decision: 'allow'};
      },
    },
  });
  fails = true;

  await get(configMaps);

  t.deepEqual(one(log).annotations, {'authorization.plat.io/reason': 'internal error'});
});

test('a request that is not authenticated is recorded once, without a user', async t => {
  const {server, log} = await startAudited({
    policy: {
      rules: [
        {level: 'Metadata', users: ['system:anonymous']},
        {level: 'Metadata', nonResourceURLs: ['*']},
      ],
    },
  });

  const response = await server.handler({
    method: 'GET',
    url: '/version',
    headers: {},
    caller: {credentials: {certificates: []}},
    remoteAddress: '10.1.1.1',
    signal: new AbortController().signal,
  });

  t.is(response.status, 401);
  t.is(log.events.length, 1);
  t.like(log.events[0], {
    stage: 'ResponseStarted',
    user: {},
    sourceIPs: ['10.1.1.1'],
    responseStatus: {status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized', code: 401},
  });
  t.deepEqual(log.events[0]!.user, {});
});

test('an invalid deadline is recorded like a request that is not authenticated', async t => {
  const {get, log} = await startAudited();

  const {status} = await get(`${configMaps}?timeout=soon`);

  t.is(status, 400);
  t.deepEqual(
    log.events.map(({stage, responseStatus}) => [stage, responseStatus?.code]),
    [['ResponseStarted', 400]],
  );
});

test('a request above the limit is recorded with the status code alone', async t => {
  const user = {name: 'jane', groups: []};
  const {get, log, server} = await startAudited({maxInFlight: {reading: 1, mutating: 10}});
  const first = server.inFlight.enter({verb: 'get', path: '/', query: new URLSearchParams()}, false);

  const {status} = await get(configMaps, {user});
  first?.[Symbol.dispose]();

  t.is(status, 429);
  t.deepEqual(one(log).responseStatus, {metadata: {}, code: 429} as object);
});

test('a failure of the server is recorded at the stage Panic', async t => {
  const {get, log} = await startAudited({
    failed: () => undefined,
    routes: [
      {
        path: '/broken',
        handler() {
          throw new TypeError('x is undefined');
        },
      },
    ],
  });

  const {status} = await get('/broken');

  t.is(status, 500);
  t.deepEqual(
    log.events.map(({stage}) => stage),
    ['RequestReceived', 'Panic'],
  );
  t.deepEqual(log.events[1]!.responseStatus, {
    metadata: {},
    status: 'Failure',
    message: "APIServer panic'd: x is undefined",
    reason: 'InternalError',
    code: 500,
  } as object);
});

test('the impersonated user is recorded beside the impersonating one', async t => {
  const {get, log} = await startAudited();

  await get(configMaps, {headers: {'Impersonate-User': 'joe', 'Impersonate-Group': 'devs', 'Impersonate-Extra-Team': 'x'}});

  const {user, impersonatedUser} = one(log);
  t.is(user.username, admin.name);
  t.deepEqual(impersonatedUser, {username: 'joe', groups: ['devs', 'system:authenticated'], extra: {team: ['x']}});
});

test('a watch gives an event when it starts and one when it ends', async t => {
  const {watch, log, clock} = await startAudited();

  const stream = await watch(`${configMaps}?watch=1`);
  const started = log.events.map(({stage, responseStatus}) => [stage, responseStatus?.code]);
  await clock.advance(5000);
  stream[Symbol.dispose]();
  stream[Symbol.dispose]();

  t.deepEqual(started, [
    ['RequestReceived', undefined],
    ['ResponseStarted', 200],
  ]);
  t.is(one(log).verb, 'watch');
  t.is(one(log).stageTimestamp, '2026-01-01T00:00:05.000000Z');
  t.is(log.events.length, 3);
});

test('a watch that the server ends gives its last event then', async t => {
  const {watch, log, server} = await startAudited();
  await watch(`${configMaps}?watch=1`);

  server.endWatches();

  t.is(one(log).responseStatus?.code, 200);
});

test('a refused watch gives both events too', async t => {
  const {get, log} = await startAudited();

  await get(`${configMaps}?watch=1&resourceVersion=x`);

  t.deepEqual(
    log.events.map(({stage}) => stage),
    ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
  );
});

test('a stream ends with its source, an upgraded connection with its socket', async t => {
  const source = new PassThrough();
  const socket = new PassThrough();
  const {server, log} = await startAudited({
    routes: [
      {path: '/stream', handler: () => ({status: 200, headers: {}, body: {kind: 'stream', source}})},
      {
        path: '/debug/pprof/x',
        handler: () => ({status: 101, headers: {}, body: {kind: 'upgrade', take: () => undefined, drop: () => undefined}}),
      },
    ],
  });
  const request = (url: string) =>
    server.handler({
      method: 'GET',
      url,
      headers: {},
      caller: {user: admin},
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    });

  await request('/stream');
  const {body} = await request('/debug/pprof/x');
  if (body.kind === 'upgrade') await body.take(socket, Buffer.alloc(0));
  const before = ofStage(log).length;
  source.destroy();
  socket.destroy();
  await new Promise(resolve => setImmediate(resolve));

  t.is(before, 0);
  t.deepEqual(
    ofStage(log)
      .map(({requestURI, responseStatus}) => [requestURI, responseStatus?.code])
      .sort(),
    [
      ['/debug/pprof/x', 101],
      ['/stream', 200],
    ],
  );
  t.deepEqual(
    ofStage(log, 'ResponseStarted').map(({requestURI}) => requestURI),
    ['/debug/pprof/x'],
  );
});

test('a deprecated version is annotated with the release that removes it', async t => {
  const {get, log} = await startAudited();

  await get('/apis/networking.plat.io/v1beta1/servicecidrs');
  await get(configMaps);

  t.deepEqual(
    ofStage(log).map(({annotations = {}}) => [annotations['plat.io/deprecated'], annotations['plat.io/removed-release']]),
    [
      ['true', '1.37'],
      [undefined, undefined],
    ],
  );
});

test('the legacy format is one line of text per event', async t => {
  const {get, log} = await startAudited({format: 'legacy'});

  await get(`${configMaps}?limit=1`, {headers: idHeader, user: {name: 'jane', groups: ['a', 'b']}});

  t.is(
    log.lines[1],
    String.raw`2026-01-01T00:00:00Z AUDIT: id="id-1" stage="ResponseComplete" ip="127.0.0.1" method="list" user="jane" groups="\"a\",\"b\"" as="<self>" asgroups="<lookup>" user-agent="tester/1" namespace="default" uri="/api/v1/namespaces/default/configmaps?limit=1" response="200"` +
      '\n',
  );
  t.true(log.lines[0]!.endsWith('response="<deferred>"\n'));
});

test('events and levels are counted', async t => {
  const {get, metric} = await startAudited({
    policy: {
      rules: [
        {level: 'None', nonResourceURLs: ['/healthz']},
        {level: 'Metadata', verbs: ['list']},
      ],
    },
  });

  await get('/healthz');
  await get(configMaps);

  t.is(metric('event_total'), 2);
  t.is(metric('level_total', {level: 'Metadata'}), 1);
  t.is(metric('level_total', {level: 'None'}), 2);
  t.is(metric('requests_rejected_total'), 0);
});
