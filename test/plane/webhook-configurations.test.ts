import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {aHookServer, patching} from '#test/apiserver/admission/webhook-environment.js';
import {json, startWebhook} from '#test/apiserver/webhook-server.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane} from '#test/controllers/plane.js';
import {type Answered, begin, configurations, data, denied, get, patch, plane, post, put, remove} from './webhook-plane.js';

test.after.always(() => plane.stop());

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
