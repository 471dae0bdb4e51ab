import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, type Given} from './rule-table.js';

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const group = 'rbac.authorization.plat.io';

const bound = (...subjects: object[]): Given => ({roleRef: {kind: 'ClusterRole', name: 'r'}, subjects});
testCreations(kinds.clusterRoleBindings, [
  [
    'subjects without names',
    bound(
      {kind: 'User'},
      {kind: 'Group', apiGroup: 'other'},
      {kind: 'ServiceAccount', name: 'A', apiGroup: 'other'},
      {kind: 'Odd', name: 'a'},
    ),
    [
      'subjects[0].name: Required value',
      'subjects[1].name: Required value',
      `subjects[1].apiGroup: Unsupported value: "other": supported values: "${group}"`,
      `subjects[2].name: Invalid value: "A": ${subdomain}`,
      'subjects[2].apiGroup: Unsupported value: "other": supported values: ""',
      'subjects[2].namespace: Required value',
      'subjects[3].kind: Unsupported value: "Odd": supported values: "ServiceAccount", "User", "Group"',
    ],
  ],
  [
    'a role of a namespace',
    {roleRef: {kind: 'Role', name: '..', apiGroup: 'other'}},
    [
      `roleRef.apiGroup: Unsupported value: "other": supported values: "${group}"`,
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'roleRef.name: Invalid value: "..": may not be \'..\'',
    ],
  ],
]);
testUpdates(kinds.roleBindings, [
  [
    'another role',
    bound(),
    {roleRef: {kind: 'Role', name: 'r', apiGroup: group}},
    [`roleRef: Invalid value: {"APIGroup":"${group}","Kind":"Role","Name":"r"}: cannot change roleRef`],
  ],
  [
    'no role',
    bound(),
    {roleRef: {kind: 'ClusterRole', name: '', apiGroup: group}},
    [
      'roleRef.name: Required value',
      `roleRef: Invalid value: {"APIGroup":"${group}","Kind":"ClusterRole","Name":""}: cannot change roleRef`,
    ],
  ],
]);

const gathering = (...clusterRoleSelectors: object[]): Given => ({aggregationRule: {clusterRoleSelectors}});
const at = 'aggregationRule.clusterRoleSelectors[0]';
testCreations(kinds.clusterRoles, [
  [
    'selectors that select nothing',
    gathering({matchLabels: {'a@': 'b'}}, {matchExpressions: [{key: 'a', operator: 'In', values: ['@']}]}),
    [
      `${at}.matchLabels: Invalid value: "a@": ${name}`,
      `${at}: Invalid value: null: invalid label selector.`,
      `aggregationRule.clusterRoleSelectors[1].matchExpressions[0].values[0]: Invalid value: "@": ${labelValue}`,
      'aggregationRule.clusterRoleSelectors[1]: Invalid value: null: invalid label selector.',
    ],
  ],
]);

const event = (more: object): Given => ({involvedObject: {kind: 'Pod', name: 'p', namespace: 'default'}, reason: 'R', ...more});
const timed = {eventTime: '2026-01-01T00:00:00.000000Z'};
testCreations(kinds.coreEvents, [
  [
    'one about another namespace',
    event({involvedObject: {namespace: 'other'}}),
    ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
  ],
  [
    'one with a time and no reporter',
    event({...timed, reason: '', action: 'a'.repeat(129), message: 'm'.repeat(1025)}),
    [
      'reportingComponent: Required value',
      'reportingComponent: Invalid value: "": name part must be non-empty',
      `reportingComponent: Invalid value: "": ${name}`,
      'reportingInstance: Required value',
      'action: Invalid value: "": can have at most 128 characters',
      'reason: Required value',
      'message: Invalid value: "": can have at most 1024 characters',
    ],
  ],
]);

const report = (more: object): Given => ({
  ...timed,
  regarding: {kind: 'Pod', name: 'p', namespace: 'default'},
  reason: 'R',
  action: 'A',
  type: 'Normal',
  reportingController: 'c',
  reportingInstance: 'i',
  ...more,
});
testCreations(kinds.events, [
  ['a usual one', report({}), []],
  [
    'one in the older manner',
    report({
      eventTime: null,
      type: 'Odd',
      deprecatedCount: 1,
      deprecatedSource: {host: 'h'},
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
      series: {count: 1},
    }),
    [
      'series.count: Invalid value: "": should be at least 2',
      'series.lastObservedTime: Required value',
      'eventTime: Required value',
      'type: Invalid value: "": has invalid value: Odd',
      'firstTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ],
  ],
  [
    'one without a reporter',
    report({reportingController: ''}),
    [
      'reportingController: Required value',
      'reportingController: Invalid value: "": name part must be non-empty',
      `reportingController: Invalid value: "": ${name}`,
    ],
  ],
]);
testUpdates(kinds.events, [
  ['how often', report({}), {series: {count: 2, lastObservedTime: timed.eventTime}}, []],
  [
    'why',
    report({}),
    {reason: 'S', note: 'n'},
    [
      'reason: Invalid value: "S": field is immutable',
      'message: Invalid value: "n": field is immutable',
      'reason: Invalid value: "S": field is immutable',
    ],
  ],
]);

const versions = {on: ['StorageVersionAPI', 'APIServerIdentity'], subresource: 'status'};
const encoded = (more: object) => ({apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v1'], ...more});
testUpdates(kinds.storageVersions, [
  [
    'servers that cannot read what they write',
    {metadata: {name: 'a.b'}, spec: {}},
    {
      status: {
        storageVersions: [encoded({encodingVersion: 'v2', servedVersions: ['v3']}), encoded({encodingVersion: '/'})],
        conditions: [{type: 'A', status: 'True'}],
      },
    },
    [
      'status.storageVersions[0].decodableVersions: Invalid value: ["v1"]: decodableVersions must include encodingVersion v2',
      'status.storageVersions[0].servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [v1]',
      'status.storageVersions[1].apiServerID: Duplicate value: "a"',
      'status.storageVersions[1].encodingVersion: Invalid value: "/": group part: must be non-empty,version part: must be non-empty',
      'status.storageVersions[1].decodableVersions: Invalid value: ["v1"]: decodableVersions must include encodingVersion /',
      'status[0].reason: Required value',
      'status[0].message: Required value',
    ],
    versions,
  ],
]);
