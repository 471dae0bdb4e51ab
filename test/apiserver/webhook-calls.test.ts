import {createServer as createPlain} from 'node:http';
import {createServer as createTcp, type AddressInfo, type Server} from 'node:net';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {notFound} from '#src/api/status.js';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ServiceReference} from '#src/apiserver/backends/service-resolver.js';
import {webhookCaller, type WebhookCallerParts, type WebhookFailure, type WebhookLocation} from '#src/apiserver/backends/webhook-caller.js';
import {usersByHost} from '#src/apiserver/backends/webhook-users.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {readIdentities} from '#src/transport/kubeconfig/settings-file.js';
import {json, startWebhook} from './webhook-server.js';
import {at} from './service-place.js';

const aCaller = (more: Partial<WebhookCallerParts> = {}) =>
  webhookCaller({
    clock: new VirtualClock(),
    resolve: () => Promise.reject(notFound({group: '', resource: 'service'}, 'svc')),
    userAgent: 'tester',
    ...more,
  });

const options = {timeoutMs: 10_000};

const failureOf = async (
  location: WebhookLocation,
  more: Partial<WebhookCallerParts> = {},
  timeoutMs = 10_000,
): Promise<WebhookFailure> => {
  const caller = aCaller(more);
  try {
    await caller.call(location, {}, {timeoutMs});
  } catch (error) {
    return error as WebhookFailure;
  } finally {
    caller.close();
  }
  throw new Error('the webhook answered');
};

test('a webhook gets its timeout in the query, over one connection for all calls', async t => {
  await using webhook = await startWebhook((_, response) => json(response, {kind: 'Answer'}));
  const caller = aCaller();
  const location = {url: `${webhook.url}/validate/`, caBundle: webhook.caBundle};

  t.deepEqual(await caller.call(location, {kind: 'Question'}, {timeoutMs: 2500}), {kind: 'Answer'});
  await caller.call({...location}, {kind: 'Question'}, options);
  t.is(webhook.connections, 1);
  const [{method, url, headers, body}] = webhook.seen as [(typeof webhook.seen)[number]];
  t.deepEqual([method, url, body], ['POST', '/validate?timeout=3s', '{"kind":"Question"}']);
  t.like(headers, {
    host: `127.0.0.1:${webhook.port}`,
    'user-agent': 'tester',
    'content-type': 'application/json',
    accept: 'application/json, */*',
    'content-length': '19',
  });
  t.is(webhook.seen[1]!.url, '/validate?timeout=10s');
  caller.close();
});

test('a webhook behind a service is called by its name there, and resolved for each connection', async t => {
  await using webhook = await startWebhook((_, response) => json(response, {kind: 'Answer'}), {hosts: ['svc.ns.svc']});
  const requested: ServiceReference[] = [];
  const caller = aCaller({
    resolve(reference) {
      requested.push(reference);
      return Promise.resolve({host: '127.0.0.1', port: webhook.port});
    },
  });

  await caller.call({service: {namespace: 'ns', name: 'svc', path: '/a'}, caBundle: webhook.caBundle}, {}, options);
  t.deepEqual(requested, [at]);
  t.like(webhook.seen[0], {url: '/a?timeout=10s'});
  t.is(webhook.seen[0]!.headers.host, 'svc.ns.svc:443');
  caller.close();
});

test('a connection that the webhook closed meanwhile is opened again', async t => {
  await using webhook = await startWebhook((_, response) => json(response, {kind: 'Answer'}));
  const caller = aCaller();
  const location = {url: webhook.url, caBundle: webhook.caBundle};
  await caller.call(location, {}, options);
  webhook.respond = (_, response) => {
    // The first call on the kept connection finds it closed, the second comes over a new one.
    if (webhook.connections === 1) response.socket!.destroy();
    else json(response, {kind: 'Again'});
  };

  t.deepEqual(await caller.call(location, {}, options), {kind: 'Again'});
  t.is(webhook.connections, 2);
  caller.close();
});

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
};

