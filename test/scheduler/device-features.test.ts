// Further scenarios of upstream's tests of the allocator: features behind gates, errors, and the allocations that are
// written.

import test from 'ava';
import {
  aClaim,
  aClass,
  allocated,
  allocations,
  device,
  devices,
  driver,
  oneOf,
  request,
  scheduled,
  slice,
  type DeviceCase,
} from './device-objects.js';

const none = 'cannot allocate all claims';
const one = aClaim('c', [request('r')]);
const two = aClaim('c', [request('r', {count: 2})]);
const all = aClaim('c', [request('r', {count: 'All'})]);

const sized = (size: string) => ({attributes: {size: {string: size}}});
const mixed = [slice('a', [device('s1', sized('s')), device('l1', sized('l'))])];

const match = (...requests: readonly string[]) => ({constraints: [{requests, matchAttribute: `${driver}/numa`}]});

const zone = (name: string) => ({nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: [name]}]}]}});
const zones = {a: {zone: 'x'}, b: {zone: 'y'}};

const taint = (effect: string, more: object = {}) => ({taints: [{key: 'bad', value: 'yes', effect, ...more}]});
const tolerant = (toleration: object) => aClaim('c', [request('r', {more: {tolerations: [toleration]}})]);
const taints = ['DRADeviceTaints'];

type Row = readonly [title: string, of: DeviceCase, expected: Record<string, string> | string];

const tainted: readonly Row[] = [
  ...(['NoSchedule', 'NoExecute'] as const).map((effect): Row => [
    `a taint ${effect}`,
    {gates: taints, claims: [one], slices: [slice('a', [device('d', taint(effect))])]},
    {a: none, b: none},
  ]),
  ['a taint None', {gates: taints, claims: [one], slices: [slice('a', [device('d', taint('None'))])]}, {a: 'r=d', b: none}],
  ['a taint, without the gate', {claims: [one], slices: [slice('a', [device('d', taint('NoSchedule'))])]}, {a: 'r=d', b: none}],
  [
    'a tolerated taint',
    {
      gates: taints,
      claims: [tolerant({key: 'bad', operator: 'Exists', effect: 'NoSchedule'})],
      slices: [slice('a', [device('d', taint('NoSchedule'))])],
    },
    {a: 'r=d', b: none},
  ],
  [
    'a toleration of another value',
    {
      gates: taints,
      claims: [tolerant({key: 'bad', operator: 'Equal', value: 'no'})],
      slices: [slice('a', [device('d', taint('NoSchedule'))])],
    },
    {a: none, b: none},
  ],
  [
    'a taint of a rule',
    {
      gates: ['DRADeviceTaints', 'DRADeviceTaintRules'],
      claims: [one],
      slices: [slice('a', devices('d', 'e'))],
      rules: [
        {
          metadata: {name: 'r', uid: 'r'},
          spec: {deviceSelector: {pool: 'a', device: 'd'}, taint: {key: 'k', effect: 'NoSchedule'}},
        } as never,
      ],
    },
    {a: 'r=e', b: none},
  ],
];

const memory = (value: string) => [{counterSet: 'gpu', counters: {memory: {value}}}];
const parts = (...list: readonly (readonly [name: string, memory: string])[]) =>
  list.map(([name, amount]) => device(name, {consumesCounters: memory(amount)}));
const gpu = (...list: readonly (readonly [name: string, memory: string])[]) => [
  slice('a', parts(...list), {count: 2}),
  slice({nodeName: 'a', sharedCounters: [{name: 'gpu', counters: {memory: {value: '8Gi'}}}]}, [], {pool: 'a', count: 2}),
];
const partitions = ['DRAPartitionableDevices'];

const counters: readonly Row[] = [
  [
    'parts within the counters',
    {gates: partitions, claims: [two], slices: gpu(['whole', '8Gi'], ['x', '4Gi'], ['y', '4Gi'])},
    {a: 'r=x r=y', b: none},
  ],
  ['parts beyond the counters', {gates: partitions, claims: [two], slices: gpu(['whole', '8Gi'], ['x', '4Gi'])}, {a: none, b: none}],
  [
    'counters of devices in use',
    {
      gates: partitions,
      claims: [one],
      slices: gpu(['whole', '8Gi'], ['x', '4Gi'], ['y', '4Gi']),
      others: [aClaim('o', [], {}, allocated('x'))],
    },
    {a: 'r=y', b: none},
  ],
  [
    'a counter set that does not exist',
    {gates: partitions, claims: [one], slices: [slice('a', parts(['x', '1Gi']))]},
    {a: 'invalid resource pools were encountered', b: none},
  ],
  ['parts, without the gate', {claims: [one], slices: [slice('a', parts(['x', '1Gi']))]}, {a: none, b: none}],
];

