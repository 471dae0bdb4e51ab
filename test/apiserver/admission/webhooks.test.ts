import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {refusal, words} from '#test/resources/environment.js';
import {json} from '#test/apiserver/webhook-server.js';
import {wire} from '#test/apiserver/wire.js';
import {aHook, aHookServer, startWebhookEnvironment, patching, type WebhookRequest} from './webhook-environment.js';
import {aConfigMap, api} from './webhook-requests.js';

test('a webhook gets a complete admission review, and may patch the object', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() =>
    patching({op: 'add', path: '/metadata/labels', value: {seen: 'yes'}}, {op: 'add', path: '/data/b', value: '2'}),
  );
  await env.mutating('m', aHook(server));

  const made = await env.of(kinds.configMaps).create(aConfigMap('c', {data: {a: '1'}}), {fieldManager: 'me'});
  t.like(made, {metadata: {labels: {seen: 'yes'}}, data: {a: '1', b: '2'}});
  const {uid, object, ...request} = server.requested[0]!;
  t.regex(uid, /^[0-9a-f-]{36}$/);
  t.like(object, {kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'c', namespace: 'default'}, data: {a: '1'}});
  t.deepEqual(request as unknown, {
    kind: {group: '', version: 'v1', kind: 'ConfigMap'},
    resource: {group: '', version: 'v1', resource: 'configmaps'},
    requestKind: {group: '', version: 'v1', kind: 'ConfigMap'},
    requestResource: {group: '', version: 'v1', resource: 'configmaps'},
    name: 'c',
    namespace: 'default',
    operation: 'CREATE',
    userInfo: {username: 'jane', uid: 'u1', groups: ['devs', 'system:authenticated'], extra: {'example.com/team': ['a', 'b']}},
    oldObject: null,
    dryRun: false,
    options: {kind: 'CreateOptions', apiVersion: words.apiVersion('meta', 'v1'), fieldManager: 'me'},
  });
  t.like(JSON.parse(server.webhook.seen[0]!.body), {kind: 'AdmissionReview', apiVersion: words.apiVersion('admission', 'v1')});
});

test('a configuration is in force as soon as it is written, and no longer than it is there', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => ({allowed: false}));
  const configMaps = env.of(kinds.configMaps);
  await configMaps.create(aConfigMap('before'));
  await env.validating('v', aHook(server));

  t.is(
    (await refusal(configMaps.create(aConfigMap('c')))).message,
    'admission webhook "hook.example.com" denied the request without explanation',
  );
  await env.of(kinds.validatingWebhookConfigurations).delete('v');
  await t.notThrowsAsync(configMaps.create(aConfigMap('c')));
  t.is(server.requested.length, 1);
});

test('time spent in webhooks counts in the request latency, but not in its service level', async t => {
  const meter = new MetricsRegistry();
  using env = await startWebhookEnvironment({}, {meter});
  const {clock} = env;
  let laterMs = 0;
  const monotonic = clock.monotonic.bind(clock);
  clock.monotonic = () => monotonic() + laterMs;
  await using server = await aHookServer(() => {
    laterMs += 5000;
    return {allowed: true};
  });
  await env.mutating('m', aHook(server));
  await env.validating('v', aHook(server, {name: 'other.example.com'}));
  await env.of(kinds.configMaps).create(aConfigMap('a'));
  await env.of(kinds.configMaps).create(aConfigMap('b'), {dryRun: true});

  const lines = (await meter.exposition()).body.split('\n').filter(line => /resource="configmaps"/.test(line));
  const own = (name: string, labels: string) =>
    lines.filter(line => line.startsWith(`${name}{`) && line.includes(labels)).map(line => line.split('} ')[1]);
  t.deepEqual(own('apiserver_request_duration_seconds_sum', 'dry_run=""'), ['10']);
  t.deepEqual(own('apiserver_request_duration_seconds_sum', 'dry_run="All"'), ['10']);
  t.deepEqual(own('apiserver_request_sli_duration_seconds_sum', 'verb="POST"'), ['0']);
  t.deepEqual(own('apiserver_request_sli_duration_seconds_count', 'verb="POST"'), ['1']);
});

