import test, {type ExecutionContext} from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {aHookServer, patching, type WebhookRequest, type HookServer} from '#test/apiserver/admission/webhook-environment.js';
import {json, startWebhook} from '#test/apiserver/webhook-server.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane} from '#test/controllers/plane.js';

/** One plane for all, with everything that is on by default. Each test has a namespace of its own, by whose labels its webhooks are held to it. */
const plane = await aPlane({naming: 'kubernetes', controllers: []});
test.after.always(() => plane.stop());
const {get, post, put, patch, remove} = wire(plane.api.handler);

type Answered = Awaited<ReturnType<typeof get>>;
type Kind = 'mutating' | 'validating';

const configurations = (kind: Kind): string => `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;

let count = 0;
const begin = async () => {
  const namespace = `hooks-${count++}`;
  await post('/api/v1/namespaces', {metadata: {name: namespace, labels: {hooks: namespace}}});
  await post(`/api/v1/namespaces/${namespace}/serviceaccounts`, {metadata: {name: 'default'}});
  const maps = `/api/v1/namespaces/${namespace}/configmaps`;
  return {
    namespace,
    maps,
    map: (name: string, data: Record<string, string> = {}) => post(maps, {metadata: {name}, data}),
    /** Puts webhooks into force in this namespace alone. */
    async register(kind: Kind, name: string, ...webhooks: readonly object[]) {
      const answer = await post(configurations(kind), {metadata: {name: `${namespace}-${name}`, labels: {of: namespace}}, webhooks});
      if (answer.status !== 201) throw new Error(answer.text);
      return answer;
    },
    hook: ({webhook}: HookServer, resources: readonly string[], more: object = {}) => ({
      name: 'hook.k8s.io',
      clientConfig: {url: webhook.url, caBundle: webhook.caBundle},
      rules: [{operations: ['CREATE', 'UPDATE'], apiGroups: ['*'], apiVersions: ['*'], resources}],
      namespaceSelector: {matchLabels: {hooks: namespace}},
      sideEffects: 'None',
      admissionReviewVersions: ['v1', 'v1beta1'],
      ...more,
    }),
  };
};

const denied = (t: ExecutionContext, answer: Answered, message: string): void => {
  t.true(answer.status >= 400, answer.text);
  t.true(answer.json<Status>().message?.includes(message), answer.text);
};

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

test('a webhook may refuse that somebody attaches to a pod', async t => {
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

const data = (answer: Answered): object => answer.json<{data: object}>().data;

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

for (const kind of ['validating', 'mutating'] as const) {
  const isCalled = kind === 'validating' ? 'a refusal' : 'a change';
  const answer = () => (kind === 'validating' ? {allowed: false} : patching({op: 'add', path: '/data', value: {changed: 'yes'}}));
  const isInForce = (made: Answered) =>
    kind === 'validating' ? made.status === 400 : made.json<{data?: {changed?: string}}>().data?.changed === 'yes';

  test(`a ${kind} configuration that is put or patched means ${isCalled} from then on, or no more`, async t => {
    const {namespace, map, register, hook} = await begin();
    await using server = await aHookServer(answer);
    const made = await register(kind, 'x', hook(server, ['configmaps']));
    const address = `${configurations(kind)}/${namespace}-x`;
    const configuration = made.json<KubeObject & {webhooks: {rules: {operations: string[]}[]}[]}>();
    t.true(isInForce(await map('a')));
    configuration.webhooks[0]!.rules[0]!.operations = ['UPDATE'];
    t.is((await put(address, configuration)).status, 200);
    t.false(isInForce(await map('b')));
    const patched = await patch(address, [{op: 'replace', path: '/webhooks/0/rules/0/operations', value: ['CREATE']}], {
      headers: {'content-type': 'application/json-patch+json'},
    });
    t.is(patched.status, 200);
    t.true(isInForce(await map('c')));
  });

  test(`${kind} configurations are listed by their labels, and deleted together mean ${isCalled} no more`, async t => {
    const {namespace, map, register, hook} = await begin();
    await using server = await aHookServer(answer);
    for (const name of ['a', 'b', 'c']) await register(kind, name, hook(server, ['configmaps']));
    const selected = `${configurations(kind)}?labelSelector=of%3D${namespace}`;

    t.is((await get(selected)).json<{items: object[]}>().items.length, 3);
    t.true(isInForce(await map('a')));
    t.is((await remove(selected)).status, 200);
    t.false(isInForce(await map('b')));
  });
}

test('discovery lists the configurations of webhooks', async t => {
  const names = (answer: Answered, field: string) => answer.json<Record<string, {name: string}[]>>()[field]!.map(({name}) => name);

  t.true(names(await get('/apis'), 'groups').includes('admissionregistration.k8s.io'));
  t.true((await get('/apis/admissionregistration.k8s.io')).text.includes('"groupVersion":"admissionregistration.k8s.io/v1"'));
  const resources = names(await get('/apis/admissionregistration.k8s.io/v1'), 'resources');
  for (const kind of ['mutating', 'validating']) t.true(resources.includes(`${kind}webhookconfigurations`));
});

const services = async (namespace: string, externalName: string) => {
  const made = await post(`/api/v1/namespaces/${namespace}/services`, {
    metadata: {name: 'hooks'},
    spec: {type: 'ExternalName', externalName},
  });
  if (made.status !== 201) throw new Error(made.text);
};

test('a webhook is found behind a service, and must be known by its name there', async t => {
  const {namespace, map, register, hook} = await begin();
  await using server = await aHookServer(() => patching({op: 'add', path: '/data', value: {found: 'yes'}}), {
    hosts: [`hooks.${namespace}.svc`],
  });
  await services(namespace, 'localhost');
  const clientConfig = {service: {namespace, name: 'hooks', path: '/change', port: server.webhook.port}, caBundle: server.webhook.caBundle};
  await register('mutating', 'service', hook(server, ['configmaps'], {clientConfig}));

  t.deepEqual(data(await map('m')), {found: 'yes'});
  t.is(server.webhook.seen[0]!.url, '/change?timeout=10s');
});

test('a webhook whose address is this server is called in process', async t => {
  const {map, register, hook} = await begin();
  await using server = await aHookServer();
  await register(
    'validating',
    'self',
    hook(server, ['configmaps'], {
      clientConfig: {service: {namespace: 'default', name: 'kubernetes', path: '/apis/none.example.com/v1/reviews'}},
    }),
  );
  const answer = await map('m');

  t.regex(answer.json<Status>().message!, /failed to call webhook: the server could not find the requested resource$/);
});

test('with aggregator routing webhooks are looked for behind the addresses of their services', async t => {
  await using routed = await aPlane({naming: 'kubernetes', controllers: [], apiserverArgs: ['--enable-aggregator-routing']});
  const there = wire(routed.api.handler);
  await there.post('/api/v1/namespaces/default/services', {metadata: {name: 'hooks'}, spec: {ports: [{port: 443}]}});
  const {hook} = await begin();
  await using server = await aHookServer();
  await there.post(configurations('validating'), {
    metadata: {name: 'v'},
    webhooks: [hook(server, ['configmaps'], {namespaceSelector: {}, clientConfig: {service: {namespace: 'default', name: 'hooks'}}})],
  });
  const answer = await there.post('/api/v1/namespaces/default/configmaps', {metadata: {name: 'm'}});

  t.regex(
    answer.json<Status>().message!,
    /Post "https:\/\/hooks\.default\.svc:443\/\?timeout=10s": no endpoints available for service "hooks"$/,
  );
});

for (const kind of ['validating', 'mutating'] as const) {
  test(`a ${kind} configuration keeps conditions, changed ones too, and is refused with one that is no expression`, async t => {
    const {namespace, register, hook} = await begin();
    await using server = await aHookServer();
    const conditions = [{name: 'expression-1', expression: "object.metadata.namespace == 'production'"}];
    const made = (await register(kind, 'x', hook(server, ['configmaps'], {matchConditions: conditions}))).json<
      KubeObject & {webhooks: {matchConditions: object[]}[]}
    >();
    t.deepEqual(made.webhooks[0]!.matchConditions, conditions);
    made.webhooks[0]!.matchConditions = [...conditions, {name: 'expression-2', expression: "object.metadata.namespace == 'staging'"}];
    t.is((await put(`${configurations(kind)}/${namespace}-x`, made)).json<typeof made>().webhooks[0]!.matchConditions.length, 2);
    const refused = await post(configurations(kind), {
      metadata: {name: `${namespace}-y`},
      webhooks: [hook(server, ['configmaps'], {matchConditions: [{name: 'invalid', expression: '... [] bad expression'}]})],
    });

    t.is(refused.status, 422);
    denied(t, refused, 'compilation failed');
  });
}

test('all objects are changed except those that the conditions exclude', async t => {
  const {map, register, hook} = await begin();
  await using server = await aHookServer(() => patching({op: 'add', path: '/data', value: {changed: 'yes'}}));
  await register(
    'mutating',
    'most',
    hook(server, ['configmaps'], {matchConditions: [{name: 'skip-me', expression: "object.metadata.name != 'skip-me'"}]}),
  );

  t.deepEqual(data(await map('m')), {changed: 'yes'});
  t.is((await map('skip-me')).json<{data?: object}>().data, undefined);
});

/** The converter of the official suite. */
const aConverter = () =>
  startWebhook(({body}, response) => {
    const {kind, apiVersion, request} = JSON.parse(body) as {
      kind: string;
      apiVersion: string;
      request: {uid: string; desiredAPIVersion: string; objects: {apiVersion: string; hostPort?: string; host?: string; port?: string}[]};
    };
    const convertedObjects = request.objects.map(({hostPort = '', host, port, ...object}) => {
      const [first, second] = hostPort.split(':');
      return {
        ...object,
        apiVersion: request.desiredAPIVersion,
        ...(request.desiredAPIVersion.endsWith('v2') ? {host: first, port: second} : {hostPort: `${host}:${port}`}),
      };
    });
    json(response, {kind, apiVersion, response: {uid: request.uid, convertedObjects, result: {status: 'Success'}}});
  });

type Endpoint = KubeObject & {hostPort?: string; host?: string; port?: string};

const converted = async (stored: 'v1' | 'v2', {url, caBundle}: {readonly url: string; readonly caBundle: string}, group: string) => {
  const fields = {v1: ['hostPort'], v2: ['host', 'port']};
  const versions = (['v1', 'v2'] as const).map(name => ({
    name,
    served: true,
    storage: name === stored,
    schema: {openAPIV3Schema: {type: 'object', properties: Object.fromEntries(fields[name].map(field => [field, {type: 'string'}]))}},
  }));
  const conversion = {
    strategy: 'Webhook',
    webhook: {clientConfig: {url: `${url}/crdconvert`, caBundle}, conversionReviewVersions: ['v1', 'v1beta1']},
  };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const answer =
    stored === 'v1'
      ? await post(path, {
          metadata: {name: `ends.${group}`},
          spec: {group, scope: 'Namespaced', names: {plural: 'ends', kind: 'End'}, versions, conversion},
        })
      : await patch(`${path}/ends.${group}`, {spec: {versions}}, {headers: {'content-type': 'application/merge-patch+json'}});
  if (answer.status >= 300) throw new Error(answer.text);
  await plane.clock.drain();
};

test('custom resources are converted from one version to another by a webhook, one and many, whatever version each is stored in', async t => {
  const {namespace} = await begin();
  await using webhook = await aConverter();
  const group = `${namespace}.convert.io`;
  await converted('v1', webhook, group);
  const at = (version: string) => `/apis/${group}/${version}/namespaces/${namespace}/ends`;
  t.is((await post(at('v1'), {apiVersion: `${group}/v1`, kind: 'End', metadata: {name: 'one'}, hostPort: 'localhost:8080'})).status, 201);
  t.like((await get(`${at('v2')}/one`)).json<Endpoint>(), {apiVersion: `${group}/v2`, host: 'localhost', port: '8080'});

  await converted('v2', webhook, group);
  t.is(
    (await post(at('v2'), {apiVersion: `${group}/v2`, kind: 'End', metadata: {name: 'two'}, host: 'localhost', port: '9090'})).status,
    201,
  );
  const listed = async (version: string) =>
    (await get(at(version)))
      .json<{items: Endpoint[]}>()
      .items.map(({apiVersion, hostPort, host, port}) => [apiVersion, hostPort ?? [host, port]]);
  t.deepEqual(await listed('v1'), [
    [`${group}/v1`, 'localhost:8080'],
    [`${group}/v1`, 'localhost:9090'],
  ]);
  t.deepEqual(await listed('v2'), [
    [`${group}/v2`, ['localhost', '8080']],
    [`${group}/v2`, ['localhost', '9090']],
  ]);
});
