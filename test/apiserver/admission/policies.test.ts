import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Decision} from '#src/api/authorization.js';
import {refusal, words} from '#test/resources/environment.js';
import {configMaps, startPolicyEnvironment, type ValidatingSpec} from './policy-environment.js';

const by = (message: string) => `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${message}`;

test('a policy does nothing without a binding, and is in force with one as soon as that is written, and no longer', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({validations: [{expression: 'object.data.size() < 2'}]}, null);
  const large = {a: '1', b: '2'};
  await t.notThrowsAsync(env.configMap('unbound', large));
  await env.bind('b');

  t.like(await refusal(env.configMap('c', large)), {
    code: 422,
    reason: 'Invalid',
    message: `configmaps "c" is forbidden: ${by('failed expression: object.data.size() < 2')}`,
    details: {name: 'c', kind: 'configmaps', causes: [{message: by('failed expression: object.data.size() < 2')}]},
  });
  await t.notThrowsAsync(env.configMap('small', {a: '1'}));
  await env.of(kinds.validatingAdmissionPolicyBindings, env.admin).delete('b');
  await t.notThrowsAsync(env.configMap('c', large));
});

const request = words.apiVersion('meta', 'v1');

/** Expressions that are true of a config map `c` that jane makes with `data.a` 1, with the variables `n` and `m`. */
const truths: readonly string[] = [
  'object.data.a == "1" && object.metadata.name == "c" && object.kind == "ConfigMap" && object.apiVersion == "v1"',
  'oldObject == null',
  'request.operation == "CREATE" && request.name == "c" && request.namespace == "default" && !request.dryRun',
  'request.kind.kind == "ConfigMap" && request.resource.resource == "configmaps" && request.requestKind.version == "v1" && request.requestResource.group == ""',
  'request.userInfo.username == "jane" && "devs" in request.userInfo.groups && request.userInfo.extra["example.com/team"] == ["a", "b"]',
  `request.options.kind == "CreateOptions" && request.options.apiVersion == "${request}"`,
  '!has(request.subResource)',
  'namespaceObject.metadata.name == "default" && namespaceObject.status.phase == "Active"',
  'variables.n == 1 && variables.m == 2',
  'authorizer.group("").resource("configmaps").namespace("default").check("get").allowed()',
  '!authorizer.requestResource.check("delete").allowed()',
  'authorizer.requestResource.check("delete").reason() == "no: default/c"',
  'authorizer.path("/healthz").check("get").allowed()',
];

for (const expression of truths) {
  test(`it is true of a request: ${expression}`, async t => {
    const env = await startPolicyEnvironment({
      authorizer: {
        async authorize({verb, resource}): Promise<Decision> {
          await Promise.resolve();
          return verb === 'delete' ? {decision: 'deny', reason: `no: ${resource?.namespace}/${resource?.name}`} : {decision: 'allow'};
        },
      },
    });
    await env.validating({
      variables: [
        {name: 'n', expression: 'int(object.data.a)'},
        {name: 'm', expression: 'variables.n + 1'},
      ],
      validations: [{expression, messageExpression: '"not so"'}],
    });

    await t.notThrowsAsync(env.configMap('c', {a: '1'}));
  });
}

test('an update shows both objects, a deletion only the one that goes', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {
      resourceRules: [{operations: ['UPDATE', 'DELETE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
    },
    validations: [
      {
        expression: 'object == null ? oldObject.data.keep != "yes" : object.data.keep == oldObject.data.keep',
        message: 'keep what is to be kept',
      },
    ],
  });
  const maps = env.of(kinds.configMaps);
  await env.configMap('c', {keep: 'yes'});

  t.regex(
    (await refusal(maps.patch('c', 'merge', {data: {keep: 'no'}}, {namespace: 'default'}))).message!,
    /denied request: keep what is to be kept$/,
  );
  await t.notThrowsAsync(maps.patch('c', 'merge', {data: {other: 'x'}}, {namespace: 'default'}));
  t.regex((await refusal(maps.delete('c', {namespace: 'default'}))).message!, /denied request: keep what is to be kept$/);
  await env.configMap('d', {keep: 'no'});
  await t.notThrowsAsync(maps.delete('d', {namespace: 'default'}));
});

