import {runInNewContext} from 'node:vm';
import test from 'ava';
import {isJson, jsonCopy, jsonOf} from '#src/base/json/json-value.js';

class Money {
  amount = 1;
}

const circle: {list: unknown[]} = {list: []};
circle.list.push({back: circle});

const refused: readonly [value: unknown, message: string][] = [
  [{spec: {items: [0, 1, 2, {at: Number.NaN}]}}, 'spec.items[3].at: NaN is not valid JSON'],
  [{a: Number.NEGATIVE_INFINITY}, 'a: -Infinity is not valid JSON'],
  [{a: new Map([['b', 1]])}, 'a: a Map is not valid JSON: use an object'],
  [{a: [new Set()]}, 'a[0]: a Set is not valid JSON: use a list'],
  [{a: () => 1}, 'a: a function is not valid JSON'],
  [{a: Symbol('b')}, 'a: a symbol is not valid JSON'],
  [{a: 10n}, 'a: the BigInt 10 is not valid JSON: use a number'],
  [{a: new Money()}, 'a: a Money is not valid JSON: use an object, or give it a method toJSON'],
  [{a: new Error('b')}, 'a: an Error is not valid JSON: use its message'],
  [{a: Buffer.from('b')}, 'a: a Buffer is not valid JSON: use a text in base64'],
  [{a: new Date(Number.NaN)}, 'a: an invalid Date is not valid JSON'],
  [{a: {'b.c/d': Promise.resolve()}}, 'a["b.c/d"]: a Promise is not valid JSON: await it'],
  [circle, 'list[0].back: a value that contains itself is not valid JSON'],
  [{a: {toJSON: () => ({b: Number.NaN})}}, 'a.b: NaN is not valid JSON'],
  [Number.NaN, 'NaN is not valid JSON'],
];

for (const [value, message] of refused)
  test(`a value is refused in words: ${message}`, t => {
    t.false(isJson(value));
    t.throws(() => jsonCopy(value), {name: 'NotJson', message});
    t.throws(() => jsonOf(value), {name: 'NotJson', message});
  });

test('a value becomes what JSON makes of it', t => {
  const shared = {b: 1};
  const values: readonly unknown[] = [
    {at: new Date(0), list: [undefined, null, 'a'], gone: undefined, yes: true, none: null},
    {money: {toJSON: () => ({amount: new Date(1)})}, twice: [shared, shared]},
    Object.assign(Object.create(null) as object, {a: -1.5}),
    runInNewContext('({a: [1, {b: "c"}]})'),
    'text',
    JSON.parse('{"__proto__": {"a": 1}}'),
  ];
  let deep: unknown = new Date(0);
  for (let depth = 0; depth < 700; depth++) deep = {deep};

  for (const value of [...values, deep]) t.is(JSON.stringify(jsonCopy(value)), JSON.stringify(value));
  t.is(jsonCopy(undefined), undefined);
});

test('what is JSON already is copied, or sent as it is', t => {
  const value = Object.freeze({a: [Object.freeze({b: 1})], c: undefined});

  t.true(isJson(value));
  t.is(jsonOf(value), value);
  t.not(jsonCopy(value), value);
  t.not(jsonCopy(value).a[0], value.a[0]);
});