const shareable = (value: string, requestPolicy?: object) =>
  device('d', {allowMultipleAllocations: true, capacity: {bandwidth: {value, ...(requestPolicy ? {requestPolicy} : {})}}});
const asking = (name: string, bandwidth: string) => aClaim(name, [request('r', {more: {capacity: {requests: {bandwidth}}}})]);
const used = (bandwidth: string) => aClaim('o', [], {}, allocated({device: 'd', shareID: 'x', consumedCapacity: {bandwidth}}));
const sharing = ['DRAConsumableCapacity'];

const capacity: readonly Row[] = [
  [
    'capacity that is left',
    {gates: sharing, claims: [asking('c', '4G')], slices: [slice('a', [shareable('10G')])], others: [used('6G')]},
    {a: 'r=d', b: none},
  ],
  [
    'too little capacity',
    {gates: sharing, claims: [asking('c', '5G')], slices: [slice('a', [shareable('10G')])], others: [used('6G')]},
    {a: none, b: none},
  ],
  [
    'two claims share a device',
    {gates: sharing, claims: [asking('c', '5G'), asking('d', '5G')], slices: [slice('a', [shareable('10G')])]},
    {a: 'r=d; r=d', b: none},
  ],
  [
    'two claims want more than there is',
    {gates: sharing, claims: [asking('c', '5G'), asking('d', '6G')], slices: [slice('a', [shareable('10G')])]},
    {a: none, b: none},
  ],
  [
    'without a request for capacity, all of it',
    {gates: sharing, claims: [one], slices: [slice('a', [shareable('10G')])], others: [used('1G')]},
    {a: none, b: none},
  ],
  [
    'the default of the policy',
    {gates: sharing, claims: [one], slices: [slice('a', [shareable('10G', {default: '2G'})])], others: [used('8G')]},
    {a: 'r=d', b: none},
  ],
  [
    'a capacity that the device lacks',
    {
      gates: sharing,
      claims: [aClaim('c', [request('r', {more: {capacity: {requests: {other: '1'}}}})])],
      slices: [slice('a', [shareable('10G')])],
    },
    {a: none, b: none},
  ],
  [
    'more than the range of the policy',
    {
      gates: sharing,
      claims: [asking('c', '5G')],
      slices: [slice('a', [shareable('10G', {default: '1G', validRange: {min: '1G', max: '4G'}})])],
    },
    {a: none, b: none},
  ],
];

const conditional = device('late', {bindingConditions: ['ready'], bindingFailureConditions: ['failed']});
const conditions: readonly Row[] = [
  ['devices with binding conditions, without the gate', {claims: [one], slices: [slice('a', [conditional])]}, {a: none, b: none}],
  [
    'devices with binding conditions come last',
    {
      gates: ['DRADeviceBindingConditions'],
      claims: [one],
      slices: [slice('a', [conditional], {count: 2}), slice('a', devices('z'), {count: 2})],
    },
    {a: 'r=z', b: none},
  ],
  [
    'devices with binding conditions, where there are no others',
    {gates: ['DRADeviceBindingConditions'], claims: [one], slices: [slice('a', [conditional])]},
    {a: 'r=late', b: none},
  ],
];

for (const [topic, rows] of Object.entries({tainted, counters, capacity, conditions})) {
  for (const [title, of, expected] of rows) test(`devices by ${topic}: ${title}`, async t => t.deepEqual(await allocations(of), expected));
}

