import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, type Given} from './rule-table.js';

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const verbs = '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"';
const at = (path: string, texts: readonly string[]): string[] => texts.map(text => `${path}${text}`);

const user = {kind: 'User', user: {name: 'u'}};
const ofUser = {subjects: [user], nonResourceRules: [{verbs: ['get'], nonResourceURLs: ['/a']}]};
const schema = (spec: object): Given => ({spec: {priorityLevelConfiguration: {name: 'p'}, rules: [ofUser], ...spec}});
const subjects = (...list: object[]): Given => schema({rules: [{...ofUser, subjects: list}]});
const resources = (...rules: object[]): Given => schema({rules: [{subjects: [user], resourceRules: rules}]});
const urls = (...nonResourceRules: object[]): Given => schema({rules: [{subjects: [user], nonResourceRules}]});

testCreations(kinds.flowSchemas, [
  ['a usual one', schema({}), []],
  [
    'one of nothing',
    {spec: {rules: [{}]}},
    [
      'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
      'spec.rules[0].subjects: Required value: subjects must contain at least one value',
      'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
    ],
  ],
  [
    'one before all others',
    schema({matchingPrecedence: 1}),
    ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
  ],
  [
    'one after the last',
    schema({matchingPrecedence: 10_001}),
    ['spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000'],
  ],
  ['one before the first', schema({matchingPrecedence: -1}), ['spec.matchingPrecedence: Invalid value: -1: must be a positive value']],
  [
    'another one for everything',
    {...schema({matchingPrecedence: 5}), metadata: {name: 'catch-all'}},
    [
      'spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"p"},"MatchingPrecedence":5,"DistinguisherMethod":null,"Rules":[{"Subjects":[{"Kind":"User","User":{"Name":"u"},"Group":null,"ServiceAccount":null}],"ResourceRules":null,"NonResourceRules":[{"Verbs":["get"],"NonResourceURLs":["/a"]}]}]}: spec of \'catch-all\' must equal the fixed value',
    ],
  ],
  [
    'an odd level and an odd method',
    schema({priorityLevelConfiguration: {name: 'P'}, distinguisherMethod: {type: 'Odd'}}),
    [
      'spec.distinguisherMethod.type: Unsupported value: {"Type":"Odd"}: supported values: "ByNamespace", "ByUser"',
      `spec.priorityLevelConfiguration.name: Invalid value: "P": ${subdomain}`,
    ],
  ],
  [
    'subjects of no kind',
    subjects({kind: 'Odd'}, {kind: 'User'}, {kind: 'Group'}, {kind: 'ServiceAccount'}),
    at('spec.rules[0].subjects', [
      '[0].kind: Unsupported value: "Odd": supported values: "Group", "ServiceAccount", "User"',
      "[1].user: Required value: user is required when subject kind is 'User'",
      "[2].group: Required value: group is required when subject kind is 'Group'",
      "[3].serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'",
    ]),
  ],
  [
    'subjects of several kinds',
    subjects(
      {...user, group: {name: 'g'}, serviceAccount: {name: 'a', namespace: 'n'}},
      {...user, kind: 'Group', group: {}},
      {...user, kind: 'ServiceAccount', serviceAccount: {}},
    ),
    at('spec.rules[0].subjects', [
      "[0].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
      "[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      '[1].group.name: Required value',
      "[1].user: Forbidden: user is forbidden when subject kind is not 'User'",
      '[2].serviceAccount.name: Required value',
      '[2].serviceAccount.namespace: Required value: must specify namespace for service account',
      "[2].user: Forbidden: user is forbidden when subject kind is not 'User'",
    ]),
  ],
  [
    'accounts with odd names',
    subjects(
      {kind: 'ServiceAccount', serviceAccount: {name: 'A', namespace: 'B'}},
      {kind: 'ServiceAccount', serviceAccount: {name: '*', namespace: 'b'}},
    ),
    at('spec.rules[0].subjects[0].serviceAccount.', [`name: Invalid value: "A": ${subdomain}`, `namespace: Invalid value: "B": ${label}`]),
  ],
  [
    'rules about no resources',
    resources({}),
    at('spec.rules[0].resourceRules[0].', [
      'verbs: Required value: verbs must contain at least one value',
      'apiGroups: Required value: resource rules must supply at least one api group',
      'resources: Required value: resource rules must supply at least one resource',
      'namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace',
    ]),
  ],
  [
    'rules about everything and more',
    resources({verbs: ['*', 'get'], apiGroups: ['*', ''], resources: ['*', 'a'], namespaces: ['*', 'a']}),
    at('spec.rules[0].resourceRules[0].', [
      'verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
      'apiGroups: Invalid value: ["*",""]: if \'*\' is present, must not specify other api groups',
      'resources: Invalid value: ["*","a"]: if \'*\' is present, must not specify other resources',
      'namespaces: Invalid value: ["*","a"]: if \'*\' is present, must not specify other namespaces',
    ]),
  ],
  [
    'rules about the odd',
    resources({verbs: ['see'], apiGroups: [''], resources: ['a'], namespaces: ['A'], clusterScope: true}),
    at('spec.rules[0].resourceRules[0].', [
      `verbs: Unsupported value: ["see"]: supported values: ${verbs}`,
      `namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; ${label}`,
    ]),
  ],
  [
    'rules about no paths',
    urls({}, {verbs: ['*'], nonResourceURLs: ['*', '/a']}),
    at('spec.rules[0].nonResourceRules', [
      '[0].verbs: Required value: verbs must contain at least one value',
      '[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value',
      '[1].nonResourceURLs: Invalid value: ["*","/a"]: if \'*\' is present, must not specify other non-resource URLs',
    ]),
  ],
  [
    'rules about odd paths',
    urls({verbs: ['get'], nonResourceURLs: ['', '/', 'a', '/a b', '/a//b', '/a*', '/*/*', '/a/*']}),
    at('spec.rules[0].nonResourceRules[0].nonResourceURLs', [
      '[0]: Invalid value: "": must not be empty',
      '[2]: Invalid value: "a": must start with slash',
      '[3]: Invalid value: "/a b": must not contain white-space',
      '[4]: Invalid value: "/a//b": must not contain double slash',
      '[5]: Invalid value: "/a*": wildcard can only do suffix matching',
      '[6]: Invalid value: "/*/*": wildcard can only do suffix matching',
    ]),
  ],
]);

