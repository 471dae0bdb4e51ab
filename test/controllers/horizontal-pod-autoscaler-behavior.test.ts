import test from 'ava';
import {History} from '#controllers/horizontal-pod-autoscaler/history.js';
import {longestPeriodMs, scaleByBehavior, scaleWithoutBehavior, type Behavior} from '#controllers/horizontal-pod-autoscaler/limits.js';
import {now, second} from './autoscaling-pods.js';

const usually: readonly [
  title: string,
  limits: [current: number, desired: number, min: number, max: number],
  past: readonly (readonly [secondsAgo: number, replicas: number])[],
  replicas: number,
  able: string,
  limited: string,
][] = [
  ['as desired', [3, 5, 1, 10], [], 5, 'ReadyForNewScale', 'False DesiredWithinRange'],
  ['no more than twice', [3, 9, 1, 10], [], 6, 'ReadyForNewScale', 'True ScaleUpLimit'],
  ['but four at least', [1, 9, 1, 10], [], 4, 'ReadyForNewScale', 'True ScaleUpLimit'],
  ['no more than the most', [9, 18, 1, 10], [], 10, 'ReadyForNewScale', 'True TooManyReplicas'],
  ['no less than the least', [3, 1, 2, 10], [], 2, 'ReadyForNewScale', 'True TooFewReplicas'],
  ['a recommendation of five minutes ago still holds', [5, 2, 1, 10], [[300, 4]], 4, 'ScaleDownStabilized', 'False DesiredWithinRange'],
  ['an older one does not', [5, 2, 1, 10], [[301, 4]], 2, 'ReadyForNewScale', 'False DesiredWithinRange'],
];

test('without a behaviour no scale down goes below the recommendations within the window', t => {
  for (const [title, [current, desired, min, max], past, replicas, able, limited] of usually) {
    const history = new History();
    for (const [ago, count] of past) history.recommend(count, now - ago * second, 0);
    const settled = scaleWithoutBehavior({current, desired, min, max}, history, 300 * second, now);
    t.deepEqual(
      [settled.replicas, settled.able.reason, `${settled.limited.status} ${settled.limited.reason}`],
      [replicas, able, limited],
      title,
    );
  }
});

type Rules = NonNullable<Behavior['scaleUp']>;
const pods = (value: number, periodSeconds = 60) => ({type: 'Pods', value, periodSeconds});
const percent = (value: number, periodSeconds = 60) => ({type: 'Percent', value, periodSeconds});
const free: Rules = {stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [percent(1000)]};
const freeDown: Rules = {...free, policies: [percent(100)]};

interface Past {
  readonly recommended?: readonly (readonly [secondsAgo: number, replicas: number])[];
  readonly scaled?: readonly (readonly [secondsAgo: number, change: number])[];
}