const problems: readonly (readonly [title: string, of: DeviceCase, message: RegExp])[] = [
  [
    'a selector that does not compile',
    {claims: [aClaim('c', [request('r', {select: ['no such']})])], slices: mixed},
    /^running "DynamicResources" filter plugin: claim default\/c: selector #0: CEL compile error: compilation failed: /,
  ],
  [
    'a selector that fails',
    {
      claims: [aClaim('c', [request('r', {class: 'bad'})])],
      classes: [aClass('bad', [`device.attributes["${driver}"].nope`])],
      slices: mixed,
    },
    /filter plugin: class bad: selector #0: CEL runtime error: no such key: nope$/,
  ],
  [
    'all devices of a pool that is incomplete',
    {claims: [all], slices: [slice('a', devices('d'), {count: 2})]},
    /claim default\/c, request r: asks for all devices, but resource pool driver.example.com\/a is currently being updated$/,
  ],
  [
    'all devices, of which one does not meet a constraint',
    {claims: [aClaim('c', [request('r', {count: 'All'})], match())], slices: [slice('a', devices('d'))]},
    /claim default\/c, request r: cannot add device driver.example.com\/a\/d because a claim constraint would not be satisfied$/,
  ],
  [
    'more devices than a claim can have',
    {claims: [aClaim('c', [request('r', {count: 33})])], slices: [slice('a', devices('d'))]},
    /claim default\/c: number of requested devices 33 exceeds the claim limit of 32$/,
  ],
  [
    'capacity, without the gate',
    {claims: [asking('c', '1')], slices: [slice('a', devices('d'))]},
    /claim default\/c, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled$/,
  ],
];
for (const [title, of, message] of problems)
  test(`scheduling ends with an error: ${title}`, async t => void (await t.throwsAsync(allocations(of), {message})));

test('the allocation has the configuration of classes and of the claim, and the tolerations', async t => {
  const opaque = (parameters: object) => ({opaque: {driver, parameters}});
  const tolerations = [{key: 'bad', operator: 'Exists'}];
  const {found} = await scheduled({
    classes: [aClass('any', [], {config: [opaque({of: 'class'})]}), aClass('other')],
    claims: [
      aClaim(
        'c',
        [
          oneOf('r', {name: 'x', count: 2}, {name: 'y', more: {tolerations}}),
          request('s'),
          request('t', {class: 'other', select: ['false || true']}),
        ],
        {
          config: [{requests: ['s'], ...opaque({of: 's'})}, {requests: ['r/x'], ...opaque({of: 'x'})}, opaque({of: 'all'})],
        },
      ),
    ],
    slices: [slice('a', devices('d', 'e', 'f'))],
  });

  const allocation = found.get('a');
  t.deepEqual(typeof allocation === 'object' && allocation.granted[0]!.allocation, {
    devices: {
      results: [
        {request: 'r/y', driver, pool: 'a', device: 'd', tolerations},
        {request: 's', driver, pool: 'a', device: 'e'},
        {request: 't', driver, pool: 'a', device: 'f'},
      ],
      config: [
        {source: 'FromClass', requests: ['r/y', 's'], ...opaque({of: 'class'})},
        {source: 'FromClaim', requests: ['s'], ...opaque({of: 's'})},
        {source: 'FromClaim', ...opaque({of: 'all'})},
      ],
    },
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: 'metadata.name', operator: 'In', values: ['a']}]}]},
  } as never);
});

test('the allocation is for the nodes that all devices have in common', async t => {
  const both = [{key: 'zone', operator: 'In', values: ['x']}];
  const {found} = await scheduled({
    claims: [two],
    slices: [
      slice(zone('x'), devices('d'), {pool: 'p'}),
      slice(zone('x'), devices('e'), {pool: 'q'}),
      slice({allNodes: true}, [], {pool: 'r'}),
    ],
    nodes: zones,
  });

  const allocation = found.get('a');
  t.deepEqual(typeof allocation === 'object' && allocation.granted[0]!.allocation.nodeSelector, {
    nodeSelectorTerms: [{matchExpressions: both}],
  } as never);
});

test('a share has an identifier, and what it consumes, rounded by the policy', async t => {
  const policy = {default: '1G', validRange: {min: '1G', max: '8G', step: '2G'}};
  const {found} = await scheduled({gates: sharing, claims: [asking('c', '4G')], slices: [slice('a', [shareable('10G', policy)])]});

  const allocation = found.get('a');
  const [result] = (typeof allocation === 'object' && allocation.granted[0]!.allocation.devices?.results) || [];
  t.regex(result!.shareID!, /^[0-9a-f-]{36}$/);
  t.deepEqual(result!.consumedCapacity as never, {bandwidth: '5000000000'});
});
