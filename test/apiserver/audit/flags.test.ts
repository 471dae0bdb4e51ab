import {mkdtempSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {startWebhook, type Respond} from '#test/apiserver/webhook-server.js';
import {aConfigMap, configMaps, wire} from '#test/apiserver/wire.js';
import type {RecordedEvent} from './environment.js';

const jane = {name: 'jane', groups: ['system:masters', 'system:authenticated']};
const alone = {controllerManagerArgs: ['--controllers=']};

const directory = () => mkdtempSync(join(tmpdir(), 'plat-audit-'));
const aFile = (text: string): string => {
  const file = join(directory(), 'file.yaml');
  writeFileSync(file, text);
  return file;
};
const policyOf = (rule: string) => aFile(`{kind: Policy, apiVersion: audit.plat.io/v1, rules: [${rule}]}`);
const ofJane = (level = 'Metadata', rest = '') => policyOf(`{level: ${level}, users: [jane]${rest}}`);
const eventsIn = (path: string): RecordedEvent[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as RecordedEvent);

test('a plane records its requests in the file that the flags name, those of its controllers too', async t => {
  const log = join(directory(), 'logs', 'audit.log');
  const plane = await aPlane({
    controllers: ['serviceaccount'],
    apiserverArgs: [`--audit-policy-file=${policyOf('{level: Metadata}')}`, `--audit-log-path=${log}`],
  });
  await plane
    .client(jane)
    .resource(kinds.namespaces)
    .create({metadata: {name: 'ns'}});
  await plane.clock.drain();
  await plane.stop();

  const events = eventsIn(log);
  const users = new Set(events.map(({user}) => user.username));
  t.true(users.has('jane') && users.has('system:serviceaccount:plat-system:service-account-controller'), [...users].join());
  t.true(events.some(({verb, objectRef}) => verb === 'create' && objectRef?.['resource'] === 'serviceaccounts'));
  // Watches that last until the plane stops are complete.
  const watches = events.filter(({verb}) => verb === 'watch');
  t.is(watches.filter(({stage}) => stage === 'ResponseStarted').length, watches.filter(({stage}) => stage === 'ResponseComplete').length);
});

for (const [what, args, message] of [
  [
    'a policy that is not there',
    ['--audit-policy-file=/none/p.yaml'],
    /^--audit-policy-file: ENOENT: no such file or directory, open '\/none\/p\.yaml'$/,
  ],
  ['an invalid policy', [`--audit-policy-file=${policyOf('{}')}`], /^--audit-policy-file: \S+: rules\[0\]\.level: Required value$/],
  ['a log that cannot be written', ['--audit-log-path=/dev/null/audit.log'], /^--audit-log-path: .+$/],
  [
    'settings of a webhook that are not there',
    ['--audit-webhook-config-file=/none/w.yaml'],
    /^--audit-webhook-config-file.*\/none\/w\.yaml.*$/,
  ],
] as const)
  test(`a server does not start with ${what}`, async t => {
    await t.throwsAsync(aPlane({...alone, apiserverArgs: args}), {message});
  });

test('without a policy nothing is recorded', async t => {
  const log = join(directory(), 'audit.log');
  const plane = await aPlane({...alone, apiserverArgs: [`--audit-log-path=${log}`]});
  await plane.stop();

  t.is(readFileSync(log, 'utf8'), '');
});

test('flags set the format, the size of files, and what is kept of them', async t => {
  const folder = directory();
  const log = join(folder, 'audit.log');
  const plane = await aPlane({
    ...alone,
    apiserverArgs: [
      `--audit-policy-file=${ofJane('RequestResponse', ', verbs: [create]')}`,
      `--audit-log-path=${log}`,
      '--audit-log-maxsize=1',
      '--audit-log-maxbackup=1',
      '--audit-log-maxage=3',
      '--audit-log-compress',
      '--audit-log-truncate-enabled',
      '--audit-log-truncate-max-event-size=900000',
      '--audit-log-truncate-max-batch-size=900000',
    ],
  });
  const {post} = wire(plane.api.handler);
  for (let i = 0; i < 4; i++) await post(configMaps, aConfigMap(`a-${i}`, {data: {x: 'y'.repeat(300_000)}}), {user: jane});
  await plane.stop();

  const names = (await import('node:fs')).readdirSync(folder).sort();
  t.is(names.length, 2, names.join());
  t.regex(names[0]!, /^audit-.*\.log\.gz$/);

  const text = join(folder, 'text.log');
  const other = await aPlane({
    ...alone,
    apiserverArgs: [`--audit-policy-file=${ofJane()}`, `--audit-log-path=${text}`, '--audit-log-format=legacy', '--audit-log-mode=batch'],
  });
  await wire(other.api.handler).get('/version', {user: jane});
  await other.stop();
  t.regex(readFileSync(text, 'utf8'), /^\S+ AUDIT: id=".*" stage="RequestReceived" .*\n\S+ AUDIT: .* response="200"\n$/);
});

const settingsOf = (url: string, ca: string): string =>
  aFile(`apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "${url}", certificate-authority-data: ${ca}}}]
users: [{name: u, user: {token: letter}}]
contexts: [{name: c, context: {cluster: a, user: u}}]
current-context: c
`);

const webhooked = async (t: ExecutionContext, respond: Respond, flags: readonly string[], policy = ofJane()) => {
  const webhook = await startWebhook(respond);
  const plane = await aPlane({
    ...alone,
    apiserverArgs: [
      `--audit-policy-file=${policy}`,
      `--audit-webhook-config-file=${settingsOf(`${webhook.url}/sink`, webhook.caBundle)}`,
      ...flags,
    ],
  });
  const lists = () => webhook.seen.map(({body}) => JSON.parse(body) as {kind: string; apiVersion: string; items: RecordedEvent[]});
  const metric = async (series: string) =>
    Number(
      (await wire(plane.api.handler).get('/metrics')).text
        .split('\n')
        .find(line => line.startsWith(`${series} `))
        ?.split(' ')[1] ?? 0,
    );
  t.teardown(async () => {
    await plane.stop();
    await webhook.close();
  });
  return {webhook, plane, lists, metric, ...wire(plane.api.handler)};
};

const take: Respond = (_, response) => void response.writeHead(200).end();

test('a webhook receives lists of events with the credentials of its settings', async t => {
  const {get, plane, webhook, lists} = await webhooked(t, take, ['--audit-webhook-batch-max-wait=10s']);

  for (let i = 0; i < 3; i++) await get('/version', {user: jane});
  await plane.clock.drain();
  const before = webhook.seen.length;
  await plane.clock.advance(10_000);

  t.is(before, 0);
  t.is(webhook.seen.length, 1);
  t.is(webhook.seen[0]!.url, '/sink?timeout=30s');
  t.is(webhook.seen[0]!.headers.authorization, 'Bearer letter');
  const [{kind, apiVersion, items}] = lists() as [ReturnType<typeof lists>[0]];
  t.deepEqual([kind, apiVersion, items.length], ['EventList', 'audit.plat.io/v1', 6]);
  t.deepEqual([items[0]!.kind, items[0]!.stage, items[0]!.user.username], [undefined, 'RequestReceived', 'jane']);
});

test('a webhook that fails is called again, later and later', async t => {
  let failures = 2;
  const {get, plane, webhook, metric} = await webhooked(t, (_, response) => void response.writeHead(failures-- > 0 ? 503 : 200).end(), [
    '--audit-webhook-batch-max-size=2',
    '--audit-webhook-initial-backoff=1s',
  ]);

  await get('/version', {user: jane});
  await plane.clock.drain();
  const attempts = [webhook.seen.length];
  for (const ms of [999, 300, 1200, 600]) {
    await plane.clock.advance(ms);
    attempts.push(webhook.seen.length);
  }

  t.deepEqual(attempts, [1, 1, 2, 2, 3]);
  t.is(await metric('apiserver_audit_error_total{plugin="webhook"}'), 0);
});

test('what a webhook never takes is counted as lost', async t => {
  const {get, plane, webhook, metric} = await webhooked(t, (_, response) => void response.writeHead(500).end(), [
    '--audit-webhook-batch-max-size=2',
    '--audit-webhook-initial-backoff=1s',
  ]);

  await get('/version', {user: jane});
  await plane.clock.advance(60_000);

  t.is(webhook.seen.length, 5);
  t.is(await metric('apiserver_audit_error_total{plugin="webhook"}'), 2);
});

test('a webhook that is gone refuses requests in blocking-strict mode', async t => {
  const {post, get, plane, webhook, metric} = await webhooked(t, take, [
    '--audit-webhook-mode=blocking-strict',
    '--audit-webhook-initial-backoff=1s',
  ]);
  t.is((await post(configMaps, aConfigMap('a'), {user: jane})).status, 201);
  t.deepEqual(webhook.seen.length, 2);
  await webhook.close();

  const refused = post(configMaps, aConfigMap('b'), {user: jane});
  await plane.clock.advance(60_000);

  t.is((await refused).text, `Internal Server Error: "${configMaps}": failed to store audit event\n`);
  t.is((await get(`${configMaps}/b`)).status, 404);
  t.is(await metric('apiserver_audit_requests_rejected_total'), 1);
});

test('events that wait are sent when the server stops, without further waiting', async t => {
  const {get, plane, lists} = await webhooked(t, take, []);
  await get('/version', {user: jane});

  await plane.stop();

  t.is(lists()[0]?.items.length, 2);
});

test('a large request that another thread handles is recorded whole', async t => {
  const log = join(directory(), 'audit.log');
  const rule = 'kind: Policy\napiVersion: audit.k8s.io/v1\nrules: [{level: RequestResponse, users: [jane], omitStages: [RequestReceived]}]';
  const plane = await startPlane({
    ...alone,
    listen: false,
    clock: systemClock,
    apiserverArgs: [`--audit-policy-file=${aFile(rule)}`, `--audit-log-path=${log}`, '--storage-backend=memory'],
  });
  const {post} = wire(plane.api.handler);
  const annotations = Object.fromEntries(Array.from({length: 9000}, (_, i) => [`k-${i}`, 'x']));
  const accept = {Accept: 'application/yaml'};

  t.is((await post('/api/v1/namespaces', {metadata: {name: 'big', annotations}}, {user: jane})).status, 201);
  t.is((await post('/api/v1/namespaces', {metadata: {name: 'other', annotations}}, {user: jane, headers: accept})).status, 201);
  t.is((await post('/api/v1/namespaces', {metadata: {name: 'A', annotations}}, {user: jane})).status, 422);
  await plane.stop();

  const sizes = (object: unknown) => Object.keys((object as {metadata?: {annotations?: object}})?.metadata?.annotations ?? {}).length;
  const events = eventsIn(log);
  t.deepEqual(
    events.map(({objectRef, requestObject, responseObject}) => [objectRef?.['name'], sizes(requestObject), sizes(responseObject)]),
    [
      ['big', 9000, 9000],
      ['other', 9000, 9000],
      ['A', 9000, 0],
    ],
  );
  t.like(events[2]!.responseStatus, {code: 422, reason: 'Invalid'});
  t.is(events[0]!.annotations?.['authorization.k8s.io/decision'], 'allow');
});
