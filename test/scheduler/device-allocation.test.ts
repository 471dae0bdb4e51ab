// Scenarios of upstream's tests of the allocator (dynamic-resource-allocation/structured), one row each: which devices
// are chosen.

import test from 'ava';
import {aClaim, aClass, allocated, allocations, device, devices, driver, oneOf, request, slice, type DeviceCase} from './device-objects.js';

const none = 'cannot allocate all claims';
const one = aClaim('c', [request('r')]);
const two = aClaim('c', [request('r', {count: 2})]);
const all = aClaim('c', [request('r', {count: 'All'})]);

const sized = (size: string) => ({attributes: {size: {string: size}}});
const isSize = (size: string) => `device.attributes["${driver}"].size == "${size}"`;
const small = aClass('small', [`device.driver == "${driver}"`, isSize('s')]);
const large = aClass('large', [`${isSize('s')} || ${isSize('l')}`]);
const mixed = [slice('a', [device('s1', sized('s')), device('l1', sized('l'))])];

const numa = (node: number, more: object = {}) => ({attributes: {numa: {int: node}, ...more}});
const match = (...requests: readonly string[]) => ({constraints: [{requests, matchAttribute: `${driver}/numa`}]});
const distinct = (...requests: readonly string[]) => ({constraints: [{requests, distinctAttribute: `${driver}/numa`}]});

const zone = (name: string) => ({nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: [name]}]}]}});
const zones = {a: {zone: 'x'}, b: {zone: 'y'}};

type Row = readonly [title: string, of: DeviceCase, expected: Record<string, string> | string];

const selection: readonly Row[] = [
  ['a device of the node', {claims: [one], slices: [slice('a', devices('d'))]}, {a: 'r=d', b: none}],
  ['no slices', {claims: [one]}, {a: none, b: none}],
  ['too few devices', {claims: [two], slices: [slice('a', devices('d')), slice('b', devices('d', 'e'))]}, {a: none, b: 'r=d r=e'}],
  ['a class that does not exist', {claims: [one], classes: []}, 'request r: device class any does not exist'],
  [
    'selectors of classes',
    {claims: [aClaim('c', [request('r', {class: 'small'})])], classes: [small], slices: mixed},
    {a: 'r=s1', b: none},
  ],
  ['selectors of requests', {claims: [aClaim('c', [request('r', {select: [isSize('l')]})])], slices: mixed}, {a: 'r=l1', b: none}],
  [
    'another request takes the only small device: the first is tried again',
    {
      claims: [aClaim('c', [request('any', {class: 'large'}), request('small', {class: 'small'})])],
      classes: [small, large],
      slices: mixed,
    },
    {a: 'any=l1 small=s1', b: none},
  ],
  [
    'another claim takes the only small device: the first is tried again',
    {
      claims: [aClaim('c', [request('any', {class: 'large'})]), aClaim('d', [request('small', {class: 'small'})])],
      classes: [small, large],
      slices: mixed,
    },
    {a: 'any=l1; small=s1', b: none},
  ],
  [
    'a domain that no device has',
    {
      claims: [aClaim('c', [request('r', {select: ['!("other.example.com" in device.attributes) && !has(device.attributes["x"].y)']})])],
      slices: mixed,
    },
    {a: 'r=s1', b: none},
  ],
  [
    'capacities and versions',
    {
      claims: [
        aClaim('c', [
          request('r', {
            select: [
              `device.capacity["${driver}"].memory.compareTo(quantity("1Gi")) >= 0`,
              `device.attributes["${driver}"].model.isGreaterThan(semver("1.2.0"))`,
            ],
          }),
        ]),
      ],
      slices: [
        slice('a', [
          device('small', {capacity: {memory: {value: '512Mi'}}, attributes: {model: {version: '2.0.0'}}}),
          device('old', {capacity: {memory: {value: '2Gi'}}, attributes: {model: {version: '1.0.0'}}}),
          device('good', {capacity: {memory: {value: '2Gi'}}, attributes: {model: {version: '1.10.0'}}}),
        ]),
      ],
    },
    {a: 'r=good', b: none},
  ],
  [
    'devices of several slices and drivers',
    {
      claims: [aClaim('c', [request('r', {count: 2}), request('s', {select: ['device.driver == "other.example.com"']})])],
      slices: [
        slice('a', devices('d'), {count: 2}),
        slice('a', devices('e'), {count: 2}),
        slice('a', devices('f'), {driver: 'other.example.com'}),
      ],
    },
    {a: 'r=d r=e s=f', b: none},
  ],
];

const pools: readonly Row[] = [
  [
    'only the newest generation counts',
    {claims: [one], slices: [slice('a', devices('old')), slice('a', devices('new'), {generation: 2})]},
    {a: 'r=new', b: none},
  ],
  [
    'a newer generation on another node makes the old one obsolete',
    {claims: [one], slices: [slice('a', devices('old'), {pool: 'p'}), slice('b', devices('new'), {pool: 'p', generation: 2})]},
    {a: none, b: 'r=new'},
  ],
  ['an incomplete pool gives nothing', {claims: [one], slices: [slice('a', devices('d'), {count: 2})]}, {a: none, b: none}],
  [
    'names that are not unique make a pool invalid',
    {claims: [one], slices: [slice('a', devices('d'), {count: 2}), slice('a', devices('d'), {count: 2})]},
    {a: 'invalid resource pools were encountered', b: none},
  ],
  ['a slice for all nodes', {claims: [one], slices: [slice({allNodes: true}, devices('d'))]}, {a: 'r=d', b: 'r=d'}],
  ['a slice for selected nodes', {claims: [one], slices: [slice(zone('y'), devices('d'))], nodes: zones}, {a: none, b: 'r=d'}],
  [
    'nodes of single devices',
    {
      gates: ['DRAPartitionableDevices'],
      claims: [one],
      slices: [slice({perDeviceNodeSelection: true}, [device('x', zone('x')), device('b', {nodeName: 'b'})])],
      nodes: zones,
    },
    {a: 'r=x', b: 'r=b'},
  ],
  [
    'nodes of single devices, without the gate',
    {claims: [one], slices: [slice({perDeviceNodeSelection: true}, [device('x', {allNodes: true})])]},
    {a: none, b: none},
  ],
];

