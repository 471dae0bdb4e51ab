import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, warnsOnCreation, type Given} from './rule-table.js';

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ";
const immutable = 'field is immutable';

testCreations(kinds.priorityClasses, [
  ['the highest', {value: 1_000_000_000}, []],
  ['higher than the highest', {value: 1_000_000_001}, ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000']],
  [
    'one of the system that is none',
    {metadata: {name: 'system-odd'}, value: 1},
    [`${reserved}system-odd is not a known system priority class`],
  ],
  [
    'one of the system with another value',
    {metadata: {name: 'system-node-critical'}, value: 1},
    [`${reserved}value of system-node-critical PriorityClass must be 2000001000`],
  ],
  [
    'one of the system for all',
    {metadata: {name: 'system-node-critical'}, value: 2_000_001_000, globalDefault: true},
    [`${reserved}globalDefault of system-node-critical PriorityClass must be false`],
  ],
  [
    'an odd policy',
    {preemptionPolicy: 'Odd'},
    ['preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"'],
  ],
]);
testUpdates(kinds.priorityClasses, [
  [
    'another value and policy',
    {value: 1},
    {value: 2, preemptionPolicy: 'Never'},
    ['value: Forbidden: may not be changed in an update.', `preemptionPolicy: Invalid value: "Never": ${immutable}`],
  ],
  ['whom it is for', {value: 1}, {globalDefault: true, description: 'all'}, []],
]);

const workload = (...podGroups: object[]): Given => ({spec: {podGroups}});
const group = (policy: object = {basic: {}}, groupName = 'g') => ({name: groupName, policy});
const groups = {on: ['GenericWorkload']};
testCreations(kinds.workloads, [
  ['one without groups', workload(), ['spec.podGroups: Required value: must have at least one item'], groups],
  [
    'too many groups',
    workload(...Array.from({length: 9}, (_, i) => group({}, `g${i}`))),
    ['spec.podGroups: Too many: 9: must have at most 8 items'],
    groups,
  ],
  [
    'odd names',
    workload(group({basic: {}}, ''), group(), group()),
    [`spec.podGroups[0].name: Invalid value: "": ${label}`, 'spec.podGroups[2].name: Duplicate value: "g"'],
    groups,
  ],
  [
    'odd policies',
    workload(group({}, 'a'), group({basic: {}, gang: {minCount: 1}}, 'b'), group({gang: {}}, 'c'), group({gang: {minCount: -1}}, 'd')),
    [
      'spec.podGroups[0].policy: Required value: exactly one of `basic`, `gang` is required',
      'spec.podGroups[1].policy: Invalid value: "{`basic`, `gang`}": exactly one of `basic`, `gang` is required, but multiple fields are set',
      'spec.podGroups[2].policy.gang.minCount: Invalid value: 0: must be greater than zero',
      'spec.podGroups[3].policy.gang.minCount: Invalid value: -1: must be greater than zero',
    ],
    groups,
  ],
  [
    'one of no controller',
    {spec: {controllerRef: {apiGroup: 'A'}, podGroups: [group()]}},
    [
      `spec.controllerRef.apiGroup: Invalid value: "A": ${subdomain}`,
      'spec.controllerRef.kind: Required value',
      'spec.controllerRef.name: Required value',
    ],
    groups,
  ],
]);
testUpdates(kinds.workloads, [
  ['a controller', workload(group()), {spec: {controllerRef: {kind: 'K', name: 'n'}, podGroups: [group()]}}, [], groups],
  [
    'other groups and another controller',
    {spec: {controllerRef: {kind: 'K', name: 'n'}, podGroups: [group()]}},
    {spec: {controllerRef: {kind: 'K', name: 'm'}, podGroups: [group({basic: {}}, 'h')]}},
    [
      `controllerRef: Invalid value: {"kind":"K","name":"m"}: ${immutable}`,
      `podGroups: Invalid value: [{"name":"h","policy":{"basic":{}}}]: ${immutable}`,
    ],
    groups,
  ],
]);

const run = (more: object): Given => ({handler: 'h', ...more});
const toleration = {key: 'a', operator: 'Exists', effect: 'NoSchedule'};
testCreations(kinds.runtimeClasses, [
  ['no handler', run({handler: ''}), [`handler: Invalid value: "": ${label}`]],
  [
    'odd places',
    run({
      scheduling: {
        nodeSelector: {'a@': 'b'},
        tolerations: [toleration, {...toleration, tolerationSeconds: 1}, {operator: 'Odd', key: 'b'}],
      },
    }),
    [
      `scheduling.nodeSelector: Invalid value: "a@": ${name}`,
      'scheduling.tolerations[1].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set',
      'scheduling.tolerations[2].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"',
      'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"NoSchedule","TolerationSeconds":1}',
    ],
  ],
  [
    'less than nothing besides',
    run({overhead: {podFixed: {cpu: '-1', odd: '1'}}}),
    [
      'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      'overhead.limits[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
      'overhead.limits[odd]: Invalid value: "odd": must be a standard resource for containers',
    ],
  ],
]);
testUpdates(kinds.runtimeClasses, [
  [
    'another handler and an odd place',
    run({}),
    run({handler: 'i', scheduling: {nodeSelector: {'a@': 'b'}}}),
    [`scheduling.nodeSelector: Invalid value: "a@": ${name}`, `handler: Invalid value: "i": ${immutable}`],
  ],
]);
warnsOnCreation(kinds.runtimeClasses, [
  [
    'labels of old',
    run({scheduling: {nodeSelector: {'beta.plat.io/arch': 'a'}}}),
    ['scheduling.nodeSelector: deprecated since v1.14; use "plat.io/arch" instead'],
  ],
]);

const lease = (spec: object): Given => ({spec});
const elected = {on: ['CoordinatedLeaderElection']};
const strategies = '"OldestEmulationVersion"';
testCreations(kinds.leases, [
  [
    'odd numbers',
    lease({leaseDurationSeconds: 0, leaseTransitions: -1}),
    [
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
      'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
    ],
  ],
  [
    'an odd strategy',
    lease({strategy: 'Odd'}),
    [`spec.strategy.strategy: Unsupported value: "Odd": supported values: ${strategies}`],
    elected,
  ],
  ['a strategy of somebody else', lease({strategy: 'a.b/@'}), [`spec.strategy.strategy: Invalid value: "a.b/@": ${name}`], elected],
  [
    'a holder without a strategy',
    lease({preferredHolder: 'a'}),
    ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined'],
    elected,
  ],
]);
keepsOnCreation(kinds.leases, [
  [
    'unknown fields are dropped',
    lease({strategy: 'OldestEmulationVersion', preferredHolder: 'a', holderIdentity: 'b'}),
    lease({holderIdentity: 'b'}),
  ],
]);

const candidate = (more: object): Given => ({
  spec: {leaseName: 'l', binaryVersion: '1.35.0', emulationVersion: '1.35.0', strategy: 'OldestEmulationVersion', ...more},
});
const older = (binaryVersion: string, emulationVersion: string): readonly [string, Given, readonly string[], typeof elected] => [
  `${emulationVersion} done by ${binaryVersion}`,
  candidate({binaryVersion, emulationVersion}),
  [`spec.binaryVersion: Invalid value: "${binaryVersion}": must be greater than or equal to \`emulationVersion\``],
  elected,
];
testCreations(kinds.leaseCandidates, [
  ['a usual one', candidate({}), [], elected],
  [
    'one for nothing',
    {spec: {}},
    ['spec.leaseName: Required value', 'spec.binaryVersion: Required value', 'spec.strategy: Required value'],
    elected,
  ],
  [
    'odd versions',
    candidate({binaryVersion: 'v1', emulationVersion: '1.02.0'}),
    [
      'spec.emulationVersion: Invalid value: "1.02.0": must be a valid semantic version',
      'spec.binaryVersion: Invalid value: "v1": must be a valid semantic version',
      "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
    ],
    elected,
  ],
  [
    'no version',
    candidate({emulationVersion: '0.0.0'}),
    ["spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"],
    elected,
  ],
  older('1.34.9', '1.35.0'),
  older('1.35.0-alpha.1', '1.35.0'),
  older('1.35.0-alpha.2', '1.35.0-alpha.10'),
  older('1.35.0-alpha', '1.35.0-alpha.1'),
  older('1.35.0-1', '1.35.0-a'),
  [
    'no version that runs',
    candidate({binaryVersion: 'x'}),
    [
      'spec.binaryVersion: Invalid value: "x": must be a valid semantic version',
      'spec.binaryVersion: Invalid value: "x": must be greater than or equal to `emulationVersion`',
    ],
    elected,
  ],
  ['a version with a build', candidate({binaryVersion: '1.35.0', emulationVersion: '1.35.0-rc.1+abc'}), [], elected],
]);
testUpdates(kinds.leaseCandidates, [
  ['another lease', candidate({}), candidate({leaseName: 'm'}), [`spec.leaseName: Invalid value: "m": ${immutable}`], elected],
]);
