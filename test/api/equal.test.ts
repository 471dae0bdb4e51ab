import test from 'ava';
import {sameContent, sameInSteps, sameJson, semanticallyEqual} from '#src/api/equal.js';
import {runSteps} from '#src/base/steps.js';

const many = (length: number) => Array.from({length}, (_, index) => ({name: `n${index}`, value: index}));
const map = (length: number, more: object = {}) => ({...Object.fromEntries(many(length).map(({name, value}) => [name, value])), ...more});

test('keys on one side alone count unless they hold nothing', t => {
  for (const [a, b, same, semantically] of [
    [{a: 1, b: null}, {a: 1, c: []}, true, true],
    [{a: 1, b: {}}, {a: 1}, true, false],
    [{a: 1}, {a: 1, b: 0}, false, false],
    [{a: 1, b: 0}, {a: 1}, false, false],
    [{a: 1, constructor: []}, {a: 1}, true, true],
    [{a: 1}, {a: 1, constructor: null}, true, true],
  ] as const) {
    t.is(sameContent(a, b), same);
    t.is(semanticallyEqual(a, b), semantically);
  }
});

test('large values are compared in steps as in one', t => {
  const values: readonly unknown[] = [
    many(1_000),
    many(1_001),
    [...many(999), {name: 'other', value: 1}],
    map(1_000),
    map(1_000, {more: undefined}),
    map(1_000, {more: []}),
    map(999, {constructor: 1}),
    {list: many(1_000), map: map(1_000)},
    'x'.repeat(100_000),
    'y'.repeat(100_000),
    [],
    null,
  ];

  for (const same of [sameJson, sameContent])
    for (const a of values) for (const b of values) t.is(runSteps(sameInSteps(structuredClone(a), b, same)), same(a, b));

  const work = sameInSteps(many(1_000), many(1_000), sameJson);
  let steps = 0;
  while (!work.next().done) steps++;
  t.true(steps >= 1_000);
});
