import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Decision} from '#src/api/authorization.js';
import {refusal, words} from '#test/resources/environment.js';
import {startPolicyEnvironment, type ValidatingSpec} from './policy-environment.js';
import {by} from './policy-denials.js';

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
