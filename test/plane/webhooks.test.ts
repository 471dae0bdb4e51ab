import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {aHookServer, patching, type WebhookRequest} from '#test/apiserver/admission/webhook-environment.js';
import {begin, configurations, data, denied, patch, plane, post, put, remove} from './webhook-plane.js';

test.after.always(() => plane.stop());

const unwanted = ({object}: WebhookRequest) =>
  object?.metadata?.labels?.['unwanted'] || object?.data?.['unwanted']
    ? {allowed: false, status: {message: 'the object contains unwanted key'}}
    : {allowed: true};

test('a webhook refuses pods and config maps in any encoding, but not outside its rules', async t => {
  const {namespace, maps, map, register, hook} = await begin();
  await using server = await aHookServer(unwanted);
  await register('validating', 'deny', hook(server, ['pods', 'configmaps']));
  const text = 'admission webhook "hook.k8s.io" denied the request: the object contains unwanted key';

  denied(
    t,
    await post(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: {name: 'p', labels: {unwanted: 'yes'}},
      spec: {containers: [{name: 'c', image: 'i'}]},
    }),
    text,
  );
  denied(t, await map('m', {unwanted: 'yes'}), text);
  const made = await map('m', {fine: 'yes'});
  t.is(made.status, 201);
  denied(t, await put(`${maps}/m`, {...made.json<KubeObject>(), data: {unwanted: 'yes'}}), text);
  denied(t, await patch(`${maps}/m`, {data: {unwanted: 'yes'}}), text);
  const other = await begin();
  t.is((await other.map('m', {unwanted: 'yes'})).status, 201);
});

