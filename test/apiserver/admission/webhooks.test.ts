import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {ruleMatches, type Rule, type RuleSubject} from '#src/apiserver/admission/matching/rules.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {refusal, words} from '#test/resources/environment.js';
import {json} from '#test/apiserver/webhook-server.js';
import {wire} from '#test/apiserver/wire.js';
import {aHook, aHookServer, startWebhookEnvironment, patching, type WebhookRequest, type MutatingHook} from './webhook-environment.js';

const aConfigMap = (name: string, more: KubeObject['metadata'] & {data?: Record<string, string>} = {}) => {
  const {data = {}, ...metadata} = more;
  return {metadata: {name, namespace: 'default', ...metadata}, data};
};

const aRequest: RuleSubject = {operation: 'CREATE', group: 'apps', version: 'v1', resource: 'deployments', subresource: '', namespace: 'default', name: 'd'};
const aRule: Rule = {operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*']};

const ruleCases: readonly (readonly [rule: Partial<Rule>, subject: Partial<RuleSubject>, matches: boolean])[] = [
  [{}, {}, true],
  [{operations: ['CREATE', 'DELETE']}, {operation: 'DELETE'}, true],
  [{operations: ['CREATE', 'DELETE']}, {operation: 'UPDATE'}, false],
  [{apiGroups: ['apps']}, {}, true],
  [{apiGroups: ['']}, {}, false],
  [{apiVersions: ['v1beta1', 'v1']}, {}, true],
  [{apiVersions: ['v1beta1']}, {}, false],
  [{resources: ['deployments']}, {}, true],
  [{resources: ['deployments']}, {subresource: 'scale'}, false],
  [{resources: ['deployments/scale']}, {subresource: 'scale'}, true],
  [{resources: ['deployments/scale']}, {}, false],
  [{resources: ['deployments/*']}, {subresource: 'status'}, true],
  [{resources: ['deployments/*']}, {}, true],
  [{resources: ['*/scale']}, {subresource: 'scale'}, true],
  [{resources: ['*/scale']}, {subresource: 'status'}, false],
  [{resources: ['*']}, {subresource: 'status'}, false],
  [{resources: ['*/*']}, {subresource: 'status'}, true],
  [{resources: ['*/*']}, {}, true],
  [{scope: 'Namespaced'}, {}, true],
  [{scope: 'Cluster'}, {}, false],
  [{scope: 'Cluster'}, {namespace: ''}, true],
  [{scope: 'Namespaced'}, {namespace: ''}, false],
  [{scope: 'Cluster'}, {group: '', resource: 'namespaces'}, true],
  [{scope: 'Namespaced'}, {group: '', resource: 'namespaces'}, false],
  [{scope: '*'}, {namespace: ''}, true],
  [{resourceNames: ['d']}, {}, true],
  [{resourceNames: ['e']}, {}, false],
  [{operations: undefined}, {}, false],
];

for (const [rule, subject, matches] of ruleCases) {
  test(`a rule of ${JSON.stringify(rule)} is ${matches ? '' : 'not '}about ${JSON.stringify(subject)}`, t => {
    t.is(ruleMatches({...aRule, ...rule}, {...aRequest, ...subject}), matches);
  });
}

test('a webhook gets a complete admission review, and may patch the object', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'add', path: '/metadata/labels', value: {seen: 'yes'}}, {op: 'add', path: '/data/b', value: '2'}));
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

  t.is((await refusal(configMaps.create(aConfigMap('c')))).message, 'admission webhook "hook.example.com" denied the request without explanation');
  await env.of(kinds.validatingWebhookConfigurations).delete('v');
  await t.notThrowsAsync(configMaps.create(aConfigMap('c')));
  t.is(server.requested.length, 1);
});

