import test from 'ava';
import {packSlices} from '#controllers/endpointslice/packing.js';
import {endpointText, type Endpoint} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';
import type {Slice} from './backends.js';
import {namespace} from './workloads.js';
import {endpoint, slice} from './slices.js';

const range = (from: number, to: number): Endpoint[] => Array.from({length: to - from}, (_, i) => endpoint(String(from + i)));

// Three endpoints a slice.
for (const [what, slices, wanted, expected] of [
  ['no endpoints', [], [], {}],
  ['more than one slice holds', [], range(0, 7), {creates: [3, 3, 1]}],
  ['existing endpoints', [slice('a', ...range(0, 3)), slice('b', ...range(3, 4))], range(0, 4), {unchanged: ['a', 'b']}],
  [
    'one more in the slice that has room for it',
    [slice('a', ...range(0, 3)), slice('b', ...range(3, 4))],
    range(0, 5),
    {updates: {b: 2}, unchanged: ['a']},
  ],
  [
    'one more in the fullest slice that has room',
    [slice('a', ...range(0, 1)), slice('b', ...range(1, 3))],
    range(0, 4),
    {updates: {b: 3}, unchanged: ['a']},
  ],
  [
    'two more in a new slice, where none has room for both',
    [slice('a', ...range(0, 2)), slice('b', ...range(2, 4))],
    range(0, 6),
    {creates: [2], unchanged: ['a', 'b']},
  ],
  [
    'new ones first of all in slices that are written anyway, the fullest first',
    [slice('a', ...range(0, 3)), slice('b', ...range(3, 6)), slice('c', endpoint('9'))],
    [...range(2, 3), ...range(3, 5), ...range(6, 9), endpoint('9')],
    {updates: {a: 3, b: 3}, unchanged: ['c']},
  ],
  [
    'those that are left where they are, however few',
    [slice('a', ...range(0, 3)), slice('b', ...range(3, 6))],
    [endpoint('0'), endpoint('3')],
    {updates: {a: 1, b: 1}},
  ],
  ['no endpoints any more', [slice('a', ...range(0, 2)), slice('b', ...range(2, 3))], [], {deletes: ['a', 'b']}],
  [
    'one whose state is another',
    [slice('a', ...range(0, 2)), slice('b', ...range(2, 3))],
    [endpoint('0', false), endpoint('1'), endpoint('2')],
    {updates: {a: 2}, unchanged: ['b']},
  ],
  [
    'an address that is there twice, once',
    [slice('a', endpoint('0')), slice('b', endpoint('0'), endpoint('1'))],
    range(0, 2),
    {updates: {b: 1}, unchanged: ['a']},
  ],
  [
    'the labels of the service',
    [slice('unlabelled', endpoint('0')), slice('b', endpoint('1'))],
    range(0, 2),
    {updates: {unlabelled: 1}, unchanged: ['b']},
  ],
  ['as many as fill one slice in a new one', [slice('a')], range(0, 3), {creates: [3], unchanged: ['a']}],
  ['the first one in the empty slice', [slice('a')], range(0, 1), {updates: {a: 1}}],
] as const satisfies readonly (readonly [
  string,
  readonly Slice[],
  readonly Endpoint[],
  {creates?: readonly number[]; updates?: Record<string, number>; deletes?: readonly string[]; unchanged?: readonly string[]},
])[]) {
  test(`packs ${what}`, t => {
    const group = {ports: [], wanted: new Map(wanted.map(each => [endpointText(each), each]))};
    const packing = packSlices(slices as readonly Frozen<Slice>[], group, {
      maxEndpoints: 3,
      isLabelled: ({metadata}) => metadata?.name !== 'unlabelled',
    });

    const names = (of: readonly Frozen<Slice>[]) => of.map(({metadata}) => metadata!.name!);
    t.deepEqual(
      {
        creates: packing.creates.map(({endpoints}) => endpoints.length),
        updates: Object.fromEntries(packing.updates.map(({existing, endpoints}) => [existing!.metadata!.name!, endpoints.length])),
        deletes: names(packing.deletes),
        unchanged: names(packing.unchanged),
      },
      {creates: [], updates: {}, deletes: [], unchanged: [], ...expected} as never,
    );
  });
}

test('packs ten thousand endpoints into their slices with one read of each', t => {
  const all = Array.from({length: 10_000}, (_, i): Endpoint => ({
    addresses: [`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`],
    conditions: {},
    targetRef: {kind: 'Pod', namespace, name: `p${i}`},
  }));
  const slices = Array.from({length: 100}, (_, i) => slice(`s${i}`, ...all.slice(i * 100, i * 100 + 100)));
  let looks = 0;
  const counted = all.map(
    each => new Proxy(each, {get: (target, field) => (field === 'addresses' && looks++, Reflect.get(target, field))}),
  );
  const packing = packSlices(
    slices as readonly Frozen<Slice>[],
    {ports: [], wanted: new Map(counted.map(each => [endpointText(each), each]))},
    {maxEndpoints: 100, isLabelled: () => true},
  );

  t.is(packing.unchanged.length, 100);
  t.true(looks <= 20_000);
});
