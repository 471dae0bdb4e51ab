import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {testUpdates, testCreations, type Given} from './rule-table.js';
import {findings, startEnvironment, words} from './environment.js';
import {at, label1035, labelValue, name, oddSelector, rule, subdomain} from './admission-registrations.js';

const matching = {resourceRules: [rule()]};
const policy = (more: object): Given => ({spec: {matchConstraints: matching, validations: [{expression: 'true'}], ...more}});

testCreations(kinds.validatingAdmissionPolicies, [
  ['a usual one', policy({}), []],
  [
    'one about nothing',
    {spec: {}},
    [
      'spec.matchConstraints: Required value',
      'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
      'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
    ],
  ],
  ['one about no resources', policy({matchConstraints: {}}), ['spec.matchConstraints.resourceRules: Required value']],
  [
    'odd choices',
    policy({failurePolicy: 'A', matchConstraints: {...matching, matchPolicy: 'B', objectSelector: oddSelector}}),
    [
      'spec.failurePolicy: Unsupported value: "A": supported values: "Fail", "Ignore"',
      'spec.matchConstraints.matchPolicy: Unsupported value: "B": supported values: "Equivalent", "Exact"',
      `spec.matchConstraints.objectSelector.matchExpressions[0].values[0]: Invalid value: "@": ${labelValue}`,
    ],
  ],
  [
    'names that are none',
    policy({matchConstraints: {resourceRules: [rule({resourceNames: ['a/b', 'c', 'c']})], excludeResourceRules: [rule({operations: []})]}}),
    [
      'spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: "a/b": may not contain \'/\'',
      'spec.matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: "c"',
      'spec.matchConstraints.excludeResourceRules[0].operations: Required value',
    ],
  ],
  ['parameters of no kind', policy({paramKind: {}}), ['spec.paramKind.apiVersion: Required value', 'spec.paramKind.kind: Required value']],
  [
    'parameters of an odd kind',
    policy({paramKind: {apiVersion: 'A/1', kind: 'K_'}}),
    [
      `spec.paramKind.apiVersion: Invalid value: "A": ${subdomain}`,
      `spec.paramKind.apiVersion: Invalid value: "1": ${label1035}`,
      `spec.paramKind.kind: Invalid value: "K_": may have mixed case, but should otherwise match: ${label1035}`,
    ],
  ],
  [
    'parameters of no version',
    policy({paramKind: {apiVersion: 'a/', kind: 'K'}}),
    ['spec.paramKind.apiVersion: Invalid value: "a/": version must be specified'],
  ],
  [
    'parameters of too many groups',
    policy({paramKind: {apiVersion: 'a/b/c', kind: 'K'}}),
    ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  ],
  [
    'variables without names',
    policy({variables: [{}, {name: 'a-b', expression: '1'}, {name: 'for', expression: '1'}]}),
    [
      'spec.variables[0].name: Required value: name is not specified',
      'spec.variables[0].expression: Required value: expression is not specified',
      'spec.variables[1].name: Invalid value: "a-b": must be a valid CEL identifier',
      'spec.variables[2].name: Invalid value: "for": must be a valid CEL identifier',
    ],
  ],
  [
    'empty rules',
    policy({
      validations: [
        {expression: ' ', message: ' ', messageExpression: ' '},
        {expression: 'true', message: 'a\nb', reason: 'Unauthorized'},
      ],
    }),
    [
      'spec.validations[0].expression: Required value: expression is not specified',
      'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
      'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
      'spec.validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
      'spec.validations[1].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
  ],
  [
    'expressions that are none',
    {
      ...policy({
        paramKind: {apiVersion: 'v1', kind: 'ConfigMap'},
        variables: [
          {name: 'a', expression: '1 + "a"'},
          {name: 'b', expression: '[1]'},
          {name: 'c', expression: 'variables.d'},
          {name: 'd', expression: 'variables.b[0] + params.x'},
        ],
        validations: [
          {expression: 'variables.d == 1 && variables.a', messageExpression: '1'},
          {expression: 'variables.b == "a"', messageExpression: 'authorizer.path("a").check("get").reason()'},
          {expression: 'variables.b.matches("(")', messageExpression: 'string(variables.b[0]) + params.x'},
        ],
        auditAnnotations: [
          {key: 'a', valueExpression: ' 1 '},
          {key: 'b', valueExpression: 'null'},
          {key: 'c', valueExpression: '"x" + string(variables.b.size())'},
        ],
      }),
      metadata: {name: 'p'},
    },
    at('spec.', [
      'variables[0].expression: Invalid value: "1 + \\"a\\"": compilation failed: ERROR: <input>:1:3: found no matching overload for \'_+_\' applied to \'(int, string)\'\n | 1 + "a"\n | ..^',
      'variables[2].expression: Invalid value: "variables.d": compilation failed: ERROR: <input>:1:10: undefined field \'d\'\n | variables.d\n | .........^',
      'validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
      'validations[1].expression: Invalid value: "variables.b == \\"a\\"": compilation failed: ERROR: <input>:1:13: found no matching overload for \'_==_\' applied to \'(list(int), string)\'\n | variables.b == "a"\n | ............^',
      'validations[1].messageExpression: Invalid value: "authorizer.path(\\"a\\").check(\\"get\\").reason()": compilation failed: ERROR: <input>:1:1: undeclared reference to \'authorizer\' (in container \'\')\n | authorizer.path("a").check("get").reason()\n | ^',
      'validations[2].expression: Invalid value: "variables.b.matches(\\"(\\")": compilation failed: ERROR: <input>:1:20: found no matching overload for \'matches\' applied to \'list(int).(string)\'\n | variables.b.matches("(")\n | ...................^',
      'auditAnnotations[0].valueExpression: Invalid value: " 1 ": must evaluate to one of [string null_type] but got int',
    ]),
  ],
  [
    'expressions without variables',
    policy({validations: [{expression: 'variables.a == 1'}]}),
    [
      "spec.validations[0].expression: Invalid value: \"variables.a == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.a == 1\n | ^",
    ],
  ],
  [
    'notes without keys',
    {
      ...policy({auditAnnotations: [{}, {key: 'a', valueExpression: '"x"'}, {key: 'a', valueExpression: `"${'x'.repeat(5 * 1024)}"`}]}),
      metadata: {name: 'p'},
    },
    [
      'spec.auditAnnotations[0].key: Invalid value: "p/": name part must be non-empty',
      `spec.auditAnnotations[0].key: Invalid value: "p/": ${name}`,
      'spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
      'spec.auditAnnotations[2].valueExpression: Required value: must not exceed 5120 bytes in length',
      'spec.auditAnnotations[2].key: Duplicate value: "a"',
    ],
  ],
]);

testUpdates(kinds.validatingAdmissionPolicies, [
  [
    'warnings about nothing',
    policy({}),
    {status: {typeChecking: {expressionWarnings: [{}]}}},
    [
      'status.typeChecking.expressionWarnings[0].warning: Required value',
      'status.typeChecking.expressionWarnings[0].fieldRef: Required value',
    ],
    {subresource: 'status'},
  ],
]);

const binding = (more: object): Given => ({spec: {policyName: 'p', validationActions: ['Deny'], ...more}});
testCreations(kinds.validatingAdmissionPolicyBindings, [
  ['a usual one', binding({}), []],
  ['one of no policy', binding({policyName: ''}), ['spec.policyName: Required value']],
  [
    'odd actions',
    binding({validationActions: ['Deny', 'Warn', 'Deny', 'Odd']}),
    [
      'spec.validationActions[2]: Duplicate value: "Deny"',
      'spec.validationActions[3]: Unsupported value: "Odd": supported values: "Audit", "Deny", "Warn"',
      'spec.validationActions: Invalid value: ["Deny","Warn","Deny","Odd"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
  ],
  ['no actions', binding({validationActions: []}), ['spec.validationActions: Required value: at least one validation action is required']],
  [
    'parameters that are none',
    binding({paramRef: {}}),
    ['spec.paramRef: Required value: one of name or selector must be specified', 'spec.paramRef.parameterNotFoundAction: Required value'],
  ],
  [
    'parameters twice',
    binding({paramRef: {name: '.', selector: oddSelector, parameterNotFoundAction: 'Odd'}}),
    [
      'spec.paramRef.name: Invalid value: ".": may not be \'.\'',
      'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
      `spec.paramRef.selector.matchExpressions[0].values[0]: Invalid value: "@": ${labelValue}`,
      'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
      'spec.paramRef.parameterNotFoundAction: Unsupported value: "Odd": supported values: "Deny", "Allow"',
    ],
  ],
]);

const mutating = (more: object): Given => ({
  spec: {
    matchConstraints: matching,
    reinvocationPolicy: 'Never',
    mutations: [{patchType: 'JSONPatch', jsonPatch: {expression: '[JSONPatch{op: "test", path: "/a"}]'}}],
    ...more,
  },
});

for (const kind of [kinds.mutatingAdmissionPolicies, kinds.mutatingAdmissionPoliciesV1alpha1] as unknown as Kind<KubeObject>[]) {
  testCreations(kind, [
    ['a usual one', mutating({matchConstraints: {resourceRules: [rule({operations: ['CONNECT']})]}}), []],
    ['one without a reinvocation policy', mutating({reinvocationPolicy: undefined}), ['spec.reinvocationPolicy: Required value']],
    [
      'one that changes nothing',
      mutating({mutations: [], reinvocationPolicy: 'Odd'}),
      [
        'spec.mutations: Required value: mutations must contain at least one item',
        'spec.reinvocationPolicy: Unsupported value: "Odd": supported values: "IfNeeded", "Never"',
      ],
    ],
    [
      'one that changes what is deleted',
      mutating({matchConstraints: {resourceRules: [rule({operations: ['DELETE']})]}}),
      ['spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"'],
    ],
    [
      'changes that are none',
      mutating({
        variables: [{name: 'a', expression: 'object.spec'}],
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {expression: '[JSONPatch{op: "add", path: "/a/" + jsonpatch.escapeKey("b"), value: variables.a}]'},
          },
          {patchType: 'ApplyConfiguration', applyConfiguration: {expression: 'Object{spec: Object.spec{a: variables.a.b}}'}},
          {patchType: 'JSONPatch', jsonPatch: {expression: 'JSONPatch{op: "add", path: "/a"}'}},
          {patchType: 'JSONPatch', jsonPatch: {expression: '[JSONPatch{op: 1}]'}},
          {patchType: 'ApplyConfiguration', applyConfiguration: {expression: 'Object.spec{}'}},
          {patchType: 'ApplyConfiguration', applyConfiguration: {expression: 'Odd{}'}},
        ],
      }),
      at('spec.mutations', [
        '[2].jsonPatch.expression: Invalid value: "JSONPatch{op: \\"add\\", path: \\"/a\\"}": must evaluate to list(JSONPatch) but got JSONPatch',
        "[3].jsonPatch.expression: Invalid value: \"[JSONPatch{op: 1}]\": compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n | [JSONPatch{op: 1}]\n | .............^",
        '[4].applyConfiguration.expression: Invalid value: "Object.spec{}": must evaluate to Object but got Object.spec',
        "[5].applyConfiguration.expression: Invalid value: \"Odd{}\": compilation failed: ERROR: <input>:1:4: undeclared reference to 'Odd' (in container '')\n | Odd{}\n | ...^",
      ]),
    ],
    [
      'changes of no kind',
      mutating({
        mutations: [
          {},
          {patchType: 'Odd'},
          {patchType: 'JSONPatch', applyConfiguration: {expression: 'Object{}'}},
          {patchType: 'ApplyConfiguration', jsonPatch: {expression: '[]'}},
          {patchType: 'JSONPatch', jsonPatch: {expression: ' '}},
          {patchType: 'ApplyConfiguration', applyConfiguration: {}},
        ],
      }),
      at('spec.mutations', [
        '[0].patchType: Required value',
        '[1].patchType: Unsupported value: "Odd": supported values: "ApplyConfiguration", "JSONPatch"',
        '[2].jsonPatch: Required value: must be specified when patchType is JSONPatch',
        '[2].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
        '[3].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration',
        '[3].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
        '[4].jsonPatch.expression: Required value',
        '[5].applyConfiguration.expression: Required value',
      ]),
    ],
  ]);
}

