import test from 'ava';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import {applyJsonPatch} from '#src/schema/patch/json-patch.js';
import {applyMergePatch, createMergePatch} from '#src/schema/patch/merge-patch.js';
import {parsePatch, patchedObject} from '#src/schema/patch/patch.js';
import {applyStrategicPatch} from '#src/schema/patch/strategic-merge.js';
import {isStatus} from '#test/api/status-of.js';
import {configMap, containers, generic, pod} from './patched-types.js';

const jsonPatches: readonly [document: unknown, patch: unknown, result: unknown][] = [
  [{a: 1}, [{op: 'add', path: '/b', value: 2}], {a: 1, b: 2}],
  [{a: [1, 2]}, [{op: 'add', path: '/a/1', value: 9}], {a: [1, 9, 2]}],
  [{a: [1]}, [{op: 'add', path: '/a/-', value: 2}], {a: [1, 2]}],
  [{a: [1, 2]}, [{op: 'add', path: '/a/2', value: 3}], {a: [1, 2, 3]}],
  [{a: [1, 2]}, [{op: 'remove', path: '/a/-1'}], {a: [1]}],
  [{a: 1, b: 2}, [{op: 'remove', path: '/a'}], {b: 2}],
  [{a: {b: 1}}, [{op: 'replace', path: '/a/b', value: null}], {a: {b: null}}],
  [{a: {}}, [{op: 'replace', path: '/a/new', value: 1}], {a: {new: 1}}],
  [{a: 1}, [{op: 'replace', path: '', value: {b: 1}}], {b: 1}],
  [{a: {x: 1}}, [{op: 'move', from: '/a/x', path: '/b'}], {a: {}, b: 1}],
  [
    {a: {x: 1}},
    [
      {op: 'copy', from: '/a', path: '/b'},
      {op: 'add', path: '/b/y', value: 2},
    ],
    {a: {x: 1}, b: {x: 1, y: 2}},
  ],
  [
    {'a/b': {'c~d': 1}},
    [
      {op: 'test', path: '/a~1b/c~0d', value: 1},
      {op: 'remove', path: '/a~1b/c~0d'},
    ],
    {'a/b': {}},
  ],
  [{a: [{x: 1, y: 2}]}, [{op: 'test', path: '/a', value: [{y: 2, x: 1}]}], {a: [{x: 1, y: 2}]}],
  [{a: 1}, [{op: 'test', path: '/b', value: null}], {a: 1}],
];

test('JSON patches work on a copy', t => {
  for (const [document, patch, result] of jsonPatches) {
    const before = copied(document);
    t.deepEqual(applyJsonPatch(document, {operations: patch as never}), result, JSON.stringify(patch));
    t.deepEqual(document, before);
  }
});

for (const patch of [
  [{op: 'remove', path: '/missing'}],
  [{op: 'add', path: '/x/y', value: 1}],
  [{op: 'add', path: '', value: 1}],
  [{op: 'add', path: '/list/5', value: 1}],
  [{op: 'add', path: '/list/x', value: 1}],
  [{op: 'replace', path: '/list/1', value: 1}],
  [{op: 'move', from: '/missing', path: '/a'}],
  [{op: 'test', path: '/a', value: 2}],
  [{op: 'jump', path: '/a'}],
  [{op: 'add', value: 1}],
  [{path: '/a'}],
  [{op: 'copy', path: '/b'}],
  [{op: 'replace', path: '', value: 1}],
  [{op: 'add', path: '/__proto__/x', value: 1}],
  [{op: 'add', path: '/constructor/prototype/x', value: 1}],
  Array.from({length: 40}, (_, index) => ({op: 'copy', from: '', path: `/a${index}`})),
]) {
  test(`the JSON patch ${JSON.stringify(patch).slice(0, 60)} fails as a whole`, t => {
    isStatus(t, () => applyJsonPatch({a: 1, list: [0]}, {operations: patch as never}), 422, 'Invalid', generic);
  });
}

