import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {ruleMatches, type Rule, type RuleSubject} from '#src/apiserver/admission/matching/rules.js';
import {refusal, words} from '#test/resources/environment.js';
import {json} from '#test/apiserver/webhook-server.js';
import {aHook, aHookServer, startWebhookEnvironment, patching, type MutatingHook} from './webhook-environment.js';
import {aConfigMap, api} from './webhook-requests.js';

const aRequest: RuleSubject = {
  operation: 'CREATE',
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  subresource: '',
  namespace: 'default',
  name: 'd',
};
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
  await env.validating(
    'v',
    aHook(server, {
      objectSelector: {matchLabels: {app: 'web'}},
      rules: [{operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
    }),
  );
  const {labels: _, ...metadata} = made.metadata!;
  const bare = await configMaps.update({...made, metadata});
  await configMaps.update({...bare, data: {a: '1'}});

  t.is(server.requested.length, 1);
});

test('a namespace is selected by the labels it gets, and by those it has when it goes', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  await env.validating(
    'v',
    aHook(server, {
      namespaceSelector: {matchLabels: {env: 'prod'}},
      rules: [{operations: ['CREATE', 'DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'], scope: 'Cluster'}],
    }),
  );
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
  await env.validating(
    'v',
    aHook(server, {rules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}] as never}),
  );

  await t.notThrowsAsync(env.of(kinds.validatingWebhookConfigurations).delete('v'));
  t.is(server.requested.length, 0);
});

test('a rule on another version of a resource matches, and the object is sent in that version', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer(({object}) =>
    object?.apiVersion === 'autoscaling/v1'
      ? patching({op: 'replace', path: '/spec/targetCPUUtilizationPercentage', value: 70})
      : {allowed: true},
  );
  const rules = [
    {operations: ['CREATE' as const], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers']},
  ];
  await env.mutating('m', aHook(server, {rules}), aHook(server, {name: 'exact.example.com', rules, matchPolicy: 'Exact'}));
  const made = await env.of(kinds.horizontalPodAutoscalers).create({
    metadata: {name: 'h', namespace: 'default'},
    spec: {
      maxReplicas: 3,
      scaleTargetRef: {kind: 'Deployment', name: 'd', apiVersion: 'apps/v1'},
      metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 50}}}],
    },
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
  await deployments.create({
    metadata: {name: 'd', namespace: 'default'},
    spec: {replicas: 1, selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'i'}]}}},
  } as never);
  await env.mutating(
    'm',
    aHook(server, {rules: [{operations: ['UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments/scale']}]}),
  );
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
  server.webhook.respond = (_, response) =>
    json(response, {
      response: {allowed: true, patch: Buffer.from('[{"op":"add","path":"/metadata/labels","value":{"old":"yes"}}]').toString('base64')},
    });
  await env.mutating('m', aHook(server, {admissionReviewVersions: ['v2', 'v1beta1']}));
  const made = await env.of(kinds.configMaps).create(aConfigMap('c'));

  t.is((JSON.parse(server.webhook.seen[0]!.body) as KubeObject).apiVersion, api('v1beta1'));
  t.is(made.metadata?.labels?.['old'], 'yes');
});

const conditions: readonly (readonly [expressions: readonly string[], requested: boolean])[] = [
  [["object.metadata.name == 'c'"], true],
  [["object.metadata.name == 'c'", "request.namespace != 'default'"], false],
  [
    ["request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && oldObject == null"],
    true,
  ],
  [
    [
      "request.userInfo.username == 'jane' && 'devs' in request.userInfo.groups && request.userInfo.extra['example.com/team'] == ['a', 'b']",
    ],
    true,
  ],
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
  [
    ['object.a == 1', 'object.b == 1'],
    `configmaps "c" is forbidden: [expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]`,
  ],
  [['object.a'], 'configmaps "c" is forbidden: compilation error: must evaluate to bool but got dyn'],
  [
    ['nothing'],
    /^configmaps "c" is forbidden: compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing'/,
  ],
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
