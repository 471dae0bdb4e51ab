import test from 'ava';
import type {Decision} from '#src/scheduler/decider.js';
import {schedulingReport} from '#src/scheduler/decision-report.js';
import {toPodInfo} from './cluster-state.js';

const pod = toPodInfo({metadata: {name: 'a', namespace: 'default', uid: 'u'}, spec: {containers: []}});

/** Returns the nodes that a report lists, for these totals. */
const listed = (totals: readonly number[]): readonly {readonly node: string; readonly score?: number}[] => {
  const feasible = totals.map((_, at) => ({name: `n${at}`}));
  const decision = {type: 'node', node: feasible[0], totals, filterResult: {feasible, diagnosis: {byNode: new Map()}}};
  return schedulingReport(pod, {decision: decision as unknown as Decision}, 1).scores!;
};

test('a report lists the ten nodes with the highest scores, equal ones in the order of the nodes', t => {
  for (let count = 1; count < 60; count++) {
    const totals = Array.from({length: count}, (_, at) => (at * 7919) % 13);
    const sorted = totals.map((score, at) => ({node: `n${at}`, score})).sort((a, b) => b.score - a.score);

    t.deepEqual(listed(totals), sorted.slice(0, 10));
  }
});

test('a report looks at each score once, however many nodes there are', t => {
  let looks = 0;
  const totals = Array.from({length: 5000}, (_, at) => at);
  const counted = new Proxy(totals, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
      return Reflect.get(target, key) as unknown;
    },
  });
  const scores = listed(counted);

  t.deepEqual([scores.length, scores[0], scores.at(-1)], [10, {node: 'n4999', score: 4999}, {node: 'n4990', score: 4990}]);
  t.true(looks <= 2 * totals.length, String(looks));
});