const messages: readonly (readonly [validation: Partial<NonNullable<ValidatingSpec['validations']>[number]>, message: string])[] = [
  [{}, 'failed expression: false'],
  [{expression: ' false '}, 'failed expression: false'],
  [{message: ' no '}, 'no'],
  [{message: 'no', messageExpression: '"no " + object.metadata.name'}, 'no c'],
  [{message: 'no', messageExpression: '"  "'}, 'no'],
  [{message: 'no', messageExpression: '"two\\nlines"'}, 'no'],
  [{message: 'no', messageExpression: 'string(object.data.missing)'}, 'no'],
  [{message: 'no', messageExpression: 'string(object.data.long)'}, 'no'],
  [{messageExpression: '"n: " + string(variables.n)'}, 'n: 1'],
];

for (const [validation, message] of messages) {
  test(`a denial has the message ${JSON.stringify(message)} for the validation ${JSON.stringify(validation)}`, async t => {
    const env = await startPolicyEnvironment();
    await env.validating({variables: [{name: 'n', expression: '1'}], validations: [{expression: 'false', ...validation}]});

    t.is((await refusal(env.configMap('c', {long: 'x'.repeat(6000)}))).message, `configmaps "c" is forbidden: ${by(message)}`);
  });
}

for (const [reason, code] of [
  ['Forbidden', 403],
  ['Invalid', 422],
  ['RequestEntityTooLarge', 413],
] as const) {
  test(`a validation may give the reason ${reason}`, async t => {
    const env = await startPolicyEnvironment();
    await env.validating({validations: [{expression: 'false', reason}]});

    t.like(await refusal(env.configMap('c')), {reason, code});
  });
}

test('failures are denied, warned of and audited as the actions of bindings request, for each validation', async t => {
  const env = await startPolicyEnvironment();
  await env.validating(
    {validations: [{expression: 'true'}, {expression: 'object.data.a == "1"', message: 'a is 1'}]},
    {validationActions: ['Warn', 'Audit']},
  );
  await env.configMap('c', {a: '2'});

  t.deepEqual(env.warnings, ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': a is 1"]);
  t.deepEqual(
    [...env.noted],
    [
      [
        `validation.policy.${words.group('admission')}/validation_failure`,
        '[{"message":"a is 1","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Warn","Audit"]}]',
      ],
    ],
  );
  t.deepEqual((await env.metricLines('apiserver_validating_admission_policy_check_total')).sort(), [
    'apiserver_validating_admission_policy_check_total{policy="p",policy_binding="b",error_type="invalid_error",enforcement_action="audit"} 1',
    'apiserver_validating_admission_policy_check_total{policy="p",policy_binding="b",error_type="invalid_error",enforcement_action="warn"} 1',
  ]);
});

const failures: readonly (readonly [name: string, spec: Partial<ValidatingSpec>, message: RegExp, errorType: string])[] = [
  [
    'a validation that fails',
    {validations: [{expression: 'object.data.missing == "x"'}]},
    /denied request: expression 'object\.data\.missing == "x"' resulted in error: no such key: missing$/,
    'invalid_error',
  ],
  [
    'a variable that fails',
    {variables: [{name: 'v', expression: 'object.data.missing'}], validations: [{expression: 'variables.v == "x"'}]},
    /denied request: expression 'variables\.v == "x"' resulted in error: composited variable "v" fails to evaluate: no such key: missing$/,
    'invalid_error',
  ],
  [
    'a condition that fails',
    {matchConditions: [{name: 'c', expression: 'object.data.missing == "x"'}], validations: [{expression: 'false'}]},
    /denied request: expression 'object\.data\.missing == "x"' resulted in error: no such key: missing$/,
    'invalid_error',
  ],
  [
    'a validation that costs too much',
    {
      validations: [
        {
          expression:
            '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f < 100))))))',
        },
      ],
    },
    /resulted in error: operation cancelled: actual cost limit exceeded$/,
    'invalid_error',
  ],
];

for (const [name, spec, message, errorType] of failures) {
  test(`${name} is a matter of the failure policy`, async t => {
    const env = await startPolicyEnvironment();
    await env.validating(spec);
    t.regex((await refusal(env.configMap('c', {a: '1'}))).message!, message);
    t.deepEqual(
      (await env.metricLines('apiserver_validating_admission_policy_check_total')).map(line =>
        /error_type="(.*?)",enforcement_action="(.*?)"/.exec(line)?.slice(1),
      ),
      [[errorType, 'deny']],
    );

    const open = await startPolicyEnvironment();
    await open.validating({failurePolicy: 'Ignore', ...spec});
    await t.notThrowsAsync(open.configMap('c', {a: '1'}));
  });
}

const costly =
  '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2].all(e, a+b+c+d+e < 100)))))';

test('all validations of a policy share a budget, and so do its conditions', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({validations: Array.from({length: 40}, () => ({expression: costly}))});
  t.is(
    (await refusal(env.configMap('c'))).message,
    `configmaps "c" is forbidden: ${by('validation failed due to running out of cost budget, no further validation rules will be run')}`,
  );

  const other = await startPolicyEnvironment();
  await other.validating({
    matchConditions: Array.from({length: 20}, (_, n) => ({name: `c${n}`, expression: costly})),
    validations: [{expression: 'true'}],
  });
  t.is(
    (await refusal(other.configMap('c'))).message,
    `configmaps "c" is forbidden: ${by('validation failed due to running out of cost budget, no further validation rules will be run')}`,
  );
});

