import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import {testUpdates, testCreations, keepsOnCreation, type Given} from './rule-table.js';
import {findings, startEnvironment} from './environment.js';

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const at = (path: string, texts: readonly string[]): string[] => texts.map(text => `${path}${text}`);

const hook = (more: object = {}) => ({
  name: 'a.example.com',
  clientConfig: {url: 'https://a.b/c'},
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
});
const hooks = (...list: object[]): Given => ({webhooks: list});
const ruled = (...rules: object[]): Given => hooks(hook({rules}));
const rule = (more: object = {}) => ({operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], ...more});
const calling = (service: object): Given => hooks(hook({clientConfig: {service}}));
const service = 'webhooks[0].clientConfig.service.';
const url = 'webhooks[0].clientConfig.url: ';
const form = '; desired format: https://host[/path]';
const called = (text: string): Given => hooks(hook({clientConfig: {url: text}}));
const oddSelector = {matchExpressions: [{key: 'a', operator: 'In', values: ['@']}]};

for (const kind of [kinds.validatingWebhookConfigurations, kinds.mutatingWebhookConfigurations] as unknown as Kind<KubeObject>[]) {
  testCreations(kind, [
    ['no address to call', {}, []],
    ['a usual one', hooks(hook({rules: [rule()]})), []],
    [
      'one without anything',
      hooks({}),
      at('webhooks[0].', [
        'name: Required value',
        'sideEffects: Required value: must specify one of None, NoneOnDryRun',
        'clientConfig: Required value: exactly one of url or service is required',
        'admissionReviewVersions: Required value: must specify one of v1, v1beta1',
      ]),
    ],
    [
      'short and odd names',
      hooks(hook({name: 'a.b'}), hook({name: 'A.b.c'})),
      [
        'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
        `webhooks[1].name: Invalid value: "A.b.c": ${subdomain}`,
      ],
    ],
    ['a name twice', hooks(hook(), hook()), ['webhooks[1].name: Duplicate value: "a.example.com"']],
    [
      'rules about nothing',
      ruled({}),
      at('webhooks[0].rules[0].', [
        'operations: Required value',
        'apiGroups: Required value',
        'apiVersions: Required value',
        'resources: Required value',
      ]),
    ],
    [
      'rules about everything and more',
      ruled(rule({operations: ['*', 'CREATE', 'Odd'], apiGroups: ['*', 'a'], apiVersions: ['*', ''], scope: 'Odd'})),
      at('webhooks[0].rules[0].', [
        'operations: Invalid value: ["*","CREATE","Odd"]: if \'*\' is present, must not specify other operations',
        'operations[2]: Unsupported value: "Odd": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
        'apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other API groups',
        'apiVersions: Invalid value: ["*",""]: if \'*\' is present, must not specify other API versions',
        'apiVersions[1]: Required value',
        'scope: Unsupported value: "Odd": supported values: "*", "Cluster", "Namespaced"',
      ]),
    ],
    [
      'resources in several ways',
      ruled(
        rule({resources: ['a/*', 'a/b', '']}),
        rule({resources: ['*/a', 'b/a']}),
        rule({resources: ['*/*', 'a']}),
        rule({resources: ['*', 'a']}),
        rule({resources: ['*', '*/status']}),
      ),
      at('webhooks[0].rules', [
        '[0].resources[1]: Invalid value: "a/b": if \'a/*\' is present, must not specify a/b',
        '[0].resources[2]: Required value',
        '[1].resources[1]: Invalid value: "b/a": if \'*/a\' is present, must not specify b/a',
        '[2].resources: Invalid value: ["*/*","a"]: if \'*/*\' is present, must not specify other resources',
        '[3].resources: Invalid value: ["*","a"]: if \'*\' is present, must not specify other resources without subresources',
      ]),
    ],
    [
      'odd choices',
      hooks(hook({failurePolicy: 'A', matchPolicy: 'B', sideEffects: 'Some', timeoutSeconds: 31, namespaceSelector: oddSelector})),
      at('webhooks[0].', [
        'failurePolicy: Unsupported value: "A": supported values: "Fail", "Ignore"',
        'matchPolicy: Unsupported value: "B": supported values: "Equivalent", "Exact"',
        'sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        'timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
        `namespaceSelector.matchExpressions[0].values[0]: Invalid value: "@": ${labelValue}`,
      ]),
    ],
    [
      'a place and a service',
      hooks(hook({clientConfig: {url: 'https://a', service: {name: 'a', namespace: 'b'}}})),
      ['webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    ],
    ['a plain place', called('http://a'), [`${url}Invalid value: "http": 'https' is the only allowed URL scheme${form}`]],
    [
      'a place without a scheme',
      called('::1'),
      [`${url}Required value: url must be a valid URL: parse "::1": missing protocol scheme${form}`],
    ],
    ['a place without a host', called('https:///a'), [`${url}Invalid value: "": host must be specified${form}`]],
    [
      'a place with more than a path',
      called('https://u:p@a/b?c=d#e'),
      at(url, [
        'Invalid value: "u:p": user information is not permitted in the URL',
        'Invalid value: "e": fragments are not permitted in the URL',
        'Invalid value: "c=d": query parameters are not permitted in the URL',
      ]),
    ],
    ['a service without a name', calling({namespace: 'n'}), [`${service}namespace: Required value`]],
    [
      'a service of no namespace',
      calling({name: 'n', port: 70000}),
      [`${service}name: Required value`, `${service}port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive`],
    ],
    [
      'odd paths',
      hooks(
        ...['//', 'a', '/a//b/', '/A'].map((path, i) =>
          hook({name: `a${i}.b.c`, clientConfig: {service: {name: 'n', namespace: 'm', path}}}),
        ),
      ),
      [
        'webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty',
        'webhooks[1].clientConfig.service.path: Invalid value: "a": must start with a \'/\'',
        'webhooks[1].clientConfig.service.path: Invalid value: "a": segment[0] may not be empty',
        'webhooks[2].clientConfig.service.path: Invalid value: "/a//b/": segment[1] may not be empty',
        `webhooks[3].clientConfig.service.path: Invalid value: "/A": segment[0]: ${subdomain}`,
      ],
    ],
    [
      'unknown review versions',
      hooks(hook({admissionReviewVersions: ['v2', 'v2', '1']})),
      at('webhooks[0].admissionReviewVersions', [
        '[1]: Invalid value: "v2": duplicate version',
        `[2]: Invalid value: "1": ${label1035}`,
        ': Invalid value: ["v2","v2","1"]: must include at least one of v1, v1beta1',
      ]),
    ],
    [
      'conditions without names',
      hooks(hook({matchConditions: [{}, {name: 'a@', expression: 'true'}, {name: 'b', expression: ' '}, {name: 'b', expression: 'true'}]})),
      at('webhooks[0].matchConditions', [
        '[0].expression: Required value',
        '[0].name: Required value',
        `[1].name: Invalid value: "a@": ${name}`,
        '[2].expression: Required value',
        '[3].name: Duplicate value: "b"',
      ]),
    ],
    [
      'conditions that are none',
      hooks(
        hook({
          matchConditions: ['odd', ' 1 ', 'params.a', 'object.a', 'variables.a', 'request.odd == ""', '[1].exists(x, x == "a")'].map(
            (expression, i) => ({name: `c${i}`, expression}),
          ),
        }),
      ),
      at('webhooks[0].matchConditions', [
        "[0].expression: Invalid value: \"odd\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'odd' (in container '')\n | odd\n | ^",
        '[1].expression: Invalid value: "1": must evaluate to bool but got int',
        "[2].expression: Invalid value: \"params.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a\n | ^",
        '[3].expression: Invalid value: "object.a": must evaluate to bool but got dyn',
        "[4].expression: Invalid value: \"variables.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.a\n | ^",
        '[5].expression: Invalid value: "request.odd == \\"\\"": compilation failed: ERROR: <input>:1:8: undefined field \'odd\'\n | request.odd == ""\n | .......^',
        '[6].expression: Invalid value: "[1].exists(x, x == \\"a\\")": compilation failed: ERROR: <input>:1:17: found no matching overload for \'_==_\' applied to \'(int, string)\'\n | [1].exists(x, x == "a")\n | ................^',
      ]),
    ],
    [
      'conditions that cannot be made ready',
      hooks(hook({matchConditions: ['bool("x")', 'int("x")'].map((expression, i) => ({name: `c${i}`, expression}))})),
      at('webhooks[0].matchConditions', [
        "[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'bool'",
        '[1].expression: Invalid value: "int(\\"x\\")": must evaluate to bool but got int',
      ]),
    ],
    [
      'conditions about all there is',
      hooks(
        hook({
          matchConditions: [
            'object.a == oldObject.a && request.userInfo.groups.exists(g, g == "a") && namespaceObject.metadata.name == "n"',
            'authorizer.group("").resource("pods").namespace("n").check("get").allowed() || authorizer.requestResource.check("get").allowed()',
            'quantity("1Gi").isGreaterThan(quantity("1G")) && url("https://a").getHost() == "a" && cidr("10.0.0.0/8").containsIP("10.0.0.1") && [1, 2].sum() == 3 && semver("1.0.0").major() == 1',
            'object.?a.orValue(true) == true && {"a": 1}.all(k, v, v > 0) && "a".find("[a-z]") == "a" && format.named("uri").hasValue()',
          ].map((expression, i) => ({name: `c${i}`, expression})),
        }),
      ),
      [],
    ],
    [
      'too many conditions',
      hooks(hook({matchConditions: Array.from({length: 65}, (_, i) => ({name: `c${i}`, expression: 'true'}))})),
      ['webhooks[0].matchConditions: Too many: 65: must have at most 64 items'],
    ],
  ]);
  testUpdates(kind, [
    [
      'side effects',
      hooks(hook()),
      hooks(hook({sideEffects: 'Some'})),
      ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
    ],
    ['a second of the name', hooks(hook()), hooks(hook(), hook()), ['webhooks[1].name: Duplicate value: "a.example.com"']],
  ]);
}

testCreations(kinds.mutatingWebhookConfigurations, [
  [
    'an odd way to ask again',
    hooks(hook({reinvocationPolicy: 'Always'})),
    ['webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'],
  ],
]);
const settled = {failurePolicy: 'Fail', matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 10};
keepsOnCreation(kinds.mutatingWebhookConfigurations, [
  [
    'unset fields get defaults',
    hooks(hook({clientConfig: {service: {name: 'a', namespace: 'b'}}, rules: [rule()]})),
    hooks({
      ...hook(),
      ...settled,
      reinvocationPolicy: 'Never',
      clientConfig: {service: {name: 'a', namespace: 'b', port: 443}},
      rules: [rule({scope: '*'})],
    }),
  ],
]);

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
