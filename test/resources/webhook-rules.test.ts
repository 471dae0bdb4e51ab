import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {testUpdates, testCreations, keepsOnCreation, type Given} from './rule-table.js';
import {at, label1035, labelValue, name, oddSelector, rule, subdomain} from './admission-registrations.js';

const hook = (more: object = {}) => ({
  name: 'a.example.com',
  clientConfig: {url: 'https://a.b/c'},
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
});

const hooks = (...list: object[]): Given => ({webhooks: list});
const ruled = (...rules: object[]): Given => hooks(hook({rules}));
const calling = (service: object): Given => hooks(hook({clientConfig: {service}}));
const service = 'webhooks[0].clientConfig.service.';
const url = 'webhooks[0].clientConfig.url: ';
const form = '; desired format: https://host[/path]';
const called = (text: string): Given => hooks(hook({clientConfig: {url: text}}));
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