test('a variable is worked out when it is named, and only once however often that is', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    variables: [
      {name: 'unused', expression: 'object.data.missing'},
      {name: 'much', expression: costly},
    ],
    // Worked out once more for each of these, it would not fit into the budget.
    validations: Array.from({length: 40}, () => ({expression: 'variables.much && variables.much'})),
  });

  await t.notThrowsAsync(env.configMap('c'));
});

test('conditions decide whether a policy is held against a request; one that is false does so even where another fails', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConditions: [
      {name: 'fails', expression: 'object.data.missing == "x"'},
      {name: 'not-exempt', expression: 'object.metadata.name != "exempt"'},
    ],
    validations: [{expression: 'false'}],
  });

  await t.notThrowsAsync(env.configMap('exempt', {a: '1'}));
  t.regex((await refusal(env.configMap('c', {a: '1'}))).message!, /no such key: missing/);
  t.deepEqual(await env.metricLines('apiserver_admission_match_condition_evaluation_errors_total'), [
    'apiserver_admission_match_condition_evaluation_errors_total{name="p",kind="policy",type="validate",operation="CREATE"} 2',
  ]);
});

test('annotations are noted under the name of the policy, from several parameters together, unless they are null or empty', async t => {
  const env = await startPolicyEnvironment();
  for (const name of ['one', 'two', 'three']) await env.configMap(name, {text: name === 'three' ? 'one' : name}, {labels: {params: 'yes'}});
  await env.validating(
    {
      paramKind: {apiVersion: 'v1', kind: 'ConfigMap'},
      auditAnnotations: [
        {key: 'texts', valueExpression: '" " + params.data.text'},
        {key: 'nothing', valueExpression: 'null'},
        {key: 'empty', valueExpression: '""'},
        {key: 'long', valueExpression: 'string(object.data.long)'},
      ],
    },
    {paramRef: {selector: {matchLabels: {params: 'yes'}}, parameterNotFoundAction: 'Deny'}},
  );
  await env.configMap('c', {long: 'x'.repeat(11_000)});

  t.deepEqual(new Set(env.noted.keys()), new Set(['p/texts', 'p/long']));
  t.is(env.noted.get('p/texts'), 'one, two');
  t.is(env.noted.get('p/long')!.length, 10 * 1024);
  t.regex(
    (await refusal(env.configMap('d'))).message!,
    /denied request: expression 'string\(object\.data\.long\)' resulted in error: no such key/,
  );
});

interface ParamCase {
  readonly title: string;
  readonly kind?: ValidatingSpec['paramKind'];
  readonly ref: object;
  /** The outcome of the request with `data.a` 1: nothing where it is allowed. */
  readonly message?: string;
}

