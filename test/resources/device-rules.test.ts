import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, type Creation, type Given} from './rule-table.js';
import {problems, startEnvironment} from './environment.js';

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const identifier =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const immutable = 'field is immutable';
const at = (path: string, texts: readonly string[]): string[] => texts.map(text => `${path}${text}`);

const all = {
  on: [
    'DRAConsumableCapacity',
    'DRAPartitionableDevices',
    'DRADeviceTaints',
    'DRADeviceBindingConditions',
    'DRAResourceClaimDeviceStatus',
    'DRAAdminAccess',
  ],
};
const slice = (more: object): Given => ({
  spec: {driver: 'd.example.com', pool: {name: 'p', resourceSliceCount: 1}, nodeName: 'n', ...more},
});
const devices = (...list: object[]): Given => slice({devices: list});
const shared = (requestPolicy: object): Given =>
  devices({name: 'd', allowMultipleAllocations: true, capacity: {m: {value: '10', requestPolicy}}});
const policy = 'spec.devices[0].capacity[m].requestPolicy';
const long = `a.example.com/${'x'.repeat(90)}`;

testCreations(kinds.resourceSlices, [
  ['a pool of no name', slice({pool: {name: 'A/b', resourceSliceCount: 1}}), [`spec.pool.name: Invalid value: "A": ${subdomain}`], all],
  [
    'a pool with a long name',
    slice({pool: {name: `${'a'.repeat(253)}/b`, resourceSliceCount: 1}}),
    ['spec.pool.name: Too long: may not be more than 253 bytes'],
    all,
  ],
  ['devices and counters', slice({devices: [], sharedCounters: [{name: 'c', counters: {m: {value: '1'}}}], nodeName: 'n'}), [], all],
  [
    'counters of no name',
    slice({sharedCounters: [{counters: {}}, {name: 'A', counters: {b_: {value: '1'}}}]}),
    [
      'spec.sharedCounters[0].name: Required value',
      'spec.sharedCounters[0].counters: Required value',
      `spec.sharedCounters[1].name: Invalid value: "A": ${label}`,
      `spec.sharedCounters[1].counters[b_]: Invalid value: "b_": ${label}`,
    ],
    all,
  ],
  [
    'attributes of no name',
    devices({name: 'd', attributes: {'a b': {int: 1}, '/c': {int: 1}, 'A_/d': {int: 1}, [long]: {}}}),
    [
      `spec.devices[0].attributes[a b]: Invalid value: "a b": ${identifier}`,
      'spec.devices[0].attributes[/c]: Invalid value: "": the domain must not be empty',
      `spec.devices[0].attributes[A_/d]: Invalid value: "A_": ${subdomain}`,
      `spec.devices[0].attributes[${long.slice(0, 47)}...${long.slice(-46)}]: Too long: may not be more than 32 bytes`,
      `spec.devices[0].attributes[${long.slice(0, 47)}...${long.slice(-46)}]: Invalid value: "": exactly one value must be specified`,
    ],
    all,
  ],
  [
    'too much of a device',
    devices({name: 'd', attributes: Object.fromEntries(Array.from({length: 33}, (_, i) => [`a${i}`, {int: i}]))}),
    ['spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32'],
    all,
  ],
  [
    'amounts without a usual one',
    shared({validRange: {min: '1'}}),
    [`${policy}.default: Required value: required when validRange is defined`],
    all,
  ],
  [
    'amounts in two ways',
    shared({default: '1', validRange: {min: '1'}, validValues: ['1']}),
    [`${policy}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`],
    all,
  ],
  [
    'amounts without a least one',
    shared({default: '1', validRange: {max: '1'}}),
    [`${policy}.validRange.min: Required value: required when validRange is defined`],
    all,
  ],
  [
    'amounts beyond their bounds',
    shared({default: '1', validRange: {min: '12', max: '11', step: '2'}}),
    at(`${policy}.validRange.`, [
      'min: Invalid value: "12": min is larger than capacity value: 10',
      'min: Invalid value: "1": default is less than min: 12',
      'max: Invalid value: "12": min is larger than max: 11',
      'max: Invalid value: "11": max is larger than capacity value: 10',
      'step: Invalid value: "2": one step 14 is larger than capacity value: 10',
      'step: Invalid value: "1": value is not a multiple of a given step (2) from (12)',
      'step: Invalid value: "11": value is not a multiple of a given step (2) from (12)',
    ]),
    all,
  ],
  [
    'a usual amount beyond the most',
    shared({default: '9', validRange: {min: '1', max: '5'}}),
    [`${policy}.validRange.max: Invalid value: "9": default is more than max: 5`],
    all,
  ],
  [
    'amounts in no order',
    shared({default: '3', validValues: ['2', '1', '11', '1']}),
    at(`${policy}.validValues`, [
      '[1]: Invalid value: "1": values must be sorted in ascending order',
      '[3]: Invalid value: "1": values must be sorted in ascending order',
      '[2]: Invalid value: "11": option is larger than capacity value: 10',
      '[3]: Duplicate value: "1"',
      ': Invalid value: "3": default value is not valid according to the requestPolicy',
    ]),
    all,
  ],
  [
    'conditions on both sides',
    devices({name: 'd', bindingConditions: ['a', 'a'], bindingFailureConditions: ['a', 'b', 'b']}),
    [
      'spec.devices[0].bindingConditions[1]: Duplicate value: "a"',
      'spec.devices[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
      'spec.devices[0].bindingFailureConditions[2]: Duplicate value: "b"',
    ],
    all,
  ],
  [
    'failures of nothing',
    devices({name: 'd', bindingFailureConditions: ['a']}),
    ['spec.devices[0].bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions'],
    all,
  ],
  [
    'more devices with taints',
    devices(...Array.from({length: 65}, (_, i) => ({name: `d${i}`, taints: [{key: 'a', effect: 'NoSchedule'}]}))),
    ['spec.devices: Too many: 65: must have at most 64 items'],
    all,
  ],
]);
testUpdates(kinds.resourceSlices, [
  [
    'amounts that were there',
    devices({name: 'd', capacity: {m: {value: '1'}}}),
    devices({name: 'd', capacity: {'m m': {value: '1'}}}),
    [`spec.devices[0].capacity[m m]: Invalid value: "m m": ${identifier}`],
    all,
  ],
  [
    'another driver',
    slice({}),
    slice({driver: 'e.example.com', pool: {name: 'q', resourceSliceCount: 1, generation: 0}}),
    [`spec.pool.name: Invalid value: "q": ${immutable}`, `spec.driver: Invalid value: "e.example.com": ${immutable}`],
    all,
  ],
]);