const denials: readonly (readonly [status: object | undefined, expected: object])[] = [
  [undefined, {code: 400, message: 'admission webhook "hook.example.com" denied the request without explanation'}],
  [{message: 'because'}, {code: 400, message: 'admission webhook "hook.example.com" denied the request: because'}],
  [{reason: 'NotToday'}, {code: 400, reason: 'NotToday', message: 'admission webhook "hook.example.com" denied the request: NotToday'}],
  [{code: 403, reason: 'Forbidden', message: 'no', details: {causes: [{message: 'why', field: 'data'}]}}, {code: 403, reason: 'Forbidden', message: 'admission webhook "hook.example.com" denied the request: no', details: {causes: [{message: 'why', field: 'data'}]}}],
  [{code: 200, status: 'Success', message: 'fine'}, {code: 400, status: 'Failure', message: 'admission webhook "hook.example.com" denied the request: fine'}],
];

for (const [status, expected] of denials) {
  for (const kind of ['mutating', 'validating'] as const) {
    test(`a ${kind} webhook denies with ${JSON.stringify(status) ?? 'nothing'}`, async t => {
      using env = await startWebhookEnvironment();
      await using server = await aHookServer(() => ({allowed: false, ...(status ? {status} : {})}));
      await env[kind]('x', aHook(server));

      t.like(await refusal(env.of(kinds.configMaps).create(aConfigMap('c'))), {kind: 'Status', apiVersion: 'v1', status: 'Failure', ...expected});
    });
  }
}

type Reply = (uid: string) => object;
const api = (version: string) => words.apiVersion('admission', version);
const review = (response: object, more: object = {}): object => ({kind: 'AdmissionReview', apiVersion: api('v1'), response, ...more});

const invalidReplies: readonly (readonly [kind: 'mutating' | 'validating', reply: Reply, message: string])[] = [
  ['validating', () => ({kind: 'AdmissionReview', apiVersion: api('v1')}), 'received invalid webhook response: webhook response was absent'],
  ['validating', () => review({uid: 'other', allowed: true}), 'received invalid webhook response: expected response.uid="UID", got "other"'],
  ['validating', uid => ({response: {uid, allowed: true}}), `received invalid webhook response: expected webhook response of ${api('v1')}, Kind=AdmissionReview, got /, Kind=`],
  ['validating', uid => review({uid, allowed: true}, {apiVersion: api('v1beta1')}), 'failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion'],
  ['validating', uid => review({uid, allowed: true}, {kind: 'Other'}), `failed to call webhook: no kind "Other" is registered for version "${api('v1')}" in scheme "plat.io/apiserver/pkg/util/webhook/client.go:71"`],
  ['validating', () => [] as object, 'failed to call webhook: couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'],
  ['validating', uid => review({uid, allowed: true, patch: 'W10='}), 'received invalid webhook response: validating webhook may not return response.patch'],
  ['validating', uid => review({uid, allowed: true, patchType: 'JSONPatch'}), 'received invalid webhook response: validating webhook may not return response.patchType'],
  ['mutating', uid => review({uid, allowed: true, patch: 'W10='}), 'received invalid webhook response: webhook returned response.patch but not response.patchType'],
  ['mutating', uid => review({uid, allowed: true, patchType: 'JSONPatch'}), 'received invalid webhook response: webhook returned response.patchType but not response.patch'],
  ['mutating', uid => review({uid, allowed: true, patch: 'W10=', patchType: ''}), 'received invalid webhook response: webhook returned invalid response.patchType of ""'],
  ['mutating', uid => review({uid, allowed: true, patchType: 'Merge', patch: Buffer.from('[{"op":"add","path":"/data/a","value":"1"}]').toString('base64')}), 'unsupported patch type "Merge"'],
  ['mutating', uid => review({uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from('[1]').toString('base64')}), 'received undecodable patch in webhook response: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp'],
  ['mutating', uid => review({uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from('{}').toString('base64')}), 'received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch'],
  ['mutating', uid => review({uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from('oops').toString('base64')}), "received undecodable patch in webhook response: invalid character 'o' looking for beginning of value"],
];