// As the original answers, whose operations work on texts.
const tested: readonly [operations: string, holds: boolean][] = [
  ['{"op":"test","path":"/n","value":1}', true],
  ['{"op":"test","path":"/n","value":1.0}', false],
  ['{"op":"test","path":"/n","value":1e0}', false],
  ['{"op":"test","path":"/f","value":1.50}', false],
  ['{"op":"test","path":"/zero","value":-0}', false],
  ['{"op":"test","path":"/s","value":"<é>"}', false],
  ['{"op":"test","path":"/s","value":"\\u003cé\\u003e"}', true],
  ['{"op":"test","path":"/s","value":"\\u003Cé\\u003e"}', false],
  ['{"op":"test","path":"/s","value":"\\u003c\\u00e9\\u003e"}', false],
  ['{"op":"test","path":"/big","value":9007199254740993}', true],
  ['{"op":"add","path":"/e","value":[1.0,"<"]},{"op":"add","path":"/e/-","value":2},{"op":"test","path":"/e","value":[1.0,"<",2]}', true],
  ['{"op":"add","path":"/e","value":1.0},{"op":"test","path":"/e","value":1}', false],
  ['{"op":"add","path":"/e","value":1.0},{"op":"move","from":"/e","path":"/g"},{"op":"test","path":"/g","value":1.0}', true],
  ['{"op":"add","path":"/e","value":{"a":"<"}},{"op":"copy","from":"/e","path":"/g"},{"op":"test","path":"/g","value":{"a":"<"}}', false],
  ['{"op":"add","path":"/e","value":{"a":"<"}},{"op":"copy","from":"/e","path":"/g"},{"op":"test","path":"/g/a","value":"\\u003c"}', true],
];

test('a test operation compares the literals of scalars, those of a copy as they are written anew', t => {
  const live = {n: 1, f: 1.5, zero: 0, s: '<é>', big: 9007199254740993n};
  for (const [operations, holds] of tested) {
    const patch = parsePatch('json', `[${operations}]`, 'Warn');
    const apply = () => patchedObject(patch, live, {type: 'map', items: {type: 'any'}}, 'Ignore').object;
    if (holds) t.like(apply(), {n: 1, s: '<é>'}, operations);
    else isStatus(t, apply, 422, 'Invalid', generic);
  }
});

test('a patch moves so many items of lists and no more', t => {
  const list = Array.from({length: 5000}, () => 0);
  const inserts = (count: number) => Array.from({length: count}, () => ({op: 'add', path: '/0', value: 1}));

  t.is((applyJsonPatch(list, {operations: inserts(1000)}) as unknown[]).length, 6000);
  t.throws(() => applyJsonPatch(list, {operations: inserts(5000)}), {
    message: 'the server rejected our request due to an error in our request',
  });
});

test('copying cannot grow a document without bounds', t => {
  const patch = Array.from({length: 200}, (_, index) => ({op: 'copy', from: '/a', path: `/a/a${index}`}));
  isStatus(t, () => applyJsonPatch({a: {text: 'x'.repeat(1000)}}, {operations: patch}), 422, 'Invalid', generic);
});

// The cases of RFC 7386, appendix A, that have an object for a document.
const mergePatches: readonly [document: PlainObject, patch: PlainObject, result: PlainObject][] = [
  [{a: 'b'}, {a: 'c'}, {a: 'c'}],
  [{a: 'b'}, {b: 'c'}, {a: 'b', b: 'c'}],
  [{a: 'b'}, {a: null}, {}],
  [{a: 'b', b: 'c'}, {a: null}, {b: 'c'}],
  [{a: ['b']}, {a: 'c'}, {a: 'c'}],
  [{a: 'c'}, {a: ['b']}, {a: ['b']}],
  [{a: {b: 'c'}}, {a: {b: 'd', c: null}}, {a: {b: 'd'}}],
  [{a: [{b: 'c'}]}, {a: [1]}, {a: [1]}],
  [{e: null}, {a: 1}, {e: null, a: 1}],
  [{}, {a: {bb: {ccc: null}}}, {a: {bb: {}}}],
];

