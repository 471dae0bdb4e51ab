import {isDeepStrictEqual} from 'node:util';
import test from 'ava';
import {canonicalJson, canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import {parseInSteps, pieceBytes} from '#src/base/json/json-steps.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {runSteps, type Steps} from '#src/base/steps.js';

const item = (index: number) => ({
  metadata: {name: `map-${index}`, annotations: {items: '[{"]}\\', 'a,b': '"'}},
  data: {text: `ü€𝄞 ${'x'.repeat(500)}`, list: [[1], {}], n: -1.5e3, no: null},
});
const items = Array.from({length: 500}, (_, index) => item(index));
const text = 'x'.repeat(3 * pieceBytes);

const values: readonly [title: string, value: unknown][] = [
  ['a list', {kind: 'ConfigMapList', apiVersion: 'v1', metadata: {resourceVersion: '7', continue: '', remainingItemCount: 3}, items}],
  ['a list whose items come first', {items, kind: 'ConfigMapList', apiVersion: 'v1'}],
  ['texts', Array.from({length: 20_000}, (_, index) => `text, ${index}]`)],
  [
    'a map of many keys',
    {
      kind: 'ConfigMap',
      data: Object.fromEntries(
        items.flatMap((_, index) => Array.from({length: 20}, (__, each) => [`key ${index} "${each}"`, `{[${each}`])),
      ),
      last: {},
    },
  ],
  ['one long text among others', {metadata: {text}, text, items: [], more: [text, {text}]}],
  ['lists in lists', Array.from({length: 200}, (_, a) => Array.from({length: 200}, (__, b) => [a, [b, []]]))],
  ['deep objects', {a: {b: {c: {before: items, d: {e: [items, {f: items}], after: 1}}}}, after: {}}],
  [
    'keys of the language itself',
    JSON.parse(`{"__proto__":{"a":1},"constructor":{"x":${JSON.stringify(items)},"__proto__":[1,2]},"7":${JSON.stringify(items)},"1":{}}`),
  ],
  ['a short object', {a: [1]}],
  ['a number', 7],
];

/** Does the work and counts its steps. */
const counted = <T>(work: Steps<T>): {readonly value: T; readonly steps: number} => {
  for (let steps = 0; ; steps++) {
    const next = work.next();
    if (next.done) return {value: next.value, steps};
  }
};

const isFrozenDeep = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozenDeep));

for (const [title, value] of values) {
  test(`${title} is parsed and encoded in steps as in one`, t => {
    for (const indent of [undefined, 1]) {
      const body = Buffer.from(` ${JSON.stringify(value, undefined, indent)}\n`);
      const whole: unknown = JSON.parse(body.toString());
      for (const freezes of [false, true]) {
        const parsed = runSteps(parseInSteps(body, {freezes}));
        t.true(isDeepStrictEqual(parsed, whole));
        t.true(JSON.stringify(parsed) === JSON.stringify(whole));
        t.is(isFrozenDeep(parsed), freezes || isFrozenDeep(whole));
      }
    }
    t.true(runSteps(encodedInSteps(value)).toString() === JSON.stringify(value));
  });
}

test('a step parses and encodes so much and no more', t => {
  for (const value of [{items}, {data: Object.fromEntries(items.map(({data}, index) => [index, data]))}]) {
    const body = Buffer.from(JSON.stringify(value));
    const least = Math.floor(body.length / (2 * pieceBytes));

    t.true(counted(parseInSteps(body)).steps >= least);
    t.true(counted(encodedInSteps(value)).steps >= least);
  }
});

test('values that JSON leaves out are left out', t => {
  const value = {a: undefined, b: [undefined, () => 1], c: {at: new Date(0)}, items, d: Symbol('d'), f: () => 1};

  t.is(runSteps(encodedInSteps(value)).toString(), JSON.stringify(value));
});

test('invalid JSON is refused wherever its fault is', t => {
  const good = JSON.stringify({a: items, b: {c: items, d: [[1], items, 2]}});
  const broken = [
    `${good}}`,
    `${good} x`,
    good.slice(0, -1),
    good.slice(0, -200),
    good.replace('"b"', 'b'),
    good.replace('],"b"', ',],"b"'),
    good.replace('],"b"', '] "b"'),
    good.replace(',"b"', ',,"b"'),
    good.replace('"b":', '"b" '),
    good.replace('[[1],', '[[1]'),
    good.replace('[[1],', '[[1}'),
    good.replace(',2]', ',2}'),
    good.replace(',2]', ' 2]'),
    good.replace(',2]', ',]'),
    good.replace('map-499"', 'map-499'),
    good.replace('{"a":', '{"a" 1:'),
  ];
  for (const at of [70_000, 140_000, 500_000])
    for (const mark of [',', ']', '}', '[', '{', '"', ' x ']) broken.push(`${good.slice(0, at)}${mark}${good.slice(at)}`);

  for (const each of broken) {
    let expected: unknown;
    try {
      expected = JSON.parse(each);
    } catch {
      t.throws(() => runSteps(parseInSteps(Buffer.from(each))), {instanceOf: SyntaxError});
      continue;
    }
    t.true(isDeepStrictEqual(runSteps(parseInSteps(Buffer.from(each))), expected)); // The mark fell into a text.
  }
});

test('a map of very many keys is looked through once, however deep it lies, and others have a turn after that', t => {
  let looks = 0;
  const map = new Proxy(Object.fromEntries(Array.from({length: 20_000}, (_, index) => [`key-${index}`, 'x'])), {
    ownKeys: target => {
      looks++;
      return Reflect.ownKeys(target);
    },
  });
  const work = encodedInSteps({a: {b: {c: map}}});
  const atEach = Array.from({length: 8}, () => {
    work.next();
    return looks;
  });

  t.deepEqual([...new Set(atEach)], [1, 2]); // Once to weigh it, and once to write it.
});

test('a value is written with sorted keys in steps as in one', t => {
  for (const [, value] of values) t.is(runSteps(canonicalJsonInSteps(value)), canonicalJson(value));
  t.true(
    counted(canonicalJsonInSteps({env: Array.from({length: 5000}, (_, index) => ({name: `e${index}`, value: undefined}))})).steps > 5000,
  );
});