testUpdates(kinds.flowSchemas, [
  [
    'conditions without types',
    schema({}),
    {status: {conditions: [{status: 'True'}, {status: 'True'}]}},
    [
      'status.conditions[0].type: Required value',
      'status.conditions[1].type: Duplicate value: ""',
      'status.conditions[1].type: Required value',
    ],
    {subresource: 'status'},
  ],
]);

const limited = (more: object): Given => ({spec: {type: 'Limited', limited: {limitResponse: {type: 'Reject'}, ...more}}});
const queuing = (more: object): Given => limited({limitResponse: {type: 'Queue', queuing: more}});

testCreations(kinds.priorityLevelConfigurations, [
  ['a usual one', limited({}), []],
  ['one of no kind', {spec: {type: 'Odd'}}, ['spec.type: Unsupported value: "Odd": supported values: "Exempt", "Limited"']],
  [
    'one without limits by another name',
    {spec: {type: 'Exempt', limited: {limitResponse: {type: 'Reject'}}, exempt: {nominalConcurrencyShares: -1, lendablePercent: 101}}},
    [
      "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
      'spec.limited: Forbidden: must be nil if the type is not Limited',
      'spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
      'spec.exempt.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
    ],
  ],
  [
    'one without its limits',
    {spec: {type: 'Limited', exempt: {}}},
    ['spec.exempt: Forbidden: must be nil if the type is Limited', 'spec.limited: Required value: must not be empty when type is Limited'],
  ],
  [
    'odd limits',
    limited({nominalConcurrencyShares: -1, lendablePercent: -1, borrowingLimitPercent: -1, limitResponse: {type: 'Odd'}}),
    at('spec.limited.', [
      'nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
      'limitResponse.type: Unsupported value: "Odd": supported values: "Queue", "Reject"',
      'lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive',
      'borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
    ]),
  ],
  [
    'queues for what is refused',
    limited({limitResponse: {type: 'Reject', queuing: {}}}),
    ['spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited'],
  ],
  [
    'no queues for what waits',
    limited({limitResponse: {type: 'Queue'}}),
    ['spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited'],
  ],
  [
    'fewer than no queues',
    queuing({queues: -1, handSize: -1, queueLengthLimit: -1}),
    at('spec.limited.limitResponse.queuing.', [
      'queueLengthLimit: Invalid value: -1: must be positive',
      'queues: Invalid value: -1: must be positive',
      'handSize: Invalid value: -1: must be positive',
    ]),
  ],
  [
    'a hand larger than the deck',
    queuing({queues: 4, handSize: 5}),
    ['spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)'],
  ],
  ['the largest hand', queuing({queues: 64, handSize: 10}), []],
  [
    'a hand that takes too many bits',
    queuing({queues: 63, handSize: 11}),
    [
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 11: required entropy bits of deckSize 63 and handSize 11 should not be greater than 60',
    ],
  ],
  [
    'too many queues',
    queuing({queues: 10_000_001, handSize: 1}),
    ['spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000'],
  ],
  [
    'a note of another version',
    {metadata: {annotations: {'flowcontrol.plat.io/v1beta3-preserve-zero-concurrency-shares': ''}}, ...limited({})},
    ["metadata.annotations: Forbidden: annotation 'flowcontrol.plat.io/v1beta3-preserve-zero-concurrency-shares' is forbidden"],
  ],
  [
    'an exempt one that is limited',
    {metadata: {name: 'exempt'}, ...limited({})},
    [
      "spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is 'exempt'",
      'spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of \'exempt\' except the \'spec.exempt\' field must equal the fixed value',
    ],
  ],
  ['an exempt one with shares', {metadata: {name: 'exempt'}, spec: {type: 'Exempt', exempt: {nominalConcurrencyShares: 5}}}, []],
]);

keepsOnCreation(kinds.priorityLevelConfigurations, [
  [
    'unset fields get defaults',
    queuing({}),
    {
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 30,
          lendablePercent: 0,
          limitResponse: {type: 'Queue', queuing: {queues: 64, handSize: 8, queueLengthLimit: 50}},
        },
      },
    },
  ],
]);