test('merge patches work on a copy', t => {
  for (const [document, patch, result] of mergePatches) {
    const before = copied(document);
    t.deepEqual(applyMergePatch(document, patch), result, JSON.stringify(patch));
    t.deepEqual(document, before);
    t.deepEqual(applyMergePatch(document, createMergePatch(document, result)), result);
  }
});

test('a merge patch that is made from two values names only what differs', t => {
  const made: readonly [from: PlainObject, to: PlainObject, patch: PlainObject][] = [
    [{a: {b: 1, c: [{d: 2, e: 3}]}}, {a: {c: [{e: 3, d: 2}], b: 1}}, {}],
    [
      {a: 1, b: {c: 2}},
      {a: undefined, b: {c: undefined}, d: undefined},
      {a: null, b: {c: null}},
    ],
    [{a: undefined, b: {c: undefined}}, {b: {}}, {}],
    [{a: {}}, {a: {toString: 'x'}}, {a: {toString: 'x'}}],
    [{a: {toString: 'x'}}, {a: {}}, {a: {toString: null}}],
    [{at: '1970-01-01T00:00:00.000Z', b: {c: 1}}, {at: new Date(0), b: {c: new Date(1)}}, {b: {c: '1970-01-01T00:00:00.001Z'}}],
  ];
  for (const [from, to, patch] of made) t.deepEqual(createMergePatch(from, to), patch, JSON.stringify(from));
  t.throws(() => createMergePatch({status: {sizes: [1]}}, {status: {sizes: [Number.NaN]}}), {
    message: 'status.sizes[0]: NaN is not valid JSON',
  });
});

const patchedOrders: readonly [live: string, patch: string, result: string][] = [
  ['ab', 'bc', 'abc'],
  ['abc', 'cb', 'acb'],
  ['abcd', 'dxb', 'acdxb'],
  ['abc', 'c', 'abc'],
  ['abc', 'z', 'zabc'],
  ['abc', 'zb', 'zabc'],
];

test('items named in a patch are in its order, and the others keep their place relative to them, or follow', t => {
  for (const [live, patch, result] of patchedOrders) {
    const named = (names: string) => containers(...[...names].map(name => ({name})));
    t.deepEqual(applyStrategicPatch(named(live), named(patch), pod), named(result), `${live} ${patch}`);
    const finalizers = (names: string) => ({metadata: {finalizers: [...names]}});
    t.deepEqual(applyStrategicPatch(finalizers(live), finalizers(patch), configMap), finalizers(result), `${live} ${patch}`);
  }
  t.deepEqual(
    applyStrategicPatch(containers({name: 'a'}, {name: 'b'}), containers({name: 'b', $patch: 'delete'}, {name: 'z'}), pod),
    containers({name: 'z'}, {name: 'a'}),
  );
});

test('a merge patch cannot reach a prototype', t => {
  applyMergePatch({a: 1}, JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as PlainObject);
  t.is(({} as {polluted?: number}).polluted, undefined);
});

test('a patch decodes what it changes, and copies the frozen parts that it leaves', t => {
  const labels = Object.freeze({tier: 'front'});
  const live = Object.freeze({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: Object.freeze({name: 'a', labels, annotations: null}),
    spec: Object.freeze({containers: Object.freeze([Object.freeze({name: 'a', image: 'b', args: null})])}),
  });
  const {object} = patchedObject(
    parsePatch('merge', '{"metadata":{"creationTimestamp":"2026-01-01T01:00:00+01:00"}}', 'Strict'),
    live as unknown as PlainObject,
    pod,
    'Strict',
  );
  t.deepEqual(object, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name: 'a', labels, creationTimestamp: '2026-01-01T00:00:00Z'},
    spec: {containers: [{name: 'a', image: 'b'}]},
  });
  t.not((object['metadata'] as PlainObject)['labels'], labels);
  t.false(Object.isFrozen(object['spec']));
  const wrong = Object.freeze({...live, spec: Object.freeze({containers: 7})});
  t.deepEqual(
    (
      patchedObject(parsePatch('merge', '{"metadata":{"name":"a"}}', 'Strict'), wrong as unknown as PlainObject, pod, 'Strict')
        .object as PlainObject
    )['spec'],
    {containers: 7},
  );
});