test('a webhook that cannot be reached fails the request or is skipped, by its failure policy, and is counted', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const {url} = server.webhook;
  await server.webhook.close();
  await env.mutating('m', aHook(server, {name: 'open.example.com', failurePolicy: 'Ignore'}));
  await t.notThrowsAsync(env.of(kinds.configMaps).create(aConfigMap('a')));
  await env.validating('v', aHook(server, {name: 'shut.example.com'}));
  const refused = await refusal(env.of(kinds.configMaps).create(aConfigMap('b')));

  const text = `failed calling webhook "shut.example.com": failed to call webhook: Post "${url}/?timeout=10s": dial tcp ${url.slice('https://'.length)}: connect: connection refused`;
  t.like(refused, {code: 500, reason: 'InternalError', message: `Internal error occurred: ${text}`, details: {causes: [{message: text}]}});
  t.deepEqual(await env.metricLines('apiserver_admission_webhook_fail_open_count'), [
    'apiserver_admission_webhook_fail_open_count{name="open.example.com",type="admit"} 2',
  ]);
  t.deepEqual(await env.metricLines('apiserver_admission_webhook_rejection_count'), [
    'apiserver_admission_webhook_rejection_count{name="shut.example.com",type="validating",operation="CREATE",error_type="calling_webhook_error",rejection_code="503"} 1',
  ]);
  t.deepEqual(await env.metricLines('apiserver_admission_webhook_request_total'), [
    'apiserver_admission_webhook_request_total{name="open.example.com",type="admit",operation="CREATE",code="503",rejected="false"} 2',
    'apiserver_admission_webhook_request_total{name="shut.example.com",type="validating",operation="CREATE",code="503",rejected="true"} 1',
  ]);
});

test('a missing service is named in the error', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating(
    'v',
    aHook(server, {clientConfig: {service: {namespace: 'ns', name: 'svc', path: '/check'}, caBundle: server.webhook.caBundle}}),
  );

  t.is(
    (await refusal(env.of(kinds.configMaps).create(aConfigMap('c')))).message,
    'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://svc.ns.svc:443/check?timeout=10s": service "svc" not found',
  );
});

test('mutating webhooks are called in the order of their configurations, each with the complete and pruned result of those before', async t => {
  using env = await startWebhookEnvironment();
  await using first = await aHookServer(() =>
    patching(
      {op: 'add', path: '/spec/template/spec/containers/0/ports', value: [{containerPort: 80}]},
      {op: 'add', path: '/spec/unknown', value: 1},
    ),
  );
  await using second = await aHookServer(() => patching({op: 'add', path: '/metadata/labels', value: {order: 'second'}}));
  const rules = [{operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments']}];
  await env.mutating('b', aHook(second, {rules}));
  await env.mutating('a', aHook(first, {rules}));
  const labels = {app: 'd'};
  const made = await env.of(kinds.deployments).create({
    metadata: {name: 'd', namespace: 'default'},
    spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'i'}]}}},
  } as never);

  const spec = (second.requested[0]!.object as {spec: {unknown?: unknown; template: {spec: {containers: {ports: object[]}[]}}}}).spec;
  t.deepEqual(spec.template.spec.containers[0]!.ports, [{containerPort: 80, protocol: 'TCP'}]);
  t.false('unknown' in spec);
  t.is(made.metadata?.labels?.['order'], 'second');
  t.is(first.requested.length, 1);
});

test('validating webhooks get the object as it will be stored, and are called in parallel', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  let waiting = 0;
  let release = () => {};
  const both = new Promise<void>(resolve => {
    release = resolve;
  });
  server.webhook.respond = async ({body}, response) => {
    const {request, ...rest} = JSON.parse(body) as {request: WebhookRequest};
    server.requested.push(request);
    if (++waiting === 2) release();
    await both;
    json(response, {...rest, response: {uid: request.uid, allowed: true}});
  };
  await env.validating('v', aHook(server), aHook(server, {name: 'other.example.com'}));
  await env.of(kinds.configMaps).create({metadata: {generateName: 'c-', namespace: 'default'}});

  const {name, object} = server.requested[0]!;
  t.regex(name!, /^c-.{5}$/);
  t.like(object, {metadata: {name: name!, namespace: 'default'}});
  t.truthy((object as {metadata: {uid?: string}}).metadata.uid);
});