for (const [kind, reply, message] of invalidReplies) {
  test(`an answer to a ${kind} webhook that is none fails the request, unless failures are ignored: ${message}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    server.webhook.respond = ({body}, response) => json(response, reply((JSON.parse(body) as {request: {uid: string}}).request.uid));
    await env[kind]('x', aHook(server), aHook(server, {name: 'open.example.com', failurePolicy: 'Ignore', rules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets']}]}));
    const refused = await refusal(env.of(kinds.configMaps).create(aConfigMap('c')));

    t.is(refused.code, 500);
    t.is(refused.reason, 'InternalError');
    const {uid} = (JSON.parse(server.webhook.seen[0]!.body) as {request: {uid: string}}).request;
    t.is(refused.message, `Internal error occurred: failed calling webhook "hook.example.com": ${message.replace('UID', uid)}`);
    await t.notThrowsAsync(env.of(kinds.secrets).create({metadata: {name: 's', namespace: 'default'}}));
  });
}

const brokenPatches: readonly (readonly [operation: object, message: RegExp])[] = [
  [{op: 'remove', path: '/data/none'}, /^Internal error occurred: error in remove for path: '\/data\/none': Unable to remove nonexistent key: none: missing value$/],
  [{op: 'add', path: '/none/a', value: '1'}, /^Internal error occurred: add operation does not apply: doc is missing path: "\/none\/a": missing value$/],
  [{op: 'test', path: '/data/a', value: '2'}, /^Internal error occurred: testing value \/data\/a failed: test failed$/],
  [{op: 'turn', path: '/data/a'}, /^Internal error occurred: Unexpected kind: turn$/],
  [{op: 'replace', path: '', value: null}, /^Internal error occurred: replace operation value must be object or array: %!w\(<nil>\)$/],
  [{op: 'replace', path: '/apiVersion', value: 'v2'}, /^Internal error occurred: no kind "ConfigMap" is registered for version "v2" in scheme "pkg\/api\/legacyscheme\/scheme.go:30"$/],
  [{op: 'replace', path: '/kind', value: 'Secret'}, /^Internal error occurred: converting \(v1\.Secret\) to \(core\.ConfigMap\): unknown conversion$/],
  [{op: 'replace', path: '/data', value: 'text'}, /^Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap\.data of type map\[string\]string$/],
];

for (const [operation, message] of brokenPatches) {
  test(`a patch that cannot be applied is the server's failure, whatever the failure policy: ${JSON.stringify(operation)}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer(() => patching(operation));
    await env.mutating('m', aHook(server, {failurePolicy: 'Ignore'}));

    t.regex((await refusal(env.of(kinds.configMaps).create(aConfigMap('c', {data: {a: '1'}})))).message!, message);
  });
}

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
  const own = (name: string, labels: string) => lines.filter(line => line.startsWith(`${name}{`) && line.includes(labels)).map(line => line.split('} ')[1]);
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
  t.deepEqual(await env.metricLines('apiserver_admission_webhook_fail_open_count'), ['apiserver_admission_webhook_fail_open_count{name="open.example.com",type="admit"} 2']);
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
  await env.validating('v', aHook(server, {clientConfig: {service: {namespace: 'ns', name: 'svc', path: '/check'}, caBundle: server.webhook.caBundle}}));

  t.is(
    (await refusal(env.of(kinds.configMaps).create(aConfigMap('c')))).message,
    'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://svc.ns.svc:443/check?timeout=10s": service "svc" not found',
  );
});

