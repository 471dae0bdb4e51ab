import test from 'ava';
import {rollOut, type Rates} from './rollouts.js';

const replicas = 20;
const surge = 2;
const seeds = [1, 2];

const cases: readonly (readonly [string, Rates])[] = [
  ['calls are refused', {refused: 0.3}],
  ['responses are lost and caches lag behind', {lost: 0.3, lateMs: 3000}],
  ['all of that happens', {refused: 0.15, lost: 0.15, lateMs: 3000}],
];

for (const [what, rates] of cases)
  test(`a rolling update never has more pods than its surge allows, and ends, while ${what}`, async t => {
    for (const seed of seeds) {
      const {most, isComplete} = await rollOut(replicas, seed, rates);
      t.true(isComplete, `seed ${seed}`);
      t.true(most <= replicas + surge, `seed ${seed}: ${most} pods`);
    }
  });