test('a webhook may refuse that a user attaches to a pod', async t => {
  const {namespace, register, hook} = await begin();
  await using server = await aHookServer(() => ({allowed: false, status: {message: 'attaching to pod is not allowed'}}));
  await post(`/api/v1/namespaces/${namespace}/pods`, {metadata: {name: 'p'}, spec: {containers: [{name: 'c', image: 'i'}]}});
  await register(
    'validating',
    'attach',
    hook(server, ['pods/attach'], {rules: [{operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/attach']}]}),
  );

  denied(t, await post(`/api/v1/namespaces/${namespace}/pods/p/attach?container=c&stdin=true`, {}), 'attaching to pod is not allowed');
  t.like(server.requested[0], {
    operation: 'CONNECT',
    subResource: 'attach',
    name: 'p',
    kind: {group: '', version: 'v1', kind: 'PodAttachOptions'},
    object: {kind: 'PodAttachOptions', container: 'c', stdin: true},
    oldObject: null,
    options: null,
  });
});

test('an eviction is sent as such, and may be refused', async t => {
  const {namespace, register, hook} = await begin();
  await using server = await aHookServer(() => ({allowed: false}));
  await post(`/api/v1/namespaces/${namespace}/pods`, {metadata: {name: 'p'}, spec: {containers: [{name: 'c', image: 'i'}]}});
  await register('validating', 'evict', hook(server, ['pods/eviction']));

  denied(
    t,
    await post(`/api/v1/namespaces/${namespace}/pods/p/eviction`, {kind: 'Eviction', apiVersion: 'policy/v1', metadata: {name: 'p'}}),
    'denied the request without explanation',
  );
  t.like(server.requested[0], {
    operation: 'CREATE',
    kind: {group: 'policy', version: 'v1', kind: 'Eviction'},
    resource: {group: '', version: 'v1', resource: 'pods'},
    subResource: 'eviction',
    object: {kind: 'Eviction', apiVersion: 'policy/v1'},
  });
});

test('a token request is sent with its default expiration', async t => {
  const {namespace, register, hook} = await begin();
  await using server = await aHookServer();
  await register('validating', 'token', hook(server, ['serviceaccounts/token']));

  t.is((await post(`/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, {spec: {audiences: ['api']}})).status, 201);
  t.like(server.requested[0], {
    subResource: 'token',
    kind: {kind: 'TokenRequest'},
    object: {spec: {audiences: ['api'], expirationSeconds: 3600}},
  });
});

const bodyOf = (version: string, properties: object, more: object = {}) => ({
  name: version,
  served: true,
  storage: true,
  schema: {openAPIV3Schema: {type: 'object', properties: {data: {type: 'object', ...properties}}}},
  ...more,
});

const anyData = {'x-kubernetes-preserve-unknown-fields': true};
const define = async (group: string, versions: readonly object[]) => {
  const answer = await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: {name: `things.${group}`},
    spec: {group, scope: 'Namespaced', names: {plural: 'things', kind: 'Thing'}, versions},
  });
  if (answer.status !== 201) throw new Error(answer.text);
  await plane.clock.drain();
};

test('custom resources can be refused when they are made, changed and deleted', async t => {
  const {namespace, register, hook} = await begin();
  const group = `${namespace}.example.com`;
  const things = `/apis/${group}/v1/namespaces/${namespace}/things`;
  await define(group, [bodyOf('v1', anyData)]);
  await using server = await aHookServer(({object, oldObject}) =>
    (object ?? (oldObject as WebhookRequest['object']))?.data?.['unwanted']
      ? {allowed: false, status: {message: 'the custom resource contains unwanted data'}}
      : {allowed: true},
  );
  const kept = await post(things, {apiVersion: `${group}/v1`, kind: 'Thing', metadata: {name: 'kept'}, data: {unwanted: 'yes'}});
  t.is(kept.status, 201, kept.text);
  await register(
    'validating',
    'things',
    hook(server, ['things'], {
      rules: [{operations: ['CREATE', 'UPDATE', 'DELETE'], apiGroups: [group], apiVersions: ['v1'], resources: ['things']}],
    }),
  );
  const text = 'the custom resource contains unwanted data';

  denied(t, await post(things, {apiVersion: `${group}/v1`, kind: 'Thing', metadata: {name: 'a'}, data: {unwanted: 'yes'}}), text);
  t.is((await post(things, {apiVersion: `${group}/v1`, kind: 'Thing', metadata: {name: 'a'}, data: {fine: 'yes'}})).status, 201);
  denied(t, await patch(`${things}/a`, {data: {unwanted: 'yes'}}, {headers: {'content-type': 'application/merge-patch+json'}}), text);
  denied(t, await remove(`${things}/kept`), text);
  await patch(`${things}/kept`, {data: {unwanted: null}}, {headers: {'content-type': 'application/merge-patch+json'}});
  t.is((await remove(`${things}/kept`)).status, 200);
});

test('an unreachable webhook that fails closed refuses everything it matches', async t => {
  const {map, register, hook} = await begin();
  await using server = await aHookServer();
  await server.webhook.close();
  await register('validating', 'closed', hook(server, ['configmaps'], {failurePolicy: 'Fail'}));
  const answer = await map('m');

  t.like(answer.json<Status>(), {status: 'Failure', code: 500, reason: 'InternalError'});
  t.regex(
    answer.json<Status>().message!,
    /^Internal error occurred: failed calling webhook "hook\.k8s\.io": failed to call webhook: Post "https:.*\/\?timeout=10s": dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/,
  );
});

const stage =
  (n: number) =>
  ({object}: WebhookRequest) =>
    object?.data?.[`mutation-${n - 1}`] ? patching({op: 'add', path: `/data/mutation-${n}`, value: 'yes'}) : {allowed: true};

test('config maps are changed by several webhooks one after another', async t => {
  const {map, register, hook} = await begin();
  await using server = await aHookServer();
  server.answer = request => stage(request.object?.data?.['mutation-1'] ? 2 : 1)(request);
  await register(
    'mutating',
    'maps',
    hook(server, ['configmaps'], {name: 'one.k8s.io'}),
    hook(server, ['configmaps'], {name: 'two.k8s.io'}),
  );

  t.deepEqual((await map('m', {'mutation-0': 'yes'})).json<{data: object}>().data, {
    'mutation-0': 'yes',
    'mutation-1': 'yes',
    'mutation-2': 'yes',
  });
});

test('changes of a webhook to a pod get defaults', async t => {
  const {namespace, register, hook} = await begin();
  await using server = await aHookServer(() =>
    patching({
      op: 'add',
      path: '/spec/initContainers',
      value: [{image: 'webhook-added-image', name: 'webhook-added-init-container', resources: {}}],
    }),
  );
  await register('mutating', 'pods', hook(server, ['pods']));
  const made = await post(`/api/v1/namespaces/${namespace}/pods`, {metadata: {name: 'p'}, spec: {containers: [{name: 'c', image: 'i'}]}});

  t.like(made.json<{spec: {initContainers: object[]}}>().spec.initContainers[0], {
    name: 'webhook-added-init-container',
    terminationMessagePolicy: 'File',
    terminationMessagePath: '/dev/termination-log',
    imagePullPolicy: 'Always',
  });
});

test('configurations of webhooks are neither changed nor kept from going by webhooks', async t => {
  const {namespace, register, hook} = await begin();
  await using server = await aHookServer(() => ({allowed: false}));
  const rules = [{operations: ['*'], apiGroups: ['admissionregistration.k8s.io'], apiVersions: ['*'], resources: ['*/*']}];
  const all = hook(server, [], {rules, namespaceSelector: {}});
  await register('validating', 'deny', all);
  await register('mutating', 'change', all);
  await register('validating', 'dummy', hook(server, ['none']));
  await register('mutating', 'dummy', hook(server, ['none']));

  for (const kind of ['validating', 'mutating'] as const)
    for (const name of ['dummy', kind === 'validating' ? 'deny' : 'change'])
      t.is((await remove(`${configurations(kind)}/${namespace}-${name}`)).status, 200);
  t.is(server.requested.length, 0);
});

test('webhooks change custom resources, whatever their stored version, and unknown fields are pruned', async t => {
  const {namespace, register, hook} = await begin();
  const group = `${namespace}.example.com`;
  await define(group, [
    bodyOf('v1', anyData),
    bodyOf('v2', {properties: {'mutation-0': {type: 'string'}, 'mutation-1': {type: 'string'}}}, {storage: false}),
  ]);
  await using server = await aHookServer();
  server.answer = request => stage(request.object?.data?.['mutation-1'] ? 2 : 1)(request);
  const rules = [{operations: ['CREATE', 'UPDATE'], apiGroups: [group], apiVersions: ['v1', 'v2'], resources: ['things']}];
  await register('mutating', 'things', hook(server, [], {rules, name: 'one.k8s.io'}), hook(server, [], {rules, name: 'two.k8s.io'}));
  const make = (version: string, name: string) =>
    post(`/apis/${group}/${version}/namespaces/${namespace}/things`, {
      apiVersion: `${group}/${version}`,
      kind: 'Thing',
      metadata: {name},
      data: {'mutation-0': 'yes'},
    });

  t.deepEqual(data(await make('v1', 'a')), {'mutation-0': 'yes', 'mutation-1': 'yes', 'mutation-2': 'yes'});
  t.deepEqual(data(await make('v2', 'b')), {'mutation-0': 'yes', 'mutation-1': 'yes'});
  t.deepEqual(
    server.requested.map(({object}) => object?.apiVersion),
    ['v1', 'v1', 'v2', 'v2'].map(version => `${group}/${version}`),
  );
});

test('a rule on one version of a custom resource matches the others, with converted objects', async t => {
  const {namespace, register, hook} = await begin();
  const group = `${namespace}.example.com`;
  await define(group, [bodyOf('v1', anyData, {storage: false}), bodyOf('v2', anyData)]);
  await using server = await aHookServer(() => patching({op: 'add', path: '/data/seen', value: 'yes'}));
  await register(
    'mutating',
    'things',
    hook(server, [], {rules: [{operations: ['CREATE'], apiGroups: [group], apiVersions: ['v1'], resources: ['things']}]}),
  );
  const made = await post(`/apis/${group}/v2/namespaces/${namespace}/things`, {
    apiVersion: `${group}/v2`,
    kind: 'Thing',
    metadata: {name: 'a'},
    data: {},
  });

  t.like(made.json<KubeObject>(), {apiVersion: `${group}/v2`, data: {seen: 'yes'}});
  t.like(server.requested[0], {
    kind: {group, version: 'v1', kind: 'Thing'},
    requestKind: {group, version: 'v2', kind: 'Thing'},
    object: {apiVersion: `${group}/v1`},
  });
});

test('definitions of custom resources can be refused', async t => {
  const {namespace, register, hook} = await begin();
  await using server = await aHookServer(({object}) =>
    object?.metadata?.labels?.['unwanted'] ? {allowed: false, status: {message: 'the crd contains unwanted label'}} : {allowed: true},
  );
  await register(
    'validating',
    'definitions',
    hook(server, ['customresourcedefinitions'], {objectSelector: {matchLabels: {unwanted: namespace}}}),
  );
  const group = `${namespace}.example.com`;
  const answer = await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: {name: `things.${group}`, labels: {unwanted: namespace}},
    spec: {group, scope: 'Namespaced', names: {plural: 'things', kind: 'Thing'}, versions: [bodyOf('v1', anyData)]},
  });

  denied(t, answer, 'the crd contains unwanted label');
});
