import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, type Given} from './rule-table.js';

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

let count = 0;
const next = () => `g${count++}.example.com`;
const aService = (spec: object = {}, group = next()): Given => ({
  metadata: {name: `v1.${group}`},
  spec: {group, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10, ...spec},
});
const behind = (service: object = {}, spec: object = {}): Given => aService({service: {namespace: 'n', name: 's', ...service}, ...spec});

testCreations(kinds.apiServices, [
  ['a version that is served here', aService(), []],
  ['a version behind a service', behind({port: 8443}, {caBundle: 'eA=='}), []],
  ['the highest priorities', aService({groupPriorityMinimum: 20_000, versionPriority: 1000}), []],
  [
    'priorities that are too high',
    aService({groupPriorityMinimum: 20_001, versionPriority: 1001}),
    [
      'spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000',
      'spec.versionPriority: Invalid value: 1001: must be positive and less than 1000',
    ],
  ],
  [
    'an empty object',
    {metadata: {name: 'a'}, spec: {}},
    [
      'metadata.name: Invalid value: "a": must be `spec.version+"."+spec.group`: "."',
      'spec.group: Required value: only v1 may have an empty group and it better be legacy kube',
      `spec.version: Invalid value: "": ${label1035}`,
      'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
      'spec.versionPriority: Invalid value: 0: must be positive and less than 1000',
    ],
  ],
  [
    'a name that does not match',
    {...aService({}, 'a.b'), metadata: {name: 'v2.a.b'}},
    ['metadata.name: Invalid value: "v2.a.b": must be `spec.version+"."+spec.group`: "v1.a.b"'],
  ],
  [
    'a name that was to be made up',
    {...aService({}, 'a.e'), metadata: {name: 'v1.a.e', generateName: 'v1.a.'}},
    ['metadata.generateName: Invalid value: "v1.a.": must be `spec.version+"."+spec.group`: "v1.a.e"'],
  ],
  [
    'a name that no path can carry',
    {...aService({}, 'a.b'), metadata: {name: 'a%b'}},
    ['metadata.name: Invalid value: "a%b": may not contain \'%\''],
  ],
  [
    'odd words',
    {metadata: {name: 'V1.A'}, spec: {group: 'A', version: 'V1', groupPriorityMinimum: -1, versionPriority: -1}},
    [
      `spec.group: Invalid value: "A": ${subdomain}`,
      `spec.version: Invalid value: "V1": ${label1035}`,
      'spec.groupPriorityMinimum: Invalid value: -1: must be positive and less than 20000',
      'spec.versionPriority: Invalid value: -1: must be positive and less than 1000',
    ],
  ],
  [
    'a CA bundle without a service',
    aService({caBundle: 'YWJj', insecureSkipTLSVerify: true}),
    [
      'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
      'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
    ],
  ],
  [
    'a service without a name',
    aService({service: {port: 0}}),
    [
      'spec.service.namespace: Required value',
      'spec.service.name: Required value',
      'spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
    ],
  ],
  [
    'trust in everybody beside an authority',
    behind({}, {insecureSkipTLSVerify: true, caBundle: 'eA=='}),
    ['spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present'],
  ],
]);

testUpdates(kinds.apiServices, [
  [
    'a service elsewhere',
    aService({service: {namespace: 'n', name: 's'}}, 'a.f'),
    aService({service: {namespace: 'n', name: 'other'}}, 'a.f'),
    [],
  ],
  [
    'another group',
    aService({}, 'a.c'),
    {spec: {group: 'a.d', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1}},
    ['metadata.name: Invalid value: "v1.a.c": must be `spec.version+"."+spec.group`: "v1.a.d"'],
  ],
  [
    'a state there is not',
    aService(),
    {status: {conditions: [{type: 'Available', status: 'Perhaps'}]}},
    ['status.conditions[0].status: Unsupported value: "Perhaps": supported values: "True", "False", "Unknown"'],
    {subresource: 'status'},
  ],
]);

const ofStatus = {group: next(), version: 'v1', groupPriorityMinimum: 1, versionPriority: 1};
keepsOnCreation(kinds.apiServices, [
  [
    'what is served here is available at once',
    {...aService(), status: {conditions: [{type: 'Other', status: 'True'}]}},
    {
      status: {
        conditions: [
          {
            type: 'Available',
            status: 'True',
            lastTransitionTime: '2026-01-01T00:00:00Z',
            reason: 'Local',
            message: 'Local APIServices are always available',
          },
        ],
      },
    },
  ],
  [
    'a service is called at the port of HTTPS',
    {metadata: {name: `v1.${ofStatus.group}`}, spec: {...ofStatus, service: {namespace: 'n', name: 's'}}},
    {spec: {...ofStatus, service: {namespace: 'n', name: 's', port: 443}}, status: {}},
  ],
]);
