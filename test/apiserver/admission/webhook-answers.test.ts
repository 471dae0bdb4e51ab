import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {refusal, words} from '#test/resources/environment.js';
import {json} from '#test/apiserver/webhook-server.js';
import {wire} from '#test/apiserver/wire.js';
import {aHook, aHookServer, startWebhookEnvironment, patching, type WebhookRequest} from './webhook-environment.js';
import {aConfigMap, api} from './webhook-requests.js';

const denials: readonly (readonly [status: object | undefined, expected: object])[] = [
  [undefined, {code: 400, message: 'admission webhook "hook.example.com" denied the request without explanation'}],
  [{message: 'because'}, {code: 400, message: 'admission webhook "hook.example.com" denied the request: because'}],
  [{reason: 'NotToday'}, {code: 400, reason: 'NotToday', message: 'admission webhook "hook.example.com" denied the request: NotToday'}],
  [
    {code: 403, reason: 'Forbidden', message: 'no', details: {causes: [{message: 'why', field: 'data'}]}},
    {
      code: 403,
      reason: 'Forbidden',
      message: 'admission webhook "hook.example.com" denied the request: no',
      details: {causes: [{message: 'why', field: 'data'}]},
    },
  ],
  [
    {code: 200, status: 'Success', message: 'fine'},
    {code: 400, status: 'Failure', message: 'admission webhook "hook.example.com" denied the request: fine'},
  ],
];

for (const [status, expected] of denials) {
  for (const kind of ['mutating', 'validating'] as const) {
    test(`a ${kind} webhook denies with ${JSON.stringify(status) ?? 'nothing'}`, async t => {
      using env = await startWebhookEnvironment();
      await using server = await aHookServer(() => ({allowed: false, ...(status ? {status} : {})}));
      await env[kind]('x', aHook(server));

      t.like(await refusal(env.of(kinds.configMaps).create(aConfigMap('c'))), {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        ...expected,
      });
    });
  }
}

type Reply = (uid: string) => object;
const review = (response: object, more: object = {}): object => ({kind: 'AdmissionReview', apiVersion: api('v1'), response, ...more});

const invalidReplies: readonly (readonly [kind: 'mutating' | 'validating', reply: Reply, message: string])[] = [
  [
    'validating',
    () => ({kind: 'AdmissionReview', apiVersion: api('v1')}),
    'received invalid webhook response: webhook response was absent',
  ],
  [
    'validating',
    () => review({uid: 'other', allowed: true}),
    'received invalid webhook response: expected response.uid="UID", got "other"',
  ],
  [
    'validating',
    uid => ({response: {uid, allowed: true}}),
    `received invalid webhook response: expected webhook response of ${api('v1')}, Kind=AdmissionReview, got /, Kind=`,
  ],
  [
    'validating',
    uid => review({uid, allowed: true}, {apiVersion: api('v1beta1')}),
    'failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion',
  ],
  [
    'validating',
    uid => review({uid, allowed: true}, {kind: 'Other'}),
    `failed to call webhook: no kind "Other" is registered for version "${api('v1')}" in scheme "plat.io/apiserver/pkg/util/webhook/client.go:71"`,
  ],
  [
    'validating',
    () => [] as object,
    'failed to call webhook: couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
  ],
  [
    'validating',
    uid => review({uid, allowed: true, patch: 'W10='}),
    'received invalid webhook response: validating webhook may not return response.patch',
  ],
  [
    'validating',
    uid => review({uid, allowed: true, patchType: 'JSONPatch'}),
    'received invalid webhook response: validating webhook may not return response.patchType',
  ],
  [
    'mutating',
    uid => review({uid, allowed: true, patch: 'W10='}),
    'received invalid webhook response: webhook returned response.patch but not response.patchType',
  ],
  [
    'mutating',
    uid => review({uid, allowed: true, patchType: 'JSONPatch'}),
    'received invalid webhook response: webhook returned response.patchType but not response.patch',
  ],
  [
    'mutating',
    uid => review({uid, allowed: true, patch: 'W10=', patchType: ''}),
    'received invalid webhook response: webhook returned invalid response.patchType of ""',
  ],
  [
    'mutating',
    uid =>
      review({
        uid,
        allowed: true,
        patchType: 'Merge',
        patch: Buffer.from('[{"op":"add","path":"/data/a","value":"1"}]').toString('base64'),
      }),
    'unsupported patch type "Merge"',
  ],
  [
    'validating',
    () => ({kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'no', code: 403}),
    'failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion',
  ],
  [
    'validating',
    () => ({kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'no', code: 2 ** 31}),
    'failed to call webhook: json: cannot unmarshal number 2147483648 into Go struct field Status.code of type int32',
  ],
  [
    'mutating',
    uid => review({uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from('[1]').toString('base64')}),
    'received undecodable patch in webhook response: json: cannot unmarshal number into Go value of type jsonpatch.Operation',
  ],
  [
    'mutating',
    uid => review({uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from('{}').toString('base64')}),
    'received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch',
  ],
  [
    'mutating',
    uid => review({uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from('oops').toString('base64')}),
    "received undecodable patch in webhook response: invalid character 'o' looking for beginning of value",
  ],
];