test('connection errors use the wording that clients know', async t => {
  await using webhook = await startWebhook((_, response) => json(response, {}));
  await using old = await startWebhook((_, response) => json(response, {}), {lifetimeMs: 1000});
  await using named = await startWebhook((_, response) => json(response, {}), {hosts: ['a.example', 'b.example']});
  const shut = createTcp();
  const port = await listening(shut);
  await new Promise(resolve => shut.close(resolve));
  const plain = createPlain((_, response) => response.end('hello'));
  const plainPort = await listening(plain);
  const late = new VirtualClock();
  await late.advance(5000);
  const messages = async (location: WebhookLocation, more: Partial<WebhookCallerParts> = {}) => (await failureOf(location, more)).message;

  t.is(
    await messages({url: `https://127.0.0.1:${port}/x`}),
    `Post "https://127.0.0.1:${port}/x?timeout=10s": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
  t.is(
    await messages({service: {namespace: 'ns', name: 'svc', port: 8443}}),
    'Post "https://svc.ns.svc:8443/?timeout=10s": service "svc" not found',
  );
  t.is(
    await messages({url: webhook.url, caBundle: named.caBundle}),
    `Post "${webhook.url}/?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  );
  t.is(
    await messages({url: webhook.url}),
    `Post "${webhook.url}/?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  );
  t.regex(
    await messages({url: old.url, caBundle: old.caBundle}, {clock: late}),
    /tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time \S+ is after \S+$/,
  );
  t.regex(
    await messages({url: named.url, caBundle: named.caBundle}),
    /x509: cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs$/,
  );
  t.regex(
    await messages({url: `https://localhost:${named.port}`, caBundle: named.caBundle}),
    /x509: certificate is valid for a\.example, b\.example, not localhost$/,
  );
  t.is(
    await messages({url: `https://127.0.0.1:${plainPort}/`}),
    `Post "https://127.0.0.1:${plainPort}/?timeout=10s": http: server gave HTTP response to HTTPS client`,
  );
  plain.close();
});

const configurations: readonly (readonly [location: WebhookLocation, message: string])[] = [
  [{}, 'webhook configuration must have either service or URL'],
  [
    {url: 'https://h', caBundle: Buffer.from('nonsense').toString('base64')},
    'unable to load root certificates: unable to parse bytes as PEM block',
  ],
];

for (const [location, message] of configurations) {
  test(`a webhook is not called when its configuration cannot be used: ${message}`, async t => {
    t.like(await failureOf(location), {message, isMisconfigured: true});
  });
}

const status = {kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'not me', reason: 'Forbidden', code: 403};

const answers: readonly (readonly [
  title: string,
  status: number,
  type: string,
  body: string,
  message: string | RegExp,
  code: number | undefined,
])[] = [
  ['nothing', 200, 'application/json', '', '0-length response with status code: 200 and content type: application/json', undefined],
  ['nothing at all', 200, '', '', '0-length response with status code: 200 and content type: application/json', undefined],
  [
    'a Status whose code is none',
    500,
    'application/json',
    JSON.stringify({...status, code: 1.5}),
    'an error on the server ("unknown") has prevented the request from succeeding',
    500,
  ],
  [
    'no object',
    200,
    'application/json',
    'oops',
    /^couldn't get version\/kind; json parse error: json: cannot unmarshal string into Go value of type struct \{ APIVersion string /,
    undefined,
  ],
  ['not found', 404, 'text/plain', '404 page not found', 'the server could not find the requested resource', 404],
  ['a redirect', 302, 'text/plain', '', 'the server responded with the status code 302 but did not return more information', 302],
  [
    'an error with a text',
    500,
    'text/plain; charset=utf-8',
    ' boom "x"\n',
    'an error on the server ("boom \\"x\\"") has prevented the request from succeeding',
    500,
  ],
  [
    'an error in another form',
    500,
    'application/json',
    '{}',
    'an error on the server ("unknown") has prevented the request from succeeding',
    500,
  ],
  ['a Status', 403, 'application/json', JSON.stringify(status), 'not me', 403],
  ['forbidden', 403, 'text/plain', 'go away', 'go away', 403],
  ['bad request', 400, 'text/plain', 'what', 'the server rejected our request for an unknown reason', 400],
  ['busy', 503, 'text/plain', '', 'the server is currently unable to handle the request', 503],
];

for (const [title, code, type, body, message, reported] of answers) {
  test(`a webhook that answers ${title} (${code}) has failed`, async t => {
    await using webhook = await startWebhook(
      (_, response) => void response.writeHead(code, {'Content-Type': type, ...(code === 302 ? {Location: '/elsewhere'} : {})}).end(body),
    );
    const failure = await failureOf({url: webhook.url, caBundle: webhook.caBundle});

    if (typeof message === 'string') t.is(failure.message, message);
    else t.regex(failure.message, message);
    t.is(failure.status?.code, reported);
    t.is(webhook.seen.length, 1);
  });
}

test('an answer that breaks off, or is longer than any object, is none', async t => {
  await using webhook = await startWebhook((_, response) => {
    response.writeHead(200, {'Content-Length': '100'}).write('{');
    setImmediate(() => response.socket!.destroy());
  });
  const location = {url: webhook.url, caBundle: webhook.caBundle};

  t.is((await failureOf(location)).message, 'unexpected error when reading response body. Please retry. Original error: unexpected EOF');
  webhook.respond = (_, response) => void response.end(Buffer.alloc(9 * 1024 * 1024, ' '));
  t.is((await failureOf(location)).message, `the response has more than ${8 * 1024 * 1024} bytes`);
  webhook.respond = (_, response) => void response.socket!.destroy();
  t.is((await failureOf(location)).message, `Post "${webhook.url}/?timeout=10s": EOF`);
});

test('a webhook that does not answer in time, or whose caller goes away, is given up', async t => {
  await using webhook = await startWebhook(() => {}, {now: Date.UTC(2020, 0, 1)});
  const location = {url: webhook.url, caBundle: webhook.caBundle};
  const failure = await failureOf(location, {clock: systemClock}, 50);
  const caller = aCaller({clock: systemClock});
  const leaving = new AbortController();
  const left = t.throwsAsync<WebhookFailure>(caller.call(location, {}, {...options, signal: leaving.signal}));
  leaving.abort();

  t.is(failure.message, `Post "${webhook.url}/?timeout=1s": context deadline exceeded`);
  t.false(failure.isCanceled);
  t.like(await left, {message: `Post "${webhook.url}/?timeout=10s": context canceled`, isCanceled: true});
  caller.close();
});

test('a webhook that answers 429 is called again', async t => {
  await using webhook = await startWebhook((_, response) => {
    if (webhook.seen.length < 3) response.writeHead(429, {'Retry-After': '0'}).end();
    else json(response, {kind: 'Answer'});
  });
  const caller = aCaller();

  t.deepEqual(await caller.call({url: webhook.url, caBundle: webhook.caBundle}, {}, options), {kind: 'Answer'});
  t.is(webhook.seen.length, 3);
  caller.close();
});

test('users of a settings file prove the server to the hosts their names stand for', async t => {
  await using webhook = await startWebhook((_, response) => json(response, {kind: 'Answer'}), {
    hosts: ['svc.ns.svc', '127.0.0.1'],
    requestsCertificate: true,
  });
  const pair = keyPairPem(await issueClientCertificate(webhook.authority, {commonName: 'caller', now: Date.UTC(2026, 0, 1)}));
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const file = join(mkdtempSync(join(tmpdir(), 'users-')), 'users.yaml');
  const users = [
    {name: 'svc.ns.svc', user: {'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key)}},
    {name: '*.0.0.1:' + webhook.port, user: {token: 'secret'}},
    {name: '*', user: {username: 'a', password: 'b'}},
  ];
  writeFileSync(file, JSON.stringify({apiVersion: 'v1', kind: 'Config', users}));
  const clock = new VirtualClock();
  const byHost = usersByHost(await readIdentities(file, {flag: '--f'}), clock);
  const caller = aCaller({clock, users: byHost, resolve: () => Promise.resolve({host: '127.0.0.1', port: webhook.port})});

  await caller.call({service: {namespace: 'ns', name: 'svc'}, caBundle: webhook.caBundle}, {}, options);
  await caller.call({url: webhook.url, caBundle: webhook.caBundle}, {}, options);
  t.is(webhook.seen[0]!.caller, 'caller');
  t.is(webhook.seen[1]!.headers.authorization, 'Bearer secret');
  const bare = aCaller({clock, clientPair: () => ({cert: pair.certificate, key: pair.key})});
  await bare.call({url: webhook.url, caBundle: webhook.caBundle}, {}, options);
  t.is(webhook.seen[2]!.caller, 'caller');
  bare.close();
  t.deepEqual(await (await byHost('other:1')).headers(), {authorization: [`Basic ${base64('a:b')}`]});
  caller.close();
});
