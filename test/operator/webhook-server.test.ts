import test from 'ava';
import {noLog} from '#src/base/log.js';
import {runSteps} from '#src/base/steps.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {converting, createManager, defaulting, invalid, validating, warning, type Webhook} from '#src/operator/index.js';
import {jsonDifference} from '#src/operator/webhooks/json-difference.js';
import {startServer} from '#test/fixtures/server.js';
import {Backup, path, serve} from './webhooks-port.js';

test('a validation answers with errors of fields and warnings, and defaults with a patch', async t => {
  const {review, manager} = await serve(t, [
    validating(Backup, function* ({object, oldObject, request}) {
      t.is(oldObject, undefined);
      t.is(request.operation, 'CREATE');
      if (object!.spec.keep! > 100) yield invalid('spec.keep', object!.spec.keep, 'at most 100 are kept');
      yield warning('spec.bucket will be required');
    }),
    defaulting(Backup, ({spec}) => void (spec.keep ??= 7)),
  ]);
  t.deepEqual((await review({apiVersion: 'example.com/v1', spec: {keep: 1}})).response, {
    uid: 'u1',
    allowed: true,
    warnings: ['spec.bucket will be required'],
  });
  const {response} = await review({apiVersion: 'example.com/v1', spec: {keep: 101}});
  t.like(response, {uid: 'u1', allowed: false, status: {code: 422, reason: 'Invalid'}});
  t.is(
    (response['status'] as {message: string}).message,
    'Backup.example.com "b" is invalid: spec.keep: Invalid value: 101: at most 100 are kept',
  );
  const patched = await review({spec: {}}, '/mutate-example-com-v1-backup');
  t.is(patched.response['patchType'], 'JSONPatch');
  t.deepEqual(JSON.parse(Buffer.from(patched.response['patch'] as string, 'base64').toString()), [
    {op: 'add', path: '/spec/keep', value: 7},
  ]);
  const {body} = await manager.metrics();
  for (const line of [
    `controller_runtime_webhook_requests_total{webhook="${path}",code="200"} 1`,
    `controller_runtime_webhook_requests_total{webhook="${path}",code="422"} 1`,
    `controller_runtime_webhook_requests_in_flight{webhook="${path}"} 0`,
    `controller_runtime_webhook_latency_seconds_count{webhook="${path}"} 2`,
    'controller_runtime_webhook_panics_total 0',
    'certwatcher_read_certificate_total 1',
  ])
    t.true(body.includes(line), `${line}\n${body}`);
});

test('the parts of a review may be null', async t => {
  const users: unknown[] = [];
  const {send} = await serve(t, [
    validating(Backup, ({request: {user, name, namespace, subresource, dryRun}}) => {
      users.push([user, name, namespace, subresource, dryRun]);
      return [];
    }),
  ]);
  const ask = async (parts: object) => {
    const request = {uid: 'u1', operation: 'CREATE', object: null, ...parts};
    return (await send(path, JSON.stringify({apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request}))).status;
  };

  t.is(await ask({userInfo: null}), 200);
  t.is(
    await ask({userInfo: {username: null, groups: null}, name: null, namespace: null, subResource: null, dryRun: null, oldObject: null}),
    200,
  );
  const nobody = [{username: '', groups: []}, '', '', '', false];
  t.deepEqual(users, [nobody, nobody]);
});

test('what is no review is refused, and a webhook that fails denies without telling why', async t => {
  const {send, review, lines, manager} = await serve(t, [
    validating(Backup, () => {
      throw new Error('password=secret');
    }),
  ]);
  t.is((await send(path, undefined, 'GET')).status, 405);
  t.is((await send(path, undefined)).status, 400);
  t.is((await send(path, '{')).status, 400);
  t.is((await send(path, '{"kind": "AdmissionReview"}')).status, 400);
  t.is((await send(path, 'null')).status, 400);
  t.is((await send('/validate-example-com-v1-other', '{}')).status, 404);
  const request = {uid: 'u1', operation: 'CREATE', object: {spec: {}}};
  const long = 'u'.repeat(254);
  for (const body of [
    {apiVersion: 'admission.k8s.io/v1', request: {...request, uid: long}},
    {apiVersion: 'admission.k8s.io/v1', request: {...request, uid: 1}},
    {apiVersion: long, request},
  ]) {
    const {status, text} = await send(path, JSON.stringify({kind: 'AdmissionReview', ...body}));
    t.deepEqual([status, text.includes(long)], [400, false]);
  }
  t.is((await send(path, Buffer.alloc(7 * 1024 * 1024 + 1))).status, 413);
  const {status, text, response} = await review({spec: {}});
  t.is(status, 200);
  t.like(response, {allowed: false, status: {code: 500}});
  t.false(text.includes('secret'));
  t.true(lines.includes('error a webhook failed, denying the request'));
  t.true((await manager.metrics()).body.includes('controller_runtime_webhook_panics_total 1\n'));
  t.throws(() => createManager({controllers: [], client: startServer().clientOf(), log: noLog, concurrency: 0}), {
    message: 'concurrency must be a positive integer',
  });
});