testCreations(kinds.mutatingAdmissionPolicyBindings, [
  [
    'one about what is deleted',
    {spec: {policyName: 'P', matchResources: {resourceRules: [rule({operations: ['DELETE']})]}}},
    [
      `spec.policyName: Invalid value: "P": ${subdomain}`,
      'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ],
  ],
]);

const user = {name: 'jo', uid: 'u', groups: ['g', 'h'], extra: {k: ['v']}};
const shown = '&{jo u [g h] map[k:[v]]}';
const params = (more: object) => ({metadata: {name: 'b'}, ...binding({paramRef: {parameterNotFoundAction: 'Deny', ...more}})});

/** A server whose authorizer denies and records requests about parameters. */
const guarded = async () => {
  const requested: string[] = [];
  const env = await startEnvironment({
    authorizer: {
      authorize({user: who, verb, resource}) {
        if (who.name !== 'jo' || resource?.group === 'admissionregistration.plat.io') return {decision: 'allow'};
        requested.push([verb, resource?.group, resource?.version, resource?.resource, resource?.namespace, resource?.name].join(' '));
        return {decision: 'noOpinion'};
      },
    },
  });
  return {...env, requested};
};

test('the author of a policy must be able to read its parameters', async t => {
  const {of, requested} = await guarded();
  const policies = of(kinds.validatingAdmissionPolicies, user);
  const aPolicy = (paramKind: object, more: object = {}) => ({metadata: {name: 'p'}, ...policy({paramKind}), ...more}) as never;

  t.deepEqual(await findings(policies.create(aPolicy({apiVersion: 'v1', kind: 'ConfigMap'}))), [
    `spec.paramKind: Forbidden: user ${shown} must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)`,
  ]);
  await findings(policies.create(aPolicy({apiVersion: 'example.com/v2', kind: 'Odd'})));
  t.deepEqual(requested, ['get  v1 configmaps * *', 'get example.com v2 * * *']);

  const made = await of(kinds.validatingAdmissionPolicies, {...user, groups: ['system:masters']}).create(
    aPolicy({apiVersion: 'v1', kind: 'ConfigMap'}),
  );
  t.deepEqual(await findings(policies.update({...made, spec: {...made.spec, failurePolicy: 'Ignore'}})), []);
});

test('the author of a binding must be able to read its parameters', async t => {
  const {of, requested} = await guarded();
  const bindings = of(kinds.validatingAdmissionPolicyBindings, user);
  const refused = async (ref: object): Promise<string> =>
    ((await findings(bindings.create(params(ref) as never)))[0] ?? '').replace(shown, 'X');
  const lacks = (verb: string) =>
    `to determine minimum required permissions and user X does not have "${verb}" permission for all groups, versions and resources`;

  t.is(await refused({name: 'c'}), `spec.paramRef: Forbidden: unable to get policy p ${lacks('get')}`);
  const policies = of(kinds.validatingAdmissionPolicies);
  const made = await policies.create({metadata: {name: 'p'}, ...policy({paramKind: {apiVersion: 'example.com/v2', kind: 'Odd'}})} as never);
  t.is(await refused({selector: {}}), `spec.paramRef: Forbidden: unable to resolve paramKind &{example.com/v2 Odd} ${lacks('list')}`);
  await policies.update({...made, spec: {...made.spec, paramKind: {apiVersion: 'v1', kind: 'ConfigMap'}}});
  t.is(
    await refused({name: 'c', namespace: 'n'}),
    'spec.paramRef: Forbidden: user X does not have "get" permission on the object referenced by paramRef',
  );
  t.deepEqual(requested, ['get * * *  c', 'list example.com v2 *  ', 'get  v1 configmaps n c']);
});

test('the table of bindings shows where the parameters are', async t => {
  const {row} = await startEnvironment();
  const shownFor = async (paramRef: object) =>
    (await row(kinds.validatingAdmissionPolicyBindings, {spec: {paramRef}} as never))['ParamRef'];

  t.is(await shownFor({name: 'a'}), '*/a');
  t.is(await shownFor({name: 'a', namespace: 'n'}), 'n/a');
  t.is(await shownFor({namespace: 'n'}), '<unset>');
  t.is(
    await shownFor({selector: {matchLabels: {b: 'c', a: 'b'}, matchExpressions: [{key: 'k', operator: 'In', values: ['v', 'w']}]}}),
    '&LabelSelector{MatchLabels:map[string]string{a: b,b: c,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[v w],},},}',
  );
});

/** A long expression, and as many short ones as an object may have. */
const longExpression = Array.from({length: 1500}, () => 'has(object.data)').join('&&');
const conditions = Array.from({length: 60}, (_, index) => ({name: `c${index}`, expression: `object.metadata.name != "${index}"`}));
const claimOf = (expression: string) => ({
  spec: {devices: {requests: [{name: 'r', exactly: {deviceClassName: 'c', selectors: [{cel: {expression}}]}}]}},
});

for (const [title, kind, object] of [
  ['a policy', kinds.validatingAdmissionPolicies, policy({validations: [{expression: longExpression}]})],
  ['variables of a policy', kinds.validatingAdmissionPolicies, policy({variables: [{name: 'v', expression: longExpression}]})],
  ['conditions of a policy', kinds.validatingAdmissionPolicies, policy({matchConditions: conditions})],
  [
    'a mutating policy',
    kinds.mutatingAdmissionPolicies,
    {spec: {mutations: [{patchType: 'JSONPatch', jsonPatch: {expression: `${longExpression} ? [] : []`}}]}},
  ],
  ['a webhook', kinds.validatingWebhookConfigurations, {webhooks: [{name: 'a.b.c', matchConditions: conditions}]}],
  ['a claim to devices', kinds.resourceClaims, claimOf(Array.from({length: 400}, () => 'device.driver != "d"').join('&&'))],
  [
    'a class of devices',
    kinds.deviceClasses,
    {spec: {selectors: Array.from({length: 30}, () => ({cel: {expression: 'device.driver != "d"'}}))}},
  ],
] as const satisfies readonly (readonly [string, Kind, object])[]) {
  test(`the expressions of an object are compiled in steps: ${title}`, async t => {
    const {server} = await startEnvironment();
    const {definition} = server.registry.of(kind as Kind);
    await definition.ready?.(object as KubeObject);

    const found = [...(definition.main.validate?.(object as KubeObject, undefined, {gate: () => true, naming: words} as never) ?? [])];
    t.true(found.filter(one => one === undefined).length >= 5, `${found.length}`);
  });
}