const counts: readonly Row[] = [
  ['all devices', {claims: [all], slices: [slice('a', devices('d', 'e'))]}, {a: 'r=d r=e', b: none}],
  [
    'all devices, one of them in use',
    {claims: [all], slices: [slice('a', devices('d', 'e'))], others: [aClaim('o', [], {}, allocated('d'))]},
    {a: none, b: none},
  ],
  [
    'all devices that match',
    {claims: [aClaim('c', [request('r', {count: 'All', select: [isSize('s')]})])], slices: mixed},
    {a: 'r=s1', b: none},
  ],
  [
    'as many devices as a claim can have',
    {
      claims: [aClaim('c', [request('r', {count: 'All'})])],
      slices: [slice('a', devices(...Array.from({length: 33}, (_, i) => `d${i}`)))],
      nodes: {b: {}},
    },
    {b: none},
  ],
];

const uses: readonly Row[] = [
  [
    'a device in use',
    {claims: [one], slices: [slice('a', devices('d', 'e'))], others: [aClaim('o', [], {}, allocated('d'))]},
    {a: 'r=e', b: none},
  ],
  [
    'access for administrators to a device in use',
    {
      claims: [aClaim('c', [request('r', {more: {adminAccess: true}})])],
      slices: [slice('a', devices('d'))],
      others: [aClaim('o', [], {}, allocated('d'))],
    },
    {a: 'r=d', b: none},
  ],
  [
    'access for administrators is no use of a device',
    {claims: [one], slices: [slice('a', devices('d'))], others: [aClaim('o', [], {}, allocated({device: 'd', adminAccess: true}))]},
    {a: 'r=d', b: none},
  ],
  [
    'an administrator gets each device once',
    {claims: [aClaim('c', [request('r', {count: 2, more: {adminAccess: true}})])], slices: [slice('a', devices('d', 'e'))]},
    {a: 'r=d r=e', b: none},
  ],
];

const constraints: readonly Row[] = [
  [
    'equal attributes',
    {
      claims: [aClaim('c', [request('r', {count: 2})], match())],
      slices: [slice('a', [device('d', numa(1)), device('e', numa(2)), device('f', numa(2)), device('g')])],
    },
    {a: 'r=e r=f', b: none},
  ],
  [
    'equal attributes of some requests',
    {
      claims: [aClaim('c', [request('r'), request('s'), request('free')], match('r', 's'))],
      slices: [slice('a', [device('d', numa(1)), device('e', numa(2)), device('f', numa(2))])],
    },
    {a: 'r=e s=f free=d', b: none},
  ],
  [
    'attributes of another type are not equal',
    {
      claims: [aClaim('c', [request('r', {count: 2})], match())],
      slices: [slice('a', [device('d', numa(1)), device('e', {attributes: {numa: {string: '1'}}})])],
    },
    {a: none, b: none},
  ],
  [
    'distinct attributes',
    {
      claims: [aClaim('c', [request('r', {count: 2})], distinct())],
      slices: [slice('a', [device('d', numa(1)), device('e', numa(1)), device('f', numa(2))])],
    },
    {a: 'r=d r=f', b: none},
  ],
  [
    'attributes with the domain of the driver',
    {
      claims: [aClaim('c', [request('r', {count: 2})], match())],
      slices: [slice('a', [device('d', numa(1)), device('e', {attributes: {[`${driver}/numa`]: {int: 1}}})])],
    },
    {a: 'r=d r=e', b: none},
  ],
];

const alternatives: readonly Row[] = [
  [
    'the first alternative',
    {claims: [aClaim('c', [oneOf('r', {name: 'l', select: [isSize('l')]}, {name: 's', select: [isSize('s')]})])], slices: mixed},
    {a: 'r/l=l1', b: none},
  ],
  [
    'the next alternative',
    {claims: [aClaim('c', [oneOf('r', {name: 'x', select: [isSize('x')]}, {name: 's', count: 2})])], slices: mixed},
    {a: 'r/s=s1 r/s=l1', b: none},
  ],
  [
    'the next alternative, for the sake of another request',
    {
      claims: [aClaim('c', [oneOf('r', {name: 'both', count: 2}, {name: 'one', count: 1}), request('s')])],
      slices: mixed,
    },
    {a: 'r/one=s1 s=l1', b: none},
  ],
  [
    'a constraint on one alternative',
    {
      claims: [aClaim('c', [oneOf('r', {name: 'pair', count: 2}, {name: 'one'})], match('r/pair'))],
      slices: [slice('a', [device('d', numa(1)), device('e', numa(2))])],
    },
    {a: 'r/one=d', b: none},
  ],
];

for (const [topic, rows] of Object.entries({selection, pools, counts, uses, constraints, alternatives})) {
  for (const [title, of, expected] of rows) test(`devices by ${topic}: ${title}`, async t => t.deepEqual(await allocations(of), expected));
}