const byBehaviour: readonly [
  title: string,
  rules: {up?: Rules; down?: Rules},
  limits: [current: number, desired: number],
  past: Past,
  replicas: number,
  able: string,
  limited: string,
][] = [
  ['so many pods in a period', {up: {...free, policies: [pods(4)]}}, [10, 50], {}, 14, 'ReadyForNewScale', 'True ScaleUpLimit'],
  ['so large a part, rounded up', {up: {...free, policies: [percent(25)]}}, [10, 50], {}, 13, 'ReadyForNewScale', 'True ScaleUpLimit'],
  [
    'the policy that allows more',
    {up: {...free, policies: [pods(4), percent(100)]}},
    [10, 50],
    {},
    20,
    'ReadyForNewScale',
    'True ScaleUpLimit',
  ],
  [
    'the policy that allows less',
    {up: {...free, selectPolicy: 'Min', policies: [pods(4), percent(100)]}},
    [10, 50],
    {},
    14,
    'ReadyForNewScale',
    'True ScaleUpLimit',
  ],
  ['no growth at all', {up: {...free, selectPolicy: 'Disabled'}}, [10, 50], {}, 10, 'ReadyForNewScale', 'True ScaleUpLimit'],
  [
    'what was added in the period counts',
    {up: {...free, policies: [pods(4)]}},
    [13, 50],
    {scaled: [[30, 3]]},
    14,
    'ReadyForNewScale',
    'True ScaleUpLimit',
  ],
  [
    'what was added before it does not',
    {up: {...free, policies: [pods(4)]}},
    [13, 50],
    {scaled: [[60, 3]]},
    17,
    'ReadyForNewScale',
    'True ScaleUpLimit',
  ],
  [
    'what was taken away in the period may come back',
    {up: {...free, policies: [pods(4)]}},
    [10, 50],
    {scaled: [[30, -3]]},
    17,
    'ReadyForNewScale',
    'True ScaleUpLimit',
  ],
  [
    'a limit that was passed already takes nothing away',
    {up: {...free, policies: [pods(1)]}},
    [10, 50],
    {scaled: [[30, 5]]},
    10,
    'ReadyForNewScale',
    'True ScaleUpLimit',
  ],
  ['no more than the most', {}, [90, 500], {}, 100, 'ReadyForNewScale', 'True TooManyReplicas'],
  ['so many pods fewer in a period', {down: {...free, policies: [pods(4)]}}, [20, 5], {}, 16, 'ReadyForNewScale', 'True ScaleDownLimit'],
  [
    'so large a part fewer, rounded down',
    {down: {...free, policies: [percent(25)]}},
    [10, 5],
    {},
    7,
    'ReadyForNewScale',
    'True ScaleDownLimit',
  ],
  [
    'the policy that takes more away',
    {down: {...free, policies: [pods(4), percent(50)]}},
    [20, 5],
    {},
    10,
    'ReadyForNewScale',
    'True ScaleDownLimit',
  ],
  [
    'the policy that takes less away',
    {down: {...free, selectPolicy: 'Min', policies: [pods(4), percent(50)]}},
    [20, 5],
    {},
    16,
    'ReadyForNewScale',
    'True ScaleDownLimit',
  ],
  ['no shrinking at all', {down: {...free, selectPolicy: 'Disabled'}}, [20, 5], {}, 20, 'ReadyForNewScale', 'True ScaleDownLimit'],
  ['no fewer than the least', {}, [20, 1], {}, 2, 'ReadyForNewScale', 'True TooFewReplicas'],
  [
    'growth waits for the lowest of its window',
    {up: {...free, stabilizationWindowSeconds: 60}},
    [10, 20],
    {recommended: [[59, 12]]},
    12,
    'ScaleUpStabilized',
    'False DesiredWithinRange',
  ],
  [
    'which does not shrink anything',
    {up: {...free, stabilizationWindowSeconds: 60}},
    [10, 20],
    {recommended: [[59, 5]]},
    10,
    'ScaleUpStabilized',
    'False DesiredWithinRange',
  ],
  [
    'shrinking waits for the highest of its window',
    {down: {...freeDown, stabilizationWindowSeconds: 60}},
    [10, 5],
    {recommended: [[59, 8]]},
    8,
    'ScaleDownStabilized',
    'False DesiredWithinRange',
  ],
  [
    "what was at the window's beginning is over",
    {down: {...freeDown, stabilizationWindowSeconds: 60}},
    [10, 5],
    {recommended: [[60, 8]]},
    5,
    'ReadyForNewScale',
    'False DesiredWithinRange',
  ],
  [
    "a window that is not given is the flag's",
    {down: {selectPolicy: 'Max', policies: [percent(100)]}},
    [10, 5],
    {recommended: [[299, 8]]},
    8,
    'ScaleDownStabilized',
    'False DesiredWithinRange',
  ],
];

test('with a behaviour its windows and policies hold', t => {
  for (const [
    title,
    {up = free, down = freeDown},
    [current, desired],
    {recommended = [], scaled = []},
    replicas,
    able,
    limited,
  ] of byBehaviour) {
    const history = new History();
    for (const [ago, count] of recommended) history.recommend(count, now - ago * second, 0);
    for (const [ago, change] of scaled) history.scaled(change, now - ago * second, 0);
    const settled = scaleByBehavior({current, desired, min: 2, max: 100}, {scaleUp: up, scaleDown: down}, history, 300 * second, now);
    t.deepEqual(
      [settled.replicas, settled.able.reason, `${settled.limited.status} ${settled.limited.reason}`],
      [replicas, able, limited],
      title,
    );
  }
  t.deepEqual(
    [1, -1].map(change => longestPeriodMs({scaleUp: {policies: [pods(1, 15), pods(1, 60)]}, scaleDown: {policies: [pods(1, 30)]}}, change)),
    [60_000, 30_000],
  );
});