test('a name that is still to be generated is left out', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.mutating('m', aHook(server));
  await env.of(kinds.configMaps).create({metadata: {generateName: 'c-', namespace: 'default'}});

  t.false('name' in server.requested[0]!);
});

test('updates, patches and deletions carry the old object and their options', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const all = [{operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}];
  const configMaps = env.of(kinds.configMaps);
  const made = await configMaps.create(aConfigMap('c', {data: {a: '1'}}));
  await configMaps.create(aConfigMap('d'));
  await env.validating('v', aHook(server, {rules: all as never}));
  await configMaps.update({...made, data: {a: '2'}});
  await configMaps.patch('c', {type: 'merge', patch: {data: {a: '3'}}} as never, {namespace: 'default'}).catch(() => undefined);
  await configMaps.delete('c', {namespace: 'default', propagationPolicy: 'Background'} as never);

  const [updated] = server.requested;
  t.like(updated, {
    operation: 'UPDATE',
    name: 'c',
    object: {data: {a: '2'}},
    oldObject: {data: {a: '1'}},
    options: {kind: 'UpdateOptions'},
  });
  t.is(versionOf(updated!), made.metadata?.resourceVersion);
  const deleted = server.requested.at(-1)!;
  t.like(deleted, {
    operation: 'DELETE',
    name: 'c',
    object: null,
    options: {kind: 'DeleteOptions', apiVersion: words.apiVersion('meta', 'v1'), propagationPolicy: 'Background'},
  });
  t.is((deleted['oldObject'] as {kind: string}).kind, 'ConfigMap');
});

const versionOf = ({object}: WebhookRequest): string | undefined => (object as KubeObject).metadata?.resourceVersion;

test('a mutating webhook gets the resource version of the request before preconditions are checked, a validating one the version that is replaced', async t => {
  using env = await startWebhookEnvironment();
  await using changing = await aHookServer();
  await using judging = await aHookServer();
  const configMaps = env.of(kinds.configMaps);
  const made = await configMaps.create(aConfigMap('c'));
  await env.mutating('m', aHook(changing, {rules: updates}));
  await env.validating('v', aHook(judging, {rules: updates}));
  await configMaps.update(aConfigMap('c', {data: {a: '1'}}));
  t.is((await refusal(configMaps.update(aConfigMap('c', {resourceVersion: '1'})))).reason, 'Conflict');

  t.deepEqual(changing.requested.map(versionOf), [undefined, '1']);
  t.deepEqual(judging.requested.map(versionOf), [made.metadata?.resourceVersion]);
});

const updates = [{operations: ['UPDATE' as const], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}];

