import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {ask1, ask2} from '#test/serving/server.js';
import {json} from './webhook-server.js';
import {flunders, name, type Options, root, start} from './aggregated-server.js';

test('a service backend serves its group version, and gets the identity of the user and of the proxy', async t => {
  await using env = await start((seen, response) => {
    response.writeHead(201, {'Content-Type': 'application/x-odd', 'X-Own': 'yes'}).end(`${seen.method} ${seen.body}`);
  });
  t.deepEqual(await env.condition(), {status: 'True', reason: 'Passed', message: 'all checks passed'});
  env.backend.seen.length = 0;
  const answer = await ask1(env.server, {
    method: 'POST',
    path: `${root}/namespaces/default/flunders?dryRun=All&a=b%20c`,
    headers: {'x-remote-user': 'root', 'x-remote-extra-a': 'b', authorization: 'Bearer secret', 'content-type': 'application/json'},
    body: '{"a":1}',
  });

  t.deepEqual(
    [answer.status, answer.headers['content-type'], answer.headers['x-own'], answer.body.toString()],
    [201, 'application/x-odd', 'yes', 'POST {"a":1}'],
  );
  const seen = env.backend.seen[0]!;
  t.is(seen.url, `${root}/namespaces/default/flunders?dryRun=All&a=b%20c`);
  t.is(seen.caller, 'front-proxy-client');
  t.is(seen.headers.host, `localhost:${env.backend.port}`);
  t.is(seen.headers['audit-id'], answer.headers['audit-id'] as string);
  t.deepEqual(Object.fromEntries(Object.entries(seen.headers).filter(([header]) => /^(x-remote|authorization|x-forwarded)/.test(header))), {
    'x-forwarded-for': '127.0.0.1',
    'x-remote-user': Buffer.from('jané').toString('latin1'),
    'x-remote-uid': 'u1',
    'x-remote-group': 'devs, system:masters, system:authenticated',
    'x-remote-extra-example.com%2fte%c3%a4m': 'a, b',
  });
});

const refuses = async (t: ExecutionContext, env: Awaited<ReturnType<typeof start>>, status: number, body: string) => {
  for (const ask of [ask1, ask2]) {
    const answer = await ask(env.server, {path: `${root}/flunders`});
    t.deepEqual(
      [answer.status, answer.headers['content-type'], answer.headers['x-content-type-options'], answer.body.toString()],
      [status, 'text/plain; charset=utf-8', 'nosniff', `${body}\n`],
    );
  }
};

for (const [title, options, reason, message] of [
  [
    'whose service is not there',
    {spec: {service: {namespace: 'apps', name: 'none', port: 1}}},
    'ServiceNotFound',
    'service/none in "apps" is not present',
  ],
  [
    'whose service has another port',
    {service: {type: 'ClusterIP', externalName: '', ports: [{port: 1}]}, spec: {service: {namespace: 'apps', name: 'back'}}},
    'ServicePortError',
    'service/back in "apps" is not listening on port 443',
  ],
  [
    'whose service has no endpoints',
    {service: {type: 'ClusterIP', externalName: '', ports: [{port: 443}]}, spec: {service: {namespace: 'apps', name: 'back'}}},
    'EndpointsNotFound',
    'cannot find endpointslices for service/back in "apps"',
  ],
] as const satisfies readonly (readonly [string, Options, string, string])[]) {
  test(`a server ${title} is not available`, async t => {
    await using env = await start(undefined, options);

    t.deepEqual(await env.condition(), {status: 'False', reason, message});
    await refuses(t, env, 503, 'service unavailable');
  });
}

test('an APIService is unavailable while its service has no ready endpoints', async t => {
  await using env = await start(undefined, {
    service: {type: 'ClusterIP', externalName: '', ports: [{name: 'web', port: 443}]},
    spec: {service: {namespace: 'apps', name: 'back'}},
  });
  const slices = env.client.resource(kinds.endpointSlices);
  const label = {[env.plane.naming.key('service-name')]: 'back'};
  const missing = {
    status: 'False',
    reason: 'MissingEndpoints',
    message: 'endpointslices for service/back in "apps" have no addresses with port name "web"',
  };
  for (const [at, slice] of [
    {endpoints: [{addresses: ['10.1.2.3'], conditions: {ready: false}}], ports: [{name: 'web', port: 1}]},
    {endpoints: [{addresses: ['10.1.2.3']}], ports: [{name: 'other', port: 1}]},
  ].entries()) {
    await slices.create({metadata: {namespace: 'apps', name: `s${at}`, labels: label}, addressType: 'IPv4', ...slice});
    await env.clock.drain();
    t.deepEqual(await env.condition(), missing);
  }
});

