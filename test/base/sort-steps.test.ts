import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {sortedByInSteps, sortedInSteps} from '#src/base/sort-steps.js';
import {runSteps, type Steps} from '#src/base/steps.js';

const steps = (work: Steps<unknown>): number => {
  let count = 0;
  while (!work.next().done) count++;
  return count;
};

test('items are sorted in steps as at once, and equal ones keep their order', t => {
  const random = seededRandom(1);
  const items = Array.from({length: 15_000}, (_, at) => ({rank: Math.floor(random.float() * 100), at}));
  const byRank = (a: (typeof items)[number], b: (typeof items)[number]) => a.rank - b.rank;
  const texts = items.map(({rank}) => `${rank}`);

  t.deepEqual(runSteps(sortedByInSteps(items, byRank)), items.toSorted(byRank));
  t.deepEqual(runSteps(sortedInSteps(texts)), texts.toSorted());
  t.deepEqual(runSteps(sortedByInSteps([], byRank)), []);
  t.true(steps(sortedByInSteps(items, byRank)) > 20);
});