test('a conversion keeps all digits of numbers, and one that returns no object fails', async t => {
  const results: Readonly<Record<string, unknown>> = {nothing: null, later: Promise.resolve({spec: {}}), list: [], text: 'x'};
  const {send, lines} = await serve(t, [
    converting(Backup, {
      hub: 'v1',
      versions: {
        v2: {
          toHub(object) {
            (object as Backup).spec = {keep: 1};
          },
          fromHub: object =>
            ((object as Backup).spec.bucket ?? 'same') in results ? (results[(object as Backup).spec.bucket!] as Backup) : undefined,
        },
      },
    }),
  ]);
  const convert = async (spec: string, from = 'v1', to = 'v2') => {
    const objects = `[{"apiVersion":"example.com/${from}","kind":"Backup","metadata":{"name":"b"},"spec":${spec}}]`;
    const request = `{"uid":"u1","desiredAPIVersion":"example.com/${to}","objects":${objects}}`;
    return (await send('/convert', `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":${request}}`)).text;
  };
  const numbers = '{"keep":9007199254740993,"list":[-9223372036854775808,1,1.5]}';
  t.true((await convert(numbers)).includes(`"apiVersion":"example.com/v2","kind":"Backup","metadata":{"name":"b"},"spec":${numbers}}`));
  const long = `{"bucket":"${'x'.repeat(100_000)}","keep":9007199254740993}`;
  t.true((await convert(long)).includes(`"spec":${long}}`));
  t.true((await convert('{"keep":2}', 'v2', 'v1')).includes('"spec":{"keep":1}'));
  for (const bucket of Object.keys(results)) {
    const {response} = JSON.parse(await convert(JSON.stringify({bucket}))) as {response: object};
    const message = 'the conversion of Backup from v1 to v2 returned no object';
    t.deepEqual(response, {uid: 'u1', convertedObjects: [], result: {status: 'Failure', message}}, bucket);
  }
  t.is(lines.filter(line => line.includes('a conversion failed')).length, 4);
});

test('a webhook that takes longer than its caller waits is answered for, and told', async t => {
  let aborted = false;
  const {clock, send} = await serve(t, [
    validating(Backup, ({request: {signal}}) => new Promise(() => signal.addEventListener('abort', () => (aborted = true)))),
  ]);
  const body = {apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: {uid: 'u1', operation: 'CREATE', object: {}}};
  const answers: Awaited<ReturnType<typeof send>>[] = [];
  void send(`${path}?timeout=2s`, JSON.stringify(body)).then(answer => answers.push(answer));
  while (answers.length === 0) {
    await yieldToEventLoop();
    await clock.advance(500);
  }
  t.is(answers[0]!.status, 504);
  t.true(aborted);
});

test('a webhook that cannot be served, and two of one kind, end the run of a manager with what is wrong', async t => {
  const {manager} = await serve(t, [defaulting(Backup, () => {})]);
  const {clock, clientOf} = startServer();
  const run = (handlers: readonly Webhook[], port: number) =>
    createManager({
      controllers: [],
      client: clientOf(),
      clock,
      log: noLog,
      webhooks: {handlers, certificate: {secret: 'hooks', namespace: 'default'}, bindAddress: '127.0.0.1', port},
    }).run(new AbortController().signal);
  const taken = (await manager.webhookPort)!;
  await t.throwsAsync(run([defaulting(Backup, () => {})], taken), {
    message: `cannot listen on 127.0.0.1:${taken} (--webhook-bind-address): the port is in use already: choose another, or 0 for a free one`,
  });
  await t.throwsAsync(run([validating(Backup, () => {}), validating(Backup, () => {})], 0), {
    message: 'there are two validating webhooks of Backup with the path /validate-example-com-v1-backup: give one of them the option name',
  });
});

test('a changed list keeps the digits of what was in it before', async t => {
  const {send} = await serve(t, [
    defaulting(Backup, backup => {
      const spec = backup.spec as unknown as {ids: number[]; parts: {id: number; size?: number}[]};
      spec.ids.unshift(5);
      spec.parts = spec.parts.toReversed();
      spec.parts[1]!.size = 1;
    }),
  ]);
  const object = '{"spec":{"ids":[9007199254740993,1,9007199254740995],"parts":[{"id":9007199254740993},{"id":9007199254740997}]}}';
  const request = `{"uid":"u1","operation":"CREATE","object":${object}}`;
  const {text} = await send(
    '/mutate-example-com-v1-backup',
    `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":${request}}`,
  );
  const {patch} = (JSON.parse(text) as {response: {patch: string}}).response;

  t.is(
    Buffer.from(patch, 'base64').toString(),
    '[{"op":"replace","path":"/spec/ids","value":[5,9007199254740993,1,9007199254740995]},' +
      '{"op":"replace","path":"/spec/parts","value":[{"id":9007199254740997},{"id":9007199254740993,"size":1}]}]',
  );
});

test('a difference of JSON says what was added, removed and replaced, by escaped paths', t => {
  const from = {a: {b: 1, c: 2}, list: [1, 2], same: {x: [1]}, 'gone/~': 1};
  const to = {a: {b: 3, d: 4}, list: [1], same: {x: [1]}, new: undefined};
  t.deepEqual(runSteps(jsonDifference(from, to)), [
    {op: 'replace', path: '/a/b', value: 3},
    {op: 'remove', path: '/a/c'},
    {op: 'add', path: '/a/d', value: 4},
    {op: 'replace', path: '/list', value: [1]},
    {op: 'remove', path: '/gone~1~0'},
  ]);
});