test('a failing backend is probed again with backoff, and becomes available when it answers', async t => {
  let isUp = false;
  await using env = await start();
  env.backend.respond = (_, response) => json(response, isUp ? flunders : {}, isUp ? 200 : 404);
  await env.objects.patch(name, 'merge', {metadata: {labels: {look: 'again'}}});
  await env.clock.drain();
  const url = `https://localhost:${env.backend.port}${root}`;
  t.deepEqual(await env.condition(), {
    status: 'False',
    reason: 'FailedDiscoveryCheck',
    message: `failing or missing response from ${url}: bad status from ${url}: 404`,
  });

  isUp = true;
  await env.clock.advance(31_000);
  t.deepEqual(await env.condition(), {status: 'True', reason: 'Passed', message: 'all checks passed'});

  isUp = false;
  await env.clock.advance(31_000);
  t.is((await env.condition())?.reason, 'FailedDiscoveryCheck');
  await refuses(t, env, 503, 'service unavailable');
});

test('an unreachable backend is reported with the error of the connection', async t => {
  await using env = await start();
  await env.backend.close();
  const gone = `dial tcp 127.0.0.1:${env.backend.port}: connect: connection refused`;
  await refuses(t, env, 503, gone);
  await env.clock.advance(31_000);
  const url = `https://localhost:${env.backend.port}${root}`;
  t.is((await env.condition())?.message, `failing or missing response from ${url}: Get "${url}": ${gone}`);
});

test('an untrusted certificate does not make an APIService unavailable, but fails requests', async t => {
  await using env = await start(undefined, {hosts: ['other.apps.svc']});
  t.is((await env.condition())?.status, 'True');
  await refuses(t, env, 503, 'tls: failed to verify certificate: x509: certificate is valid for other.apps.svc, not back.apps.svc');

  await env.objects.patch(name, 'merge', {spec: {caBundle: null, insecureSkipTLSVerify: true}});
  await env.clock.drain();
  t.is((await env.text(root))[0], 200);

  await env.objects.patch(name, 'merge', {
    spec: {caBundle: Buffer.from('no certificate').toString('base64'), insecureSkipTLSVerify: false},
  });
  await env.clock.drain();
  await refuses(t, env, 500, 'unable to load root certificates: unable to parse bytes as PEM block');
});

for (const [refused, status, reported] of [
  ['true', 502, 'the backend attempted to redirect this request, which is not permitted'],
  ['false', 302, ''],
] as const) {
  test(`a server that sends callers elsewhere ${refused === 'true' ? 'is not heeded' : 'is, if that is wanted'}`, async t => {
    await using env = await start((_, response) => response.writeHead(302, {Location: 'https://example.com/'}).end(), {
      apiserverArgs: [`--aggregator-reject-forwarding-redirect=${refused}`],
    });
    const answer = await ask1(env.server, {path: `${root}/flunders`});

    t.deepEqual(
      [answer.status, answer.headers['location'], answer.body.toString().trim()],
      [status, refused === 'true' ? undefined : 'https://example.com/', reported],
    );
  });
}

test('a request that is forbidden here is refused here, and a refusal of the backend is relayed', async t => {
  await using env = await start((_, response) => json(response, {kind: 'Status', status: 'Failure', code: 403}, 403), {roles: true});
  const before = env.backend.seen.length;
  const {status} = await env.plane.api.handler({
    method: 'GET',
    url: `${root}/flunders`,
    headers: {},
    caller: {user: {name: 'bob', groups: []}},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  t.is(status, 403);
  t.is(env.backend.seen.length, before);

  t.deepEqual(await env.text(`${root}/flunders`), [403, '{"kind":"Status","status":"Failure","code":403}']);
});