for (const [kind, reply, message] of invalidReplies) {
  test(`an answer to a ${kind} webhook that is none fails the request, unless failures are ignored: ${message}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    server.webhook.respond = ({body}, response) => json(response, reply((JSON.parse(body) as {request: {uid: string}}).request.uid));
    await env[kind](
      'x',
      aHook(server),
      aHook(server, {
        name: 'open.example.com',
        failurePolicy: 'Ignore',
        rules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets']}],
      }),
    );
    const refused = await refusal(env.of(kinds.configMaps).create(aConfigMap('c')));

    t.is(refused.code, 500);
    t.is(refused.reason, 'InternalError');
    const {uid} = (JSON.parse(server.webhook.seen[0]!.body) as {request: {uid: string}}).request;
    t.is(refused.message, `Internal error occurred: failed calling webhook "hook.example.com": ${message.replace('UID', uid)}`);
    await t.notThrowsAsync(env.of(kinds.secrets).create({metadata: {name: 's', namespace: 'default'}}));
  });
}

const labelling =
  (label: string) =>
  ({object}: WebhookRequest) =>
    patching({
      op: 'add',
      path: '/metadata/labels',
      value: {...object?.metadata?.labels, [label]: String(Number(object?.metadata?.labels?.[label] ?? 0) + 1)},
    });

test('a webhook with reinvocation is called again after a later change', async t => {
  using env = await startWebhookEnvironment();
  await using first = await aHookServer(labelling('first'));
  await using second = await aHookServer(({object}) =>
    object?.metadata?.labels?.['second'] ? {allowed: true} : labelling('second')({object} as WebhookRequest),
  );
  await env.mutating('a', aHook(first, {reinvocationPolicy: 'IfNeeded'}));
  await env.mutating('b', aHook(second));
  const made = await env.of(kinds.configMaps).create(aConfigMap('c'));

  t.deepEqual(made.metadata?.labels, {first: '2', second: '1'});
  t.is(second.requested.length, 1);
});

test('a webhook without reinvocation, or after which nothing changed, is called once', async t => {
  using env = await startWebhookEnvironment();
  await using first = await aHookServer(labelling('first'));
  await using last = await aHookServer(labelling('last'));
  await env.mutating('a', aHook(first));
  await env.mutating('b', aHook(last, {reinvocationPolicy: 'IfNeeded'}));
  await env.of(kinds.configMaps).create(aConfigMap('c'));

  t.deepEqual([first.requested.length, last.requested.length], [1, 1]);
});

test('plugins before webhooks run again after a change, and their changes reach webhooks with reinvocation', async t => {
  const before = [
    {
      name: 'copies',
      admit({object}: AdmissionAttributes) {
        const labels = object?.metadata?.labels;
        if (labels?.['hook']) labels['copy'] = labels['hook'];
      },
    },
  ];
  using env = await startWebhookEnvironment({}, {before});
  await using server = await aHookServer(({object}) =>
    object?.metadata?.labels?.['hook'] ? {allowed: true} : patching({op: 'add', path: '/metadata/labels', value: {hook: 'yes'}}),
  );
  await env.mutating('m', aHook(server, {reinvocationPolicy: 'IfNeeded'}));
  const made = await env.of(kinds.configMaps).create(aConfigMap('c'));

  t.deepEqual(made.metadata?.labels, {hook: 'yes', copy: 'yes'});
  t.is(server.requested.length, 2);
});

const attributesOf = (more: Partial<AdmissionAttributes> = {}) => {
  const warnings: string[] = [];
  const notes = new Map<string, string>();
  const attributes: AdmissionAttributes = {
    operation: 'CREATE',
    group: '',
    version: 'v1',
    resource: 'configmaps',
    subresource: '',
    kind: 'ConfigMap',
    namespaced: true,
    namespace: 'default',
    name: 'c',
    object: {metadata: {name: 'c', namespace: 'default'}},
    user: {name: 'jane', groups: []},
    dryRun: false,
    warn: text => void warnings.push(text),
    annotate: (key, text) => void notes.set(key, text),
    ...more,
  };
  return {attributes, warnings, notes};
};

/** A request whose caller waits until then. */
const until = (deadlineAt: number) => ({deadlineAt, info: {query: new URLSearchParams()}, signal: new AbortController().signal});

test('audit annotations, warnings and patches of webhooks are returned', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => ({
    ...patching({op: 'add', path: '/metadata/labels', value: {a: 'b'}}),
    warnings: ['mind', '', 'bad\nline'],
    auditAnnotations: {why: 'so'},
  }));
  await using gone = await aHookServer();
  await gone.webhook.close();
  await env.mutating('m', aHook(server), aHook(gone, {name: 'gone.example.com', failurePolicy: 'Ignore'}));
  await env.validating('v', aHook(gone, {name: 'gone.example.com', failurePolicy: 'Ignore'}));
  const {attributes, warnings, notes} = attributesOf();
  const [admitting, validating] = env.plugins;

  t.is(await admitting!.admit!(attributes), 'again');
  await validating!.validate!(attributes);
  t.deepEqual(warnings, ['mind']);
  const group = words.group('admission');
  t.deepEqual([...notes].sort(), [
    [`failed-open.mutation.webhook.${group}/round_0_index_1`, 'gone.example.com'],
    [`failed-open.validating.webhook.${group}/round_0_index_0`, 'gone.example.com'],
    ['hook.example.com/why', 'so'],
    [`mutation.webhook.${group}/round_0_index_0`, '{"configuration":"m","webhook":"hook.example.com","mutated":true}'],
    [`mutation.webhook.${group}/round_0_index_1`, '{"configuration":"m","webhook":"gone.example.com","mutated":false}'],
    [
      `patch.webhook.${group}/round_0_index_0`,
      '{"configuration":"m","webhook":"hook.example.com","patch":[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}],"patchType":"JSONPatch"}',
    ],
  ]);
});

test('no webhook is called for a request that has been cancelled', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating('v', aHook(server));
  await env.mutating('m', aHook(server));
  const [admitting, validating] = env.plugins;
  const {attributes} = attributesOf({original: until(env.clock.monotonic())});

  for (const act of [() => admitting!.admit!(attributes), () => validating!.validate!(attributes)]) {
    t.like(await refusal((async () => act())()), {
      code: 504,
      reason: 'Timeout',
      message: 'Timeout: request did not complete within requested timeout',
    });
  }
  t.is(server.requested.length, 0);
});

test('a webhook has no more time than is left of the request', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating('v', aHook(server));
  const {attributes} = attributesOf({original: until(env.clock.monotonic() + 3200)});
  await env.plugins[1]!.validate!(attributes);

  t.is(server.webhook.seen[0]!.url, '/?timeout=4s');
});

for (const sideEffects of ['Some', 'Unknown']) {
  test(`a webhook with side effects ${sideEffects}, as old configurations may have, fails a dry run`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    await env.validating('v', aHook(server));
    await env.rewriteValidating('v', hook => {
      hook.sideEffects = sideEffects;
    });

    t.like(await refusal(env.of(kinds.configMaps).create(aConfigMap('c'), {dryRun: ['All']} as never)), {
      code: 400,
      reason: 'BadRequest',
      message: 'admission webhook "hook.example.com" does not support dry run',
    });
    t.is(server.requested.length, 0);
  });
}

test('a webhook cannot move an object to another place', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'replace', path: '/metadata/namespace', value: 'other'}));
  await env.mutating('m', aHook(server));

  t.like(await refusal(env.of(kinds.configMaps).create(aConfigMap('c'))), {
    code: 400,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  });
});

test('the timeout of a request bounds the timeout of its webhook calls', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating('v', aHook(server));
  const {post} = wire(env.server.handler);

  t.is((await post('/api/v1/namespaces/default/configmaps?timeout=3s', {metadata: {name: 'c'}})).status, 201);
  t.is(server.webhook.seen[0]!.url, '/?timeout=3s');
});

test('warnings of webhooks reach the caller, however they are written', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => ({allowed: true, warnings: ['a "quoted" – word', 'x'.repeat(5000)]}));
  await env.validating('v', aHook(server));
  const {post} = wire(env.server.handler);
  const made = await post('/api/v1/namespaces/default/configmaps', {metadata: {name: 'c'}});

  t.deepEqual(made.header('warning'), ['299 - "a \\"quoted\\" – word"', `299 - "${'x'.repeat(256)}"`]);
});

test('a webhook is not waited for any longer than its caller waits, and that is not counted against it', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const leaving = new AbortController();
  server.webhook.respond = () => leaving.abort();
  await env.validating('v', aHook(server));
  const {attributes} = attributesOf({original: {info: {query: new URLSearchParams()}, signal: leaving.signal}});
  const refused = await refusal((async () => env.plugins[1]!.validate!(attributes))());

  t.is(
    refused.message,
    `Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "${server.webhook.url}/?timeout=10s": context canceled`,
  );
  t.deepEqual(await env.metricLines('apiserver_admission_webhook_rejection_count'), []);
});