test('mutating webhooks are called in the order of their configurations, each with the complete and pruned result of those before', async t => {
  using env = await startWebhookEnvironment();
  await using first = await aHookServer(() => patching({op: 'add', path: '/spec/template/spec/containers/0/ports', value: [{containerPort: 80}]}, {op: 'add', path: '/spec/unknown', value: 1}));
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
  t.like(updated, {operation: 'UPDATE', name: 'c', object: {data: {a: '2'}}, oldObject: {data: {a: '1'}}, options: {kind: 'UpdateOptions'}});
  t.is(versionOf(updated!), made.metadata?.resourceVersion);
  const deleted = server.requested.at(-1)!;
  t.like(deleted, {operation: 'DELETE', name: 'c', object: null, options: {kind: 'DeleteOptions', apiVersion: words.apiVersion('meta', 'v1'), propagationPolicy: 'Background'}});
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
  await env.validating('v', aHook(server, {rules: [{operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods', 'pods/*']}]}));
  await pods.create({apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name: 'p'}} as never, {namespace: 'default', subresource: 'eviction', name: 'p'});

  t.deepEqual(server.requested.map(({operation, ['subResource']: of}) => [operation, of]), [['CREATE', 'eviction']]);
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
  await env.validating('v', aHook(server, {rules: [{operations: ['DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}]}));
  const refused = await refusal(configMaps.deleteCollection({namespace: 'default'} as never));

  t.is(refused.message, 'admission webhook "hook.example.com" denied the request without explanation');
  t.false('name' in server.requested[0]!);
  t.deepEqual((await configMaps.list({namespace: 'default'})).items.map(({metadata}) => metadata?.name), ['b']);
});

test('a change that a deletion is answered with is an error', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'add', path: '/data', value: {}}));
  const configMaps = env.of(kinds.configMaps);
  await configMaps.create(aConfigMap('a'));
  await env.mutating('m', aHook(server, {rules: [{operations: ['DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}]}));

  t.is(
    (await refusal(configMaps.delete('a', {namespace: 'default'}))).message,
    'Internal error occurred: admission webhook "hook.example.com" attempted to modify the object, which is not supported for this operation',
  );
});

for (const sideEffects of ['None', 'NoneOnDryRun']) {
  test(`a webhook with side effects ${sideEffects} is called on a dry run`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    await env.validating('v', aHook(server, {sideEffects}));
    await env.of(kinds.configMaps).create(aConfigMap('c'), {dryRun: ['All']} as never);

    t.is(server.requested[0]!['dryRun'], true);
    t.like(server.requested[0]!['options'], {dryRun: ['All']});
  });
}

const selections: readonly (readonly [hook: Partial<MutatingHook>, requested: readonly string[]])[] = [
  [{objectSelector: {matchLabels: {app: 'web'}}}, ['web']],
  [{objectSelector: {matchExpressions: [{key: 'app', operator: 'DoesNotExist'}]}}, ['plain', 'elsewhere']],
  [{namespaceSelector: {matchLabels: {env: 'prod'}}}, ['elsewhere']],
  [{namespaceSelector: {matchExpressions: [{key: words.labels.metadataName, operator: 'NotIn', values: ['prod']}]}}, ['plain', 'web']],
  [{}, ['plain', 'web', 'elsewhere']],
];

for (const [hook, requested] of selections) {
  test(`a webhook with ${JSON.stringify(hook)} is called for ${requested.join(', ')}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    await env.of(kinds.namespaces).create({metadata: {name: 'prod', labels: {env: 'prod', [words.labels.metadataName]: 'prod'}}});
    await env.validating('v', aHook(server, hook));
    const configMaps = env.of(kinds.configMaps);
    await configMaps.create(aConfigMap('plain'));
    await configMaps.create(aConfigMap('web', {labels: {app: 'web'}}));
    await configMaps.create(aConfigMap('elsewhere', {namespace: 'prod'}));

    t.deepEqual(
      server.requested.map(({name}) => name),
      requested,
    );
  });
}

test('an object selector matches the old or the new object', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const configMaps = env.of(kinds.configMaps);
  const made = await configMaps.create(aConfigMap('c', {labels: {app: 'web'}}));
  await env.validating('v', aHook(server, {objectSelector: {matchLabels: {app: 'web'}}, rules: [{operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}]}));
  const {labels: _, ...metadata} = made.metadata!;
  const bare = await configMaps.update({...made, metadata});
  await configMaps.update({...bare, data: {a: '1'}});

  t.is(server.requested.length, 1);
});

test('a namespace is selected by the labels it gets, and by those it has when it goes', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating('v', aHook(server, {namespaceSelector: {matchLabels: {env: 'prod'}}, rules: [{operations: ['CREATE', 'DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'], scope: 'Cluster'}]}));
  const namespaces = env.of(kinds.namespaces);
  await namespaces.create({metadata: {name: 'prod', labels: {env: 'prod'}}});
  await namespaces.create({metadata: {name: 'dev', labels: {env: 'dev'}}});
  await namespaces.delete('prod');
  await namespaces.delete('dev');

  t.deepEqual(
    server.requested.map(({operation, name, namespace}) => [operation, name, namespace]),
    [
      ['CREATE', 'prod', 'prod'],
      ['DELETE', 'prod', 'prod'],
    ],
  );
});

test('webhooks are not called for webhook configurations', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => ({allowed: false}));
  await env.validating('v', aHook(server, {rules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}] as never}));

  await t.notThrowsAsync(env.of(kinds.validatingWebhookConfigurations).delete('v'));
  t.is(server.requested.length, 0);
});

test('a rule on another version of a resource matches, and the object is sent in that version', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(({object}) => (object?.apiVersion === 'autoscaling/v1' ? patching({op: 'replace', path: '/spec/targetCPUUtilizationPercentage', value: 70}) : {allowed: true}));
  const rules = [{operations: ['CREATE' as const], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers']}];
  await env.mutating('m', aHook(server, {rules}), aHook(server, {name: 'exact.example.com', rules, matchPolicy: 'Exact'}));
  const made = await env.of(kinds.horizontalPodAutoscalers).create({
    metadata: {name: 'h', namespace: 'default'},
    spec: {maxReplicas: 3, scaleTargetRef: {kind: 'Deployment', name: 'd', apiVersion: 'apps/v1'}, metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 50}}}]},
  } as never);

  t.is(server.requested.length, 1);
  t.like(server.requested[0], {
    kind: {group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler'},
    resource: {version: 'v1'},
    requestKind: {version: 'v2'},
    requestResource: {version: 'v2'},
    object: {apiVersion: 'autoscaling/v1', spec: {targetCPUUtilizationPercentage: 50}},
  });
  t.like(made, {spec: {metrics: [{resource: {target: {averageUtilization: 70}}}]}});
});

test('a subresource of another kind is sent as that kind', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'replace', path: '/spec/replicas', value: 5}));
  const labels = {app: 'd'};
  const deployments = env.of(kinds.deployments);
  await deployments.create({metadata: {name: 'd', namespace: 'default'}, spec: {replicas: 1, selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'i'}]}}}} as never);
  await env.mutating('m', aHook(server, {rules: [{operations: ['UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments/scale']}]}));
  const scale = {kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: {name: 'd', namespace: 'default'}, spec: {replicas: 3}};
  const response = await env.server.handler({
    method: 'PUT',
    url: '/apis/apps/v1/namespaces/default/deployments/d/scale',
    headers: {'content-type': 'application/json'},
    caller: {user: env.jane},
    body: {kind: 'object', value: scale},
    signal: new AbortController().signal,
    inProcess: true,
  } as never);

  t.is(response.status, 200);
  t.like(server.requested[0], {
    kind: {group: 'autoscaling', version: 'v1', kind: 'Scale'},
    subResource: 'scale',
    requestSubResource: 'scale',
    resource: {group: 'apps', version: 'v1', resource: 'deployments'},
    object: {kind: 'Scale', apiVersion: 'autoscaling/v1', spec: {replicas: 3}},
  });
  t.is((await deployments.get('d', {namespace: 'default'})).spec?.replicas, 5);
});

test('a webhook with review version v1beta1 alone gets that version, and may leave out optional fields', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  server.webhook.respond = (_, response) => json(response, {response: {allowed: true, patch: Buffer.from('[{"op":"add","path":"/metadata/labels","value":{"old":"yes"}}]').toString('base64')}});
  await env.mutating('m', aHook(server, {admissionReviewVersions: ['v2', 'v1beta1']}));
  const made = await env.of(kinds.configMaps).create(aConfigMap('c'));

  t.is((JSON.parse(server.webhook.seen[0]!.body) as KubeObject).apiVersion, api('v1beta1'));
  t.is(made.metadata?.labels?.['old'], 'yes');
});

const labelling = (label: string) => ({object}: WebhookRequest) => patching({op: 'add', path: '/metadata/labels', value: {...object?.metadata?.labels, [label]: String(Number(object?.metadata?.labels?.[label] ?? 0) + 1)}});

test('a webhook with reinvocation is called again after a later change', async t => {
  using env = await startWebhookEnvironment();
  await using first = await aHookServer(labelling('first'));
  await using second = await aHookServer(({object}) => (object?.metadata?.labels?.['second'] ? {allowed: true} : labelling('second')({object} as WebhookRequest)));
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
  await using server = await aHookServer(({object}) => (object?.metadata?.labels?.['hook'] ? {allowed: true} : patching({op: 'add', path: '/metadata/labels', value: {hook: 'yes'}})));
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
  await using server = await aHookServer(() => ({...patching({op: 'add', path: '/metadata/labels', value: {a: 'b'}}), warnings: ['mind', '', 'bad\nline'], auditAnnotations: {why: 'so'}}));
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
    [`patch.webhook.${group}/round_0_index_0`, '{"configuration":"m","webhook":"hook.example.com","patch":[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}],"patchType":"JSONPatch"}'],
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
    t.like(await refusal((async () => act())()), {code: 504, reason: 'Timeout', message: 'Timeout: request did not complete within requested timeout'});
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

    t.like(await refusal(env.of(kinds.configMaps).create(aConfigMap('c'), {dryRun: ['All']} as never)), {code: 400, reason: 'BadRequest', message: 'admission webhook "hook.example.com" does not support dry run'});
    t.is(server.requested.length, 0);
  });
}

test('a webhook cannot move an object to another place', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'replace', path: '/metadata/namespace', value: 'other'}));
  await env.mutating('m', aHook(server));

  t.like(await refusal(env.of(kinds.configMaps).create(aConfigMap('c'))), {code: 400, message: 'the namespace of the provided object does not match the namespace sent on the request'});
});

const conditions: readonly (readonly [expressions: readonly string[], requested: boolean])[] = [
  [["object.metadata.name == 'c'"], true],
  [["object.metadata.name == 'c'", "request.namespace != 'default'"], false],
  [["request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && oldObject == null"], true],
  [["request.userInfo.username == 'jane' && 'devs' in request.userInfo.groups && request.userInfo.extra['example.com/team'] == ['a', 'b']"], true],
  [['!request.dryRun && request.options.kind.startsWith("Create") && !has(request.subResource)'], true],
  [["authorizer.requestResource.check('bypass').allowed() && authorizer.group('').resource('pods').check('get').reason() == ''"], true],
  [["authorizer.path('/a').check('get').allowed()"], false],
  // One that is false decides, whatever is wrong with others.
  [['object.none == 1', 'false'], false],
];

for (const [expressions, requested] of conditions) {
  test(`a webhook is ${requested ? '' : 'not '}called under the conditions ${expressions.join('; ')}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    await env.validating('v', aHook(server, {matchConditions: expressions.map((expression, i) => ({name: `c${i}`, expression}))}));
    await env.of(kinds.configMaps).create(aConfigMap('c'));

    t.is(server.requested.length, requested ? 1 : 0);
    t.is((await env.metricLines('apiserver_admission_match_condition_exclusions_total')).length, requested ? 0 : 1);
  });
}

const failing: readonly (readonly [expressions: readonly string[], message: string | RegExp])[] = [
  [['object.none == 1'], `configmaps "c" is forbidden: expression 'object.none == 1' resulted in error: no such key: none`],
  [['object.a == 1', 'object.b == 1'], `configmaps "c" is forbidden: [expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]`],
  [['object.a'], 'configmaps "c" is forbidden: compilation error: must evaluate to bool but got dyn'],
  [['nothing'], /^configmaps "c" is forbidden: compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing'/],
];

for (const [expressions, message] of failing) {
  test(`conditions that fail to evaluate follow the failure policy: ${expressions.join('; ')}`, async t => {
    using env = await startWebhookEnvironment();
    await using server = await aHookServer();
    const matchConditions = expressions.map((expression, i) => ({name: `c${i}`, expression}));
    // Expressions that do not compile are refused on write.
    const stored = async (failurePolicy: string) => {
      await env.validating('v', aHook(server, {failurePolicy, matchConditions: [{name: 'c', expression: 'true'}]}));
      await env.rewriteValidating('v', hook => {
        hook.matchConditions = matchConditions;
      });
    };
    await stored('Fail');
    const refused = await refusal(env.of(kinds.configMaps).create(aConfigMap('c')));
    t.is(refused.code, 403);
    if (typeof message === 'string') t.is(refused.message, message);
    else t.regex(refused.message!, message);
    await env.of(kinds.validatingWebhookConfigurations).delete('v');
    await stored('Ignore');
    await t.notThrowsAsync(env.of(kinds.configMaps).create(aConfigMap('c')));
    t.is(server.requested.length, 0);
  });
}

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

  t.is(refused.message, `Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "${server.webhook.url}/?timeout=10s": context canceled`);
  t.deepEqual(await env.metricLines('apiserver_admission_webhook_rejection_count'), []);
});

const everything = [{operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}] as never;

test('a webhook for an action subresource gets the body that was sent', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.mutating('m', aHook(server, {rules: everything}));
  const {post} = wire(env.server.handler);
  const group = words.group('authorization');
  const made = await post(`/apis/${group}/v1/subjectaccessreviews`, {spec: {user: 'jane', nonResourceAttributes: {path: '/', verb: 'get'}}});

  t.is(made.status, 201, made.text);
  t.like(server.requested[0], {operation: 'CREATE', kind: {group, version: 'v1', kind: 'SubjectAccessReview'}, object: {kind: 'SubjectAccessReview', spec: {user: 'jane'}}});
  t.false('namespace' in server.requested[0]!);
});

test('a webhook for a status update gets the status subresource, and its changes to other fields are dropped', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(() => patching({op: 'add', path: '/spec/finalizers', value: []}, {op: 'add', path: '/metadata/labels', value: {late: 'yes'}}));
  const made = await env.of(kinds.namespaces).create({metadata: {name: 'n'}});
  await env.mutating('m', aHook(server, {rules: [{operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces/status']}]}));
  const {put} = wire(env.server.handler);
  const answer = await put('/api/v1/namespaces/n/status', {...made, status: {phase: 'Active'}});

  t.is(answer.status, 200, answer.text);
  t.like(server.requested[0], {subResource: 'status', namespace: 'n', name: 'n'});
  t.deepEqual(answer.json<{spec: object}>().spec, {finalizers: [words.namespaceFinalizer]});
});

test('a PUT that creates an object is sent as a creation', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating('v', aHook(server, {rules: [{operations: ['*'], apiGroups: [words.group('coordination')], apiVersions: ['v1'], resources: ['leases']}] as never}));
  const {put} = wire(env.server.handler);
  const answer = await put(`/apis/${words.group('coordination')}/v1/namespaces/default/leases/l`, {metadata: {name: 'l'}});

  t.is(answer.status, 201, answer.text);
  t.like(server.requested[0], {operation: 'CREATE', oldObject: null, options: {kind: 'CreateOptions'}});
});