const ofDefault = {apiVersion: 'v1', kind: 'ConfigMap'};
const notFound = 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
const paramCases: readonly ParamCase[] = [
  {
    title: 'by name in the namespace of the request',
    kind: ofDefault,
    ref: {name: 'limits', parameterNotFoundAction: 'Deny'},
    message: 'max is 0',
  },
  {title: 'by name in another namespace', kind: ofDefault, ref: {name: 'limits', namespace: 'other', parameterNotFoundAction: 'Deny'}},
  {title: 'that are missing and must not be', kind: ofDefault, ref: {name: 'missing', parameterNotFoundAction: 'Deny'}, message: notFound},
  {title: 'that are missing and may be', kind: ofDefault, ref: {name: 'missing', parameterNotFoundAction: 'Allow'}},
  {
    title: 'by a selector, of which each counts',
    kind: ofDefault,
    ref: {selector: {matchLabels: {limits: 'yes'}}, parameterNotFoundAction: 'Deny'},
    message: 'max is 0',
  },
  {
    title: 'by a selector that chooses nothing',
    kind: ofDefault,
    ref: {selector: {matchLabels: {limits: 'no'}}, parameterNotFoundAction: 'Deny'},
    message: notFound,
  },
  {
    title: 'of a kind for the whole cluster',
    kind: {apiVersion: 'v1', kind: 'Namespace'},
    ref: {name: 'other', parameterNotFoundAction: 'Deny'},
    message: 'max is 0',
  },
  {
    title: 'of a kind for the whole cluster in a namespace',
    kind: {apiVersion: 'v1', kind: 'Namespace'},
    ref: {name: 'other', namespace: 'default', parameterNotFoundAction: 'Deny'},
    message: 'failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
  },
];

for (const {title, kind, ref, message} of paramCases) {
  test(`parameters ${title}`, async t => {
    const env = await startPolicyEnvironment();
    await env.of(kinds.namespaces).create({metadata: {name: 'other', annotations: {max: '0'}}});
    await env.configMap('limits', {max: '0'}, {labels: {limits: 'yes'}});
    await env.configMap('wide', {max: '9'}, {labels: {limits: 'yes'}});
    await env.of(kinds.configMaps).create({metadata: {name: 'limits', namespace: 'other'}, data: {max: '9'}});
    const max = 'has(params.data) ? params.data.max : params.metadata.annotations.max';
    await env.validating(
      {
        ...(kind && {paramKind: kind}),
        variables: [{name: 'max', expression: max}],
        validations: [{expression: 'int(object.data.a) <= int(variables.max)', messageExpression: '"max is " + variables.max'}],
      },
      {paramRef: ref as never},
    );

    const made = env.configMap('c', {a: '1'});
    if (message === undefined) await t.notThrowsAsync(made);
    else t.is((await refusal(made)).message, `configmaps "c" is forbidden: ${by(message)}`);
  });
}

test('parameters come in the version that the policy names, with kind and apiVersion, and are null where a binding has none', async t => {
  const env = await startPolicyEnvironment();
  await env.of(kinds.horizontalPodAutoscalers).create({
    metadata: {name: 'h', namespace: 'default'},
    spec: {
      maxReplicas: 3,
      scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'x'},
      metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 70}}}],
    },
  });
  await env.validating(
    {
      paramKind: {apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler'},
      validations: [
        {
          expression:
            'params.apiVersion == "autoscaling/v1" && params.kind == "HorizontalPodAutoscaler" && params.spec.targetCPUUtilizationPercentage == 70',
        },
      ],
    },
    {paramRef: {name: 'h', parameterNotFoundAction: 'Deny'}},
  );
  await t.notThrowsAsync(env.configMap('c'));
  await env.bind('none');
  t.regex((await refusal(env.configMap('d'))).message!, /with binding 'none' denied request: .* no such key: apiVersion|no such overload/);
});

test('a kind of parameters that is not served is a matter of the failure policy', async t => {
  const env = await startPolicyEnvironment();
  await env.validating(
    {paramKind: {apiVersion: 'example.com/v1', kind: 'Limit'}, validations: [{expression: 'true'}]},
    {paramRef: {name: 'x', parameterNotFoundAction: 'Allow'}},
  );

  t.is(
    (await refusal(env.configMap('c'))).message,
    `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`,
  );
});

