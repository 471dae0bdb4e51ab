import test from 'ava';
import {sameContent, sameInSteps, sameJson} from '#src/api/equal.js';
import {runSteps} from '#src/base/steps.js';

const many = (length: number) => Array.from({length}, (_, index) => ({name: `n${index}`, value: index}));
const map = (length: number, more: object = {}) => ({...Object.fromEntries(many(length).map(({name, value}) => [name, value])), ...more});

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
