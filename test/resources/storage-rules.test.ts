import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, warnsOnCreation, type Given} from './rule-table.js';

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const immutable = 'field is immutable';

const driver = (spec: object): Given => ({spec});
const tokens = (...list: object[]): Given => driver({tokenRequests: list});
const inSecrets =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

testCreations(kinds.csiDrivers, [
  ['an empty one', {}, []],
  [
    'odd choices',
    driver({fsGroupPolicy: 'A', volumeLifecycleModes: ['B'], nodeAllocatableUpdatePeriodSeconds: 9, serviceAccountTokenInSecrets: true}),
    [
      'spec.fsGroupPolicy: Unsupported value: "A": supported values: "File", "None", "ReadWriteOnceWithFSType"',
      'spec.volumeLifecycleModes: Unsupported value: "B": supported values: "Persistent", "Ephemeral"',
      'spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds',
      'spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified',
    ],
  ],
  [
    'odd tokens',
    tokens({audience: 'a', expirationSeconds: 599}, {audience: 'a', expirationSeconds: 1}, {audience: 'b', expirationSeconds: 2 ** 32 + 1}),
    [
      'spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
      'spec.tokenRequests[1].audience: Duplicate value: "a"',
      'spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
  ],
]);
testUpdates(kinds.csiDrivers, [
  [
    'what may change',
    {},
    driver({
      attachRequired: true,
      volumeLifecycleModes: ['Persistent'],
      podInfoOnMount: true,
      fsGroupPolicy: 'File',
      storageCapacity: true,
    }),
    [],
  ],
  [
    'what it was made with',
    {},
    driver({attachRequired: false, volumeLifecycleModes: ['Ephemeral']}),
    [`spec.attachedRequired: Invalid value: false: ${immutable}`, `spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: ${immutable}`],
  ],
]);
warnsOnCreation(kinds.csiDrivers, [
  ['tokens that may be logged', tokens({audience: 'a'}), [inSecrets]],
  ['tokens in secrets', driver({tokenRequests: [{audience: 'a'}], serviceAccountTokenInSecrets: false}), []],
  ['secret tokens without the gate', tokens({audience: 'a'}), [], {off: ['CSIServiceAccountTokenSecrets']}],
]);
const usual = {
  attachRequired: true,
  podInfoOnMount: false,
  requiresRepublish: false,
  storageCapacity: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  volumeLifecycleModes: ['Persistent'],
};
keepsOnCreation(kinds.csiDrivers, [
  ['unset fields get defaults', {}, driver({...usual, seLinuxMount: false})],
  [
    'unknown fields are dropped',
    driver({seLinuxMount: true, nodeAllocatableUpdatePeriodSeconds: 60, serviceAccountTokenInSecrets: true}),
    driver(usual),
    {
      off: [
        'SELinuxMountReadWriteOncePod',
        'MutableCSINodeAllocatableCount',
        'CSIServiceAccountTokenSecrets',
        'SELinuxMount',
        'SELinuxChangePolicy',
      ],
    },
  ],
]);

const node = (...drivers: object[]): Given => ({spec: {drivers}});
const onNode = (more: object = {}) => ({name: 'd.example.com', nodeID: 'n', topologyKeys: ['a'], ...more});
testCreations(kinds.csiNodes, [
  [
    'drivers without names',
    node({}, onNode({name: 'A_', nodeID: 'n'.repeat(257), allocatable: {count: -1}, topologyKeys: ['', 'a', 'a', '@']})),
    [
      'spec.drivers[0].name: Required value',
      'spec.drivers[0].nodeID: Required value',
      `spec.drivers[1].name: Invalid value: "A_": ${subdomain}`,
      `spec.drivers[1].nodeID: Invalid value: "${'n'.repeat(257)}": must be 256 characters or less`,
      'spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0',
      'spec.drivers[1]: Required value',
      'spec.drivers[1]: Invalid value: "": name part must be non-empty',
      `spec.drivers[1]: Invalid value: "": ${name}`,
      'spec.drivers[1]: Duplicate value: "a"',
      `spec.drivers[1]: Invalid value: "@": ${name}`,
    ],
  ],
]);
testUpdates(kinds.csiNodes, [
  ['how many volumes', node(onNode({allocatable: {count: 1}})), node(onNode({allocatable: {count: 2}})), []],
  [
    'how many volumes where that is fixed',
    node(onNode({allocatable: {count: 1}})),
    node(onNode({allocatable: {count: 2}})),
    [`spec.drivers: Invalid value: {"Name":"d.example.com","NodeID":"n","TopologyKeys":["a"],"Allocatable":{"Count":2}}: ${immutable}`],
    {off: ['MutableCSINodeAllocatableCount']},
  ],
  [
    'another id',
    node(onNode()),
    node(onNode({nodeID: 'm', allocatable: {count: 1}})),
    [`spec.drivers: Invalid value: {"Name":"d.example.com","NodeID":"m","TopologyKeys":["a"],"Allocatable":null}: ${immutable}`],
  ],
  [
    'no id',
    node(onNode()),
    node(onNode({nodeID: ''})),
    [
      'spec.drivers[0].nodeID: Required value',
      'spec.drivers[0].nodeID: Required value',
      `spec.drivers: Invalid value: {"Name":"d.example.com","NodeID":"","TopologyKeys":["a"],"Allocatable":null}: ${immutable}`,
    ],
  ],
]);

const capacity = (more: object): Given => ({storageClassName: 's', capacity: '1Gi', ...more});
testCreations(kinds.csiStorageCapacities, [
  [
    'less than nothing',
    capacity({capacity: '-1', maximumVolumeSize: '-1'}),
    ['capacity: Invalid value: "-1": must be greater than or equal to 0'],
  ],
  ['no class', capacity({storageClassName: ''}), [`storageClassName: Invalid value: "": ${subdomain}`]],
]);
testUpdates(kinds.csiStorageCapacities, [
  ['less than nothing', capacity({}), {capacity: '-1'}, ['capacity: Invalid value: "-1": must be greater than or equal to 0']],
  [
    'another class and place',
    capacity({}),
    capacity({storageClassName: 't', nodeTopology: {matchLabels: {a: 'b'}}}),
    [`nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: ${immutable}`, `storageClassName: Invalid value: "t": ${immutable}`],
  ],
]);
warnsOnCreation(kinds.csiStorageCapacities, [
  [
    'labels of old',
    capacity({nodeTopology: {matchLabels: {'beta.plat.io/os': 'a'}, matchExpressions: [{key: 'beta.plat.io/arch', operator: 'Exists'}]}}),
    [
      'nodeTopology.matchExpressions[0].key: beta.plat.io/arch is deprecated since v1.14; use "plat.io/arch" instead',
      'nodeTopology.matchLabels.beta.plat.io/os: deprecated since v1.14; use "plat.io/os" instead',
    ],
  ],
]);

const storage = (more: object): Given => ({provisioner: 'example.com/p', ...more});
const places = (...allowedTopologies: object[]): Given => storage({allowedTopologies});
const term = (...matchLabelExpressions: object[]) => ({matchLabelExpressions});
testCreations(kinds.storageClasses, [
  ['no provisioner', storage({provisioner: ''}), ['provisioner: Required value']],
  [
    'odd choices',
    storage({provisioner: '@', reclaimPolicy: 'Recycle', volumeBindingMode: 'A', parameters: {'': 'a'}}),
    [
      `provisioner: Invalid value: "@": ${name}`,
      'parameters: Invalid value: "": field can not be empty.',
      'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
      'volumeBindingMode: Unsupported value: "A": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
  ],
  [
    'too many parameters',
    storage({parameters: Object.fromEntries(Array.from({length: 513}, (_, i) => [`p${i}`, '']))}),
    ['parameters: Too long: may not be more than 512 bytes'],
  ],
  ['large parameters', storage({parameters: {a: 'x'.repeat(256 * 1024)}}), ['parameters: Too long: may not be more than 262144 bytes']],
  [
    'places that are none',
    places(term({key: '@', values: ['@', '@']}), term({key: 'a', values: []}, {key: 'a', values: ['b']})),
    [
      'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "@"',
      `allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "@": ${name}`,
      'allowedTopologies[1].matchLabelExpressions[0].values: Required value',
      'allowedTopologies[1].matchLabelExpressions[1].key: Duplicate value: "a"',
    ],
  ],
  [
    'the same places twice',
    places(term({key: 'a', values: ['b', 'c']}), term({key: 'a', values: ['c', 'b']})),
    ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
  ],
  ['empty places', places({}), ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""']],
]);
testUpdates(kinds.storageClasses, [
  [
    'odd places',
    storage({}),
    places(term({key: 'a', values: []})),
    ['allowedTopologies[0].matchLabelExpressions[0].values: Required value'],
  ],
  [
    'what it was made with',
    storage({}),
    storage({provisioner: 'q', volumeBindingMode: 'WaitForFirstConsumer'}),
    [
      'provisioner: Forbidden: updates to provisioner are forbidden.',
      `volumeBindingMode: Invalid value: "WaitForFirstConsumer": ${immutable}`,
    ],
  ],
]);
warnsOnCreation(kinds.storageClasses, [
  [
    'labels of old',
    places(term({key: 'failure-domain.beta.plat.io/zone', values: ['a']})),
    ['allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.plat.io/zone" instead'],
  ],
]);

const attachment = (more: object = {}): Given => ({
  spec: {attacher: 'd.example.com', nodeName: 'n', source: {persistentVolumeName: 'v'}, ...more},
});
testCreations(kinds.volumeAttachments, [
  [
    'an attachment without attacher and source',
    {spec: {}},
    [
      'spec.attacher: Required value',
      'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
      `spec.nodeName: Invalid value: "": ${subdomain}`,
      'spec.attacher: Required value',
    ],
  ],
  [
    'odd names',
    attachment({attacher: '@', source: {persistentVolumeName: 'V'}}),
    [`spec.attacher: Invalid value: "@": ${subdomain}`, `spec.source.persistentVolumeName: Invalid value: "V": ${subdomain}`],
  ],
  [
    'a volume without a name',
    attachment({source: {persistentVolumeName: ''}}),
    [
      'spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName',
      `spec.source.persistentVolumeName: Invalid value: "": ${subdomain}`,
    ],
  ],
]);
testUpdates(kinds.volumeAttachments, [
  [
    'errors that are none',
    attachment(),
    {status: {attached: false, attachError: {message: 'x'.repeat(1025), errorCode: -1}}},
    [
      'status.attachError.message: Too long: may not be more than 262144 bytes',
      'status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive',
    ],
    {subresource: 'status'},
  ],
  [
    'error codes without the gate',
    attachment(),
    {status: {attached: false, attachError: {errorCode: -1}}},
    [],
    {subresource: 'status', off: ['MutableCSINodeAllocatableCount']},
  ],
]);

testUpdates(kinds.volumeAttributesClasses, [
  [
    'what it was made with',
    {driverName: 'd', parameters: {a: 'b'}},
    {driverName: 'D', parameters: {}},
    [
      'driverName: Forbidden: updates to driverName are forbidden.',
      'parameters: Forbidden: updates to parameters are forbidden.',
      'parameters: Required value: must contain at least one key/value pair',
    ],
  ],
]);