test('a binding narrows the match of a policy', async t => {
  const env = await startPolicyEnvironment();
  await env.of(kinds.namespaces).create({metadata: {name: 'free', labels: {free: 'yes'}}});
  await env.validating(
    {validations: [{expression: 'false'}]},
    {
      matchResources: {
        namespaceSelector: {matchExpressions: [{key: 'free', operator: 'DoesNotExist'}]},
        objectSelector: {matchExpressions: [{key: 'free', operator: 'DoesNotExist'}]},
        excludeResourceRules: [
          {operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], resourceNames: ['free']},
        ],
      },
    },
  );

  await t.notThrowsAsync(env.of(kinds.configMaps).create({metadata: {name: 'c', namespace: 'free'}}));
  await t.notThrowsAsync(env.configMap('c', {}, {labels: {free: ''}}));
  await t.notThrowsAsync(env.configMap('free'));
  await t.throwsAsync(env.configMap('d'));
});

test('an expression reads objects in the version that the policy matches, whichever version was sent', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {
      resourceRules: [{operations: ['CREATE'], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers']}],
    },
    validations: [
      {
        expression:
          'object.apiVersion == "autoscaling/v1" && object.spec.targetCPUUtilizationPercentage == 70 && request.resource.version == "v1" && request.requestResource.version == "v2"',
      },
    ],
    matchConditions: [{name: 'c', expression: 'request.resource.version == "v2" && object.apiVersion == "autoscaling/v1"'}],
  });
  const autoscaler = (name: string, averageUtilization: number) => ({
    metadata: {name, namespace: 'default'},
    spec: {
      maxReplicas: 3,
      scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'x'},
      metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}}}],
    },
  });

  await t.notThrowsAsync(env.of(kinds.horizontalPodAutoscalers).create(autoscaler('a', 70)));
  await t.throwsAsync(env.of(kinds.horizontalPodAutoscalers).create(autoscaler('b', 71)));
});

test('policies are evaluated in the order of their names, and so are bindings; the first denial is returned', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({validations: [{expression: 'false'}]}, null, 'q');
  await env.validating(
    {
      validations: [
        {expression: 'false', message: 'first'},
        {expression: 'false', message: 'second'},
      ],
    },
    null,
    'p',
  );
  await env.bind('a', {policyName: 'q'});
  await env.bind('c', {policyName: 'p'});
  await env.bind('b', {policyName: 'p'});

  t.is((await refusal(env.configMap('c'))).message, `configmaps "c" is forbidden: ${by('first')}`);
});

test('policies do not apply to policies, bindings and reviews', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {resourceRules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}]},
    validations: [{expression: 'false'}],
  });

  await t.throwsAsync(env.configMap('c'));
  await t.notThrowsAsync(env.of(kinds.selfSubjectAccessReviews).create({spec: {nonResourceAttributes: {path: '/', verb: 'get'}}} as never));
  await t.notThrowsAsync(env.of(kinds.selfSubjectReviews).create({} as never));
  await t.notThrowsAsync(
    env.validating({validations: [{expression: 'true'}]}, {}, 'other').catch(() => env.bind('other', {policyName: 'other'})),
  );
  await t.notThrowsAsync(env.of(kinds.validatingAdmissionPolicies as Kind, env.admin).delete('p'));
});

test('namespaces have no namespace of their own, and other objects have', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {
      resourceRules: [
        ...configMaps.resourceRules!,
        {operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces', 'nodes']},
      ],
    },
    validations: [
      {expression: '(namespaceObject == null) == (request.kind.kind != "ConfigMap")'},
      {expression: 'request.kind.kind != "Namespace" || request.namespace == request.name'},
    ],
  });

  await t.notThrowsAsync(env.configMap('c'));
  await t.notThrowsAsync(env.of(kinds.namespaces).create({metadata: {name: 'other'}}));
  await t.notThrowsAsync(env.of(kinds.nodes).create({metadata: {name: 'n'}}));
});