const exactly = {deviceClassName: 'c'};
const claim = (more: object = {}, ...requests: object[]): Given => ({
  spec: {devices: {requests: requests.length > 0 ? requests : [{name: 'r', exactly}], ...more}},
});
const result = {request: 'r', driver: 'd.example.com', pool: 'p', device: 'd'};
const allocated = (more: object, status: object = {}) => ({status: {allocation: {devices: {results: [{...result, ...more}]}}, ...status}});
const status = {...all, subresource: 'status'};
const results = 'status.allocation.devices.results[0].';

testCreations(kinds.resourceClaims, [
  [
    'tolerations of nothing',
    claim(
      {},
      {name: 'r', exactly: {...exactly, tolerations: [{operator: 'Exists', value: 'a'}, {operator: 'Odd', effect: 'Odd'}, {operator: ''}]}},
    ),
    at('spec.devices.requests[0].exactly.tolerations', [
      '[0].value: Invalid value: "a": must be empty for operator `Exists`',
      '[1].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"',
      '[1].effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None"',
    ]),
    all,
  ],
  [
    'constraints by nothing',
    claim({constraints: [{}]}),
    [
      'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    ],
    all,
  ],
  [
    'too many requests',
    claim({}, ...Array.from({length: 33}, (_, i) => ({name: `r${i}`, exactly}))),
    ['spec.devices.requests: Too many: 33: must have at most 32 items'],
    all,
  ],
  [
    'a long expression',
    claim({}, {name: 'r', exactly: {...exactly, selectors: [{cel: {expression: 'x'.repeat(10 * 1024 + 1)}}]}}),
    ['spec.devices.requests[0].exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes'],
    all,
  ],
  [
    'large data',
    claim({config: [{requests: ['r/a'], opaque: {driver: 'd', parameters: {a: 'x'.repeat(10 * 1024)}}}]}),
    [
      'spec.devices.config[0].requests[0]: Invalid value: "r/a": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
      'spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes',
    ],
    all,
  ],
]);
testUpdates(kinds.resourceClaims, [
  [
    'a share of no name',
    claim(),
    allocated({shareID: 'x'}),
    [`${results}shareID: Invalid value: "x": error validating uid: invalid UUID length: 1`],
    status,
  ],
  [
    'a share in brackets',
    claim(),
    allocated({shareID: '{01234567-89ab-cdef-0123-456789abcdef}'}),
    [
      `${results}shareID: Invalid value: "{01234567-89ab-cdef-0123-456789abcdef}": uid must be in RFC 4122 normalized form, \`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\` with lowercase hexadecimal characters`,
    ],
    status,
  ],
  [
    'a share with odd letters',
    claim(),
    allocated({shareID: '0123456g-89ab-cdef-0123-456789abcdef'}),
    [`${results}shareID: Invalid value: "0123456g-89ab-cdef-0123-456789abcdef": error validating uid: invalid UUID format`],
    status,
  ],
  [
    'addresses in forms of old',
    claim(),
    allocated({}, {devices: [{...result, networkData: {ips: ['010.0.0.1/24', 'FD00::1/64', '::ffff:10.0.0.1/120', '10.0.0.1']}}]}),
    at('status.devices[0].networkData.ips', [
      '[0]: Invalid value: "010.0.0.1/24": must be in canonical form ("10.0.0.1/24")',
      '[1]: Invalid value: "FD00::1/64": must be in canonical form ("fd00::1/64")',
      '[2]: Invalid value: "::ffff:10.0.0.1/120": must be in canonical form ("10.0.0.1/24")',
      '[3]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
    ]),
    status,
  ],
  [
    'consumers without names',
    claim(),
    allocated({}, {reservedFor: [{}]}),
    [
      'status.reservedFor[0].resource: Required value',
      'status.reservedFor[0].name: Required value',
      'status.reservedFor[0].uid: Required value',
    ],
    status,
  ],
  [
    'access of an administrator',
    claim(),
    allocated({adminAccess: true}),
    [
      `${results}adminAccess: Forbidden: admin access to devices requires the \`resource.plat.io/admin-access: true\` label on the containing namespace`,
    ],
    status,
  ],
]);
keepsOnCreation(kinds.resourceClaims, [
  [
    'what belongs to gates that are off is dropped',
    claim(
      {constraints: [{matchAttribute: 'a.example.com/b', distinctAttribute: 'a.example.com/c'}]},
      {
        name: 'r',
        exactly: {...exactly, adminAccess: true, capacity: {requests: {m: '1'}}, tolerations: [{operator: 'Exists'}]},
        firstAvailable: [{name: 'x', ...exactly}],
      },
    ),
    {
      spec: {
        devices: {
          requests: [{name: 'r', exactly: {...exactly, allocationMode: 'ExactCount', count: 1}}],
          constraints: [{matchAttribute: 'a.example.com/b'}],
        },
      },
    },
    {off: ['DRAAdminAccess', 'DRAConsumableCapacity', 'DRADeviceTaints', 'DRAPrioritizedList']},
  ],
]);

test('conditions of binding are kept with their gate alone', async t => {
  const {of} = await startEnvironment({gate: name => name === 'DRADeviceBindingConditions'});
  const claims = of(kinds.resourceClaims);
  const made = await claims.create({metadata: {name: 'c', namespace: 'default'}, ...claim()} as never);
  const bound = await claims.update({...made, ...allocated({bindingConditions: ['a'], bindingFailureConditions: ['b']})} as never, {
    subresource: 'status',
  });

  t.deepEqual(bound.status?.allocation?.devices?.results?.[0]?.bindingConditions, ['a']);
});

test('a template is validated on every update', async t => {
  const {of} = await startEnvironment();
  const templates = of(kinds.resourceClaimTemplates);
  const made = await templates.create({metadata: {name: 't', namespace: 'default'}, spec: claim()} as never);
  const refused = await problems(templates.update({...made, spec: {...made.spec, metadata: {name: 'x'}}}));

  t.is(refused[0], 'spec.metadata.name: Forbidden: cannot be set');
  t.regex(refused[1] ?? '', /^spec: Invalid value: .*: field is immutable$/);
});

const selecting = (expression: string, more: object = {}): Given =>
  claim({}, {name: 'r', exactly: {...exactly, selectors: [{cel: {expression}}], ...more}});
const selectorPath = 'spec.devices.requests[0].exactly.selectors[0].cel.expression';
const nested = (depth: number): string => (depth === 0 ? 'true' : `device.attributes.all(k${depth}, ${nested(depth - 1)})`);
const requesting = (title: string, expression: string, problems: readonly string[], more?: {on: string[]}): Creation => [
  `a selector ${title}`,
  selecting(expression),
  problems.map(problem => `${selectorPath}: ${problem}`),
  more ?? {},
];

testCreations(kinds.resourceClaims, [
  requesting('of the driver', 'device.driver == "d.example"', []),
  requesting(
    'of attributes and capacities',
    'device.attributes["d.example"].model == "a" && device.capacity["d.example"].memory.isGreaterThan(quantity("1Gi"))',
    [],
  ),
  requesting('with a name for a part', 'cel.bind(all, device.attributes["d.example"], all.model == "a")', []),
  requesting('of anything', 'device.attributes["d.example"].good', []),
  requesting('of an attribute that is a version', 'device.attributes["d.example"].version.isGreaterThan(semver("1.0.0"))', []),
  requesting('that is empty', '', [
    `Invalid value: "": compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`,
  ]),
  requesting('of what is not there', 'ABC', [
    `Invalid value: "ABC": compilation failed: ERROR: <input>:1:1: undeclared reference to 'ABC' (in container '')\\n | ABC\\n | ^`.replaceAll(
      '\\n',
      '\n',
    ),
  ]),
  requesting('that is a text', 'device.driver', ['Invalid value: "device.driver": must evaluate to bool or the unknown type, not string']),
  requesting('that costs too much', nested(5), ['Forbidden: too complex, exceeds cost limit']),
  requesting('of sharing where devices are shared', 'device.allowMultipleAllocations', [], {on: ['DRAConsumableCapacity']}),
]);