test('an eviction calls webhooks for the eviction, and not for the deletion it makes', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const pods = env.of(kinds.pods);
  await pods.create({metadata: {name: 'p', namespace: 'default'}, spec: {containers: [{name: 'c', image: 'i'}]}});
  await env.validating(
    'v',
    aHook(server, {rules: [{operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods', 'pods/*']}]}),
  );
  await pods.create({apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name: 'p'}} as never, {
    namespace: 'default',
    subresource: 'eviction',
    name: 'p',
  });

  t.deepEqual(
    server.requested.map(({operation, ['subResource']: of}) => [operation, of]),
    [['CREATE', 'eviction']],
  );
  t.deepEqual((await pods.list({namespace: 'default'})).items, []);
});

test('a mutating webhook gets a new object with its defaults', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.mutating('m', aHook(server, {rules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods']}]}));
  await env.of(kinds.pods).create({metadata: {name: 'p', namespace: 'default'}, spec: {containers: [{name: 'c', image: 'i'}]}});

  t.deepEqual((server.requested[0]!.object as {status?: object}).status, {});
});

test('an answer may be YAML', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  server.webhook.respond = ({body}, response) => {
    const {uid} = (JSON.parse(body) as {request: {uid: string}}).request;
    response.end(`kind: AdmissionReview\napiVersion: ${api('v1')}\nresponse:\n  uid: ${uid}\n  allowed: true\n  warnings: [seen]\n`);
  };
  await env.validating('v', aHook(server));

  await t.notThrowsAsync(env.of(kinds.configMaps).create(aConfigMap('c')));
});

test('the outcome of webhooks is reported for each object of a deletecollection', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(({oldObject}) => ({allowed: (oldObject as KubeObject).metadata?.labels?.['keep'] === undefined}));
  const configMaps = env.of(kinds.configMaps);
  await configMaps.create(aConfigMap('a'));
  await configMaps.create(aConfigMap('b', {labels: {keep: 'yes'}}));
  await env.validating(
    'v',
    aHook(server, {rules: [{operations: ['DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}]}),
  );
  const refused = await refusal(configMaps.deleteCollection({namespace: 'default'} as never));

  t.is(refused.message, 'admission webhook "hook.example.com" denied the request without explanation');
  t.false('name' in server.requested[0]!);
  t.deepEqual(
    (await configMaps.list({namespace: 'default'})).items.map(({metadata}) => metadata?.name),
    ['b'],
  );
});

test('a change that a deletion is answered with is an error', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'add', path: '/data', value: {}}));
  const configMaps = env.of(kinds.configMaps);
  await configMaps.create(aConfigMap('a'));
  await env.mutating(
    'm',
    aHook(server, {rules: [{operations: ['DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}]}),
  );

  t.is(
    (await refusal(configMaps.delete('a', {namespace: 'default'}))).message,
    'Internal error occurred: admission webhook "hook.example.com" attempted to modify the object, which is not supported for this operation',
  );
});

const everything = [{operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}] as never;

test('a webhook for an action subresource gets the body that was sent', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.mutating('m', aHook(server, {rules: everything}));
  const {post} = wire(env.server.handler);
  const group = words.group('authorization');
  const made = await post(`/apis/${group}/v1/subjectaccessreviews`, {
    spec: {user: 'jane', nonResourceAttributes: {path: '/', verb: 'get'}},
  });

  t.is(made.status, 201, made.text);
  t.like(server.requested[0], {
    operation: 'CREATE',
    kind: {group, version: 'v1', kind: 'SubjectAccessReview'},
    object: {kind: 'SubjectAccessReview', spec: {user: 'jane'}, status: {allowed: false}},
  });
  t.false('namespace' in server.requested[0]!);
});

test('a webhook for a status update gets the status subresource, and its changes to other fields are dropped', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() =>
    patching({op: 'add', path: '/spec/finalizers', value: []}, {op: 'add', path: '/metadata/labels', value: {late: 'yes'}}),
  );
  const made = await env.of(kinds.namespaces).create({metadata: {name: 'n'}});
  await env.mutating(
    'm',
    aHook(server, {rules: [{operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces/status']}]}),
  );
  const {put} = wire(env.server.handler);
  const answer = await put('/api/v1/namespaces/n/status', {...made, status: {phase: 'Active'}});

  t.is(answer.status, 200, answer.text);
  t.like(server.requested[0], {subResource: 'status', namespace: 'n', name: 'n'});
  t.deepEqual(answer.json<{spec: object}>().spec, {finalizers: [words.namespaceFinalizer]});
});

test('a PUT that creates an object is sent as a creation', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating(
    'v',
    aHook(server, {
      rules: [{operations: ['*'], apiGroups: [words.group('coordination')], apiVersions: ['v1'], resources: ['leases']}] as never,
    }),
  );
  const {put} = wire(env.server.handler);
  const answer = await put(`/apis/${words.group('coordination')}/v1/namespaces/default/leases/l`, {metadata: {name: 'l'}});

  t.is(answer.status, 201, answer.text);
  t.like(server.requested[0], {operation: 'CREATE', oldObject: null, options: {kind: 'CreateOptions'}});
});

test('an object that a webhook gives a version is not created, and one whose version it removes is', async t => {
  using env = await startWebhookEnvironment();
  await using giving = await aHookServer(({name}) =>
    patching({op: name === 'sent' ? 'remove' : 'add', path: '/metadata/resourceVersion', ...(name === 'sent' ? {} : {value: '7'})}),
  );
  await env.mutating('x', aHook(giving));
  const {metadata, ...rest} = aConfigMap('sent');

  const {code, reason, message} = await refusal(env.of(kinds.configMaps).create(aConfigMap('c')));
  t.deepEqual([code, reason, message], [500, undefined, 'resourceVersion should not be set on objects to be created']);
  await t.notThrowsAsync(env.of(kinds.configMaps).create({...rest, metadata: {...metadata, resourceVersion: '7'}}));
});
