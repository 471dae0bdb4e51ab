import test from 'ava';
import {
  averageValueTarget,
  utilizationTarget,
  replicasForAverage,
  replicasForPods,
  replicasForValue,
  usableSamples,
  type CalculationInput,
} from '#controllers/horizontal-pod-autoscaler/calculator.js';
import {Conditions} from '#controllers/horizontal-pod-autoscaler/conditions.js';
import {decideByDemand, decideWithoutMetrics} from '#controllers/horizontal-pod-autoscaler/decision.js';
import {Histories, History} from '#controllers/horizontal-pod-autoscaler/history.js';
import {longestPeriodMs, scaleByBehavior, scaleWithoutBehavior, type Behavior} from '#controllers/horizontal-pod-autoscaler/limits.js';
import {groupPods, type Samples} from '#controllers/horizontal-pod-autoscaler/samples.js';
import {requestsOf} from '#controllers/horizontal-pod-autoscaler/requests.js';
import {selectorText} from '#controllers/horizontal-pod-autoscaler/selector-text.js';
import {metricSources} from '#controllers/horizontal-pod-autoscaler/sources.js';
import {Scales} from '#controllers/shared/scale.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {parseLabelSelector} from '#src/api/selectors/label-selector.js';
import {notFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {clientOver} from '#src/client/resource-client.js';

const now = Date.parse('2026-01-01T01:00:00Z');
const patience = {cpuInitializationMs: 300_000, initialReadinessMs: 30_000};
const second = 1000;

interface Likeness {
  readonly phase?: string;
  readonly ready?: boolean | null;
  /** The age of the pod and of its state, in seconds. */
  readonly started?: number | null;
  readonly turned?: number;
  readonly deleting?: boolean;
  readonly requests?: Record<string, string> | null;
  readonly spec?: Partial<NonNullable<Pod['spec']>>;
}

const podOf = (
  name: string,
  {phase = 'Running', ready = true, started = 3600, turned = 3500, deleting = false, requests = {cpu: '1'}, spec}: Likeness = {},
): Pod => ({
  metadata: {name, namespace: 'default', ...(deleting ? {deletionTimestamp: wireTime(now)} : {})},
  spec: {containers: [{name: 'c', image: 'x', ...(requests ? {resources: {requests}} : {})}], ...spec},
  status: {
    phase,
    ...(started === null ? {} : {startTime: wireTime(now - started * second)}),
    conditions:
      ready === null ? [] : [{type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: wireTime(now - turned * second)}],
  },
});

const samplesOf = (values: readonly (number | undefined)[], age = 0): Samples =>
  new Map(
    values.flatMap((value, i) =>
      value === undefined ? [] : [[`p${i}`, {value: BigInt(value), timestamp: now - age * second, windowMs: 60 * second}] as const],
    ),
  );

const groups: readonly [title: string, likeness: Likeness, resource: string, group: string][] = [
  ['a pod that is ready counts', {}, 'cpu', 'ready'],
  ['one that is being deleted is ignored', {deleting: true}, 'cpu', 'ignored'],
  ['one that failed is ignored', {phase: 'Failed'}, 'memory', 'ignored'],
  ['one that is pending is unready', {phase: 'Pending'}, 'memory', 'unready'],
  ['one without a start is unready', {started: null}, 'cpu', 'unready'],
  ['one without a word on readiness is unready', {ready: null}, 'cpu', 'unready'],
  ['readiness does not matter for memory', {ready: null}, 'memory', 'ready'],
  ['one that has just started and is not ready is unready', {started: 100, turned: 100, ready: false}, 'cpu', 'unready'],
  ['one that has just started and is ready for less than a window is unready', {started: 100, turned: 59}, 'cpu', 'unready'],
  ['one that has just started and is ready for a window counts', {started: 100, turned: 60}, 'cpu', 'ready'],
  ['one that never was ready since it started is unready', {started: 400, turned: 371, ready: false}, 'cpu', 'unready'],
  ['one that has been ready before counts though it is not ready now', {started: 400, turned: 370, ready: false}, 'cpu', 'ready'],
];
test('pods are grouped by the usability of their samples', t => {
  for (const [title, likeness, resource, group] of groups) {
    const {ready, unready, ignored} = groupPods([podOf('p0', likeness)], samplesOf([100]), resource, patience, now);
    t.is(ready ? 'ready' : unready.length ? 'unready' : ignored.length ? 'ignored' : 'missing', group, title);
  }
  t.deepEqual(groupPods([podOf('p0')], new Map(), 'cpu', patience, now).missing, ['p0']);
});

const situation = (pods: readonly Pod[], current = pods.length, tolerances = {up: 0.1, down: 0.1}): CalculationInput => ({
  pods,
  current,
  tolerances,
  delays: patience,
  now,
});

interface Case {
  readonly of: readonly (number | undefined)[];
  readonly target: number;
  readonly unready?: readonly number[];
  readonly current?: number;
  readonly tolerances?: {up: number; down: number};
}
// The usage of pods that request one core each, in thousandths; the target in percent, or as an amount.
const byShares: readonly [title: string, given: Case, replicas: number, utilization: number][] = [
  ['more is used than wanted', {of: [600, 700, 800], target: 50}, 5, 70],
  ['less is used than wanted', {of: [100, 300, 500, 250, 250], target: 50}, 3, 28],
  ['what is within the tolerance changes nothing', {of: [1010, 1030, 1020], target: 100}, 3, 102],
  ['the tolerances of both directions differ', {of: [1010, 1030, 1020], target: 100, tolerances: {up: 0.01, down: 0.1}}, 4, 102],
  ['one sample is missing while less is used: it counts as using its whole request', {of: [100, 100, undefined], target: 50}, 3, 10],
  ['one sample is missing while more is used: it is taken to use nothing', {of: [950, 950, undefined], target: 50}, 4, 95],
  ['missing samples may turn the change around, which is then not made', {of: [1000, undefined, undefined], target: 90}, 3, 100],
  ['above a target of 100 a missing sample is taken to be at the target', {of: [10, undefined, undefined, undefined], target: 300}, 3, 1],
  ['unready pods count for nothing while less is used', {of: [200, 200, 900], target: 50, unready: [2]}, 1, 20],
  ['unready pods are taken to use nothing while more is used', {of: [900, 900, 900], target: 50, unready: [2]}, 4, 90],
  ['more pods than replicas never make more of less', {of: [100, 100, 100, undefined, undefined], target: 90, current: 1}, 1, 10],
];
test('utilization is relative to the requests of pods', t => {
  for (const [title, {of, target, unready = [], current, tolerances}, replicas, utilization] of byShares) {
    const pods = of.map((_, i) => podOf(`p${i}`, unready.includes(i) ? {started: 10, turned: 10, ready: false} : {}));
    const around = situation(pods, current, tolerances);
    const answer = replicasForPods(
      usableSamples(samplesOf(of), around, 'cpu'),
      around,
      utilizationTarget(target, 'cpu', requestsOf(pods, 'cpu', '', true)),
    );
    t.like(answer, {replicas, utilization}, title);
  }
});

const byAmounts: readonly [title: string, given: Case, replicas: number, average: bigint][] = [
  ['more than wanted', {of: [20_000, 10_000, 30_000], target: 15_000}, 4, 20_000n],
  ['less than wanted', {of: [12_000, 12_000, 12_000, 12_000, 12_000], target: 20_000}, 3, 12_000n],
  ['within the tolerance', {of: [20_000, 21_000, 21_000], target: 20_000}, 3, 20_666n],
  ['a missing one is at the target while there is less', {of: [1_000, undefined], target: 2_000}, 2, 1_000n],
  ['a missing one is at nothing while there is more', {of: [8_000, undefined], target: 2_000}, 4, 8_000n],
];
test('amounts on average of the pods', t => {
  for (const [title, {of, target}, replicas, average] of byAmounts) {
    const around = situation(of.map((_, i) => podOf(`p${i}`)));
    t.deepEqual(
      replicasForPods(usableSamples(samplesOf(of), around, ''), around, averageValueTarget(BigInt(target))),
      {replicas, average},
      title,
    );
  }
});

test('missing requests are reported with their container', t => {
  const around = situation([podOf('p0')]);
  t.throws(() => usableSamples(new Map(), situation([]), 'cpu'), {message: 'no pods returned by selector while calculating replica count'});
  t.throws(() => usableSamples(samplesOf([1]), situation([podOf('p0', {phase: 'Pending'})]), 'cpu'), {
    message: 'did not receive metrics for targeted pods (pods might be unready)',
  });
  t.throws(() => utilizationTarget(50, 'cpu', new Map()).ratioOf(usableSamples(samplesOf([1]), around, 'cpu').values), {
    message: 'no metrics returned matched known pods',
  });
  const refused = (likeness: Likeness, container = '') =>
    t.throws(() => requestsOf([podOf('p', likeness)], 'cpu', container, true))?.message;
  t.is(refused({requests: null}), 'missing request for cpu in container c of Pod p');
  t.is(refused({}, 'other'), 'container other not found in Pod p');
  t.is(refused({spec: {resources: {requests: {memory: '1Gi'}}}, requests: null}), 'missing pod-level request for cpu in Pod p');
});

test('requests are those of all containers and sidecars, of the container that is named, or of the pod as a whole', t => {
  const container = (name: string, cpu: string) => ({name, image: 'x', resources: {requests: {cpu}}});
  const spec = {
    containers: [container('c', '100m'), container('d', '200m')],
    initContainers: [{...container('side', '50m'), restartPolicy: 'Always'}, container('init', '5')],
  };
  const pod = (resources?: {requests: {cpu: string}}) => podOf('p', {spec: {...spec, ...(resources ? {resources} : {})}});
  const whole = pod({requests: {cpu: '3'}});
  t.deepEqual(
    [
      requestsOf([pod()], 'cpu', '', true),
      requestsOf([pod()], 'cpu', 'd', true),
      requestsOf([whole], 'cpu', '', true),
      requestsOf([whole], 'cpu', '', false),
      requestsOf([whole], 'cpu', 'd', true),
    ].map(found => found.get('p')),
    [350n, 200n, 3000n, 350n, 200n],
  );
});

test('one value is compared with its target, or with a target per replica', t => {
  const ready = [podOf('p0'), podOf('p1'), podOf('p2', {ready: false})];
  t.is(replicasForValue(20_000n, 10_000n, situation(ready)), 4);
  t.is(replicasForValue(10_500n, 10_000n, situation(ready)), 3);
  t.is(replicasForValue(25_000n, 10_000n, situation([], 0)), 3);
  t.is(replicasForValue(2n ** 63n - 1n, 1n, situation(ready)), 2 ** 31 - 1);
  t.throws(() => replicasForValue(20_000n, 10_000n, situation([], 1)), {message: /^unable to calculate ready pods: /});
  const tolerances = {up: 0.1, down: 0.1};
  t.deepEqual(replicasForAverage(8_601n, 2_000n, 3, tolerances), {replicas: 5, average: 2_867n});
  t.deepEqual(replicasForAverage(6_300n, 2_000n, 3, tolerances), {replicas: 3, average: 2_100n});
  t.deepEqual(replicasForAverage(6_000n, 2_000n, 0, tolerances), {replicas: 3, average: 6_000n});
});

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

test('selectors are shown with all their fields', t => {
  t.is(selectorText(undefined), 'nil');
  t.is(
    selectorText({matchLabels: {b: '2', a: '1'}, matchExpressions: [{key: 'k', operator: 'In', values: ['x', 'y']}]}),
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}',
  );
});

/** Metrics as some server beside the API server answers, by path; everything else is not there. */
const sourcesOver = (answers: Readonly<Record<string, unknown>>) => {
  const requested: string[] = [];
  const naming = namingOf('kubernetes');
  const client = clientOver(
    {
      async call({path}) {
        requested.push(decodeURIComponent(path));
        const body = answers[path.split('?')[0]!] ?? notFound({group: '', resource: 'x'}, 'y').status;
        return {status: 'code' in (body as object) ? 404 : 200, header: () => undefined, body};
      },
      watch: () => Promise.reject(new Error('nothing is watched')),
    },
    naming,
  );
  const clock = new VirtualClock();
  return {requested, sources: metricSources(client, new Scales(client, clock), clock)};
};
const web = parseLabelSelector('app=web');
const read = parseLabelSelector('verb=GET');
const groupsWith = (...versions: string[]) => ({
  kind: 'APIGroupList',
  groups: [
    {name: 'custom.metrics.k8s.io', versions: versions.map(version => ({version, groupVersion: `custom.metrics.k8s.io/${version}`}))},
  ],
});

test('metrics of resources are summed over containers, and pods with a container that was not measured are left out', async t => {
  const container = (name: string, usage: Record<string, string>) => ({name, usage});
  const timestamp = wireTime(now);
  const items = [
    {
      metadata: {name: 'p0', namespace: 'd'},
      timestamp,
      window: '30s',
      containers: [container('c', {cpu: '100m'}), container('d', {cpu: '1'})],
    },
    {
      metadata: {name: 'p1', namespace: 'd'},
      timestamp,
      window: '30s',
      containers: [container('c', {cpu: '100m'}), container('d', {memory: '1'})],
    },
    {metadata: {name: 'p2', namespace: 'd'}, timestamp, window: '30s', containers: [container('e', {cpu: '100m'})]},
  ];
  const {requested, sources} = sourcesOver({'/apis/metrics.k8s.io/v1beta1/namespaces/d/pods': {items}});
  t.deepEqual(
    await sources.resource('cpu', 'd', web, ''),
    new Map([
      ['p0', {value: 1100n, timestamp: now, windowMs: 30_000}],
      ['p2', {value: 100n, timestamp: now, windowMs: 30_000}],
    ]),
  );
  t.deepEqual(
    [...(await sources.resource('cpu', 'd', web, 'c')).values()].map(({value}) => value),
    [100n, 100n],
  );
  t.deepEqual([...(await sources.resource('cpu', 'd', web, 'd')).keys()], ['p0']);
  t.deepEqual([...(await sources.resource('cpu', 'd', web, 'e')).keys()], ['p2']);
  await t.throwsAsync(sources.resource('cpu', 'e', web, ''), {message: /^unable to fetch metrics from resource metrics API: /});
  t.is(requested[0], '/apis/metrics.k8s.io/v1beta1/namespaces/d/pods?labelSelector=app=web');
});

test('metrics of pods and objects come from the best version there is', async t => {
  const root = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/d';
  const discovered = {
    kind: 'APIGroupList',
    groups: [
      {name: 'networking.k8s.io', versions: [{groupVersion: 'networking.k8s.io/v1', version: 'v1'}]},
      ...groupsWith('v1beta1', 'v1beta2').groups,
    ],
  };
  const {requested, sources} = sourcesOver({
    '/apis': discovered,
    '/api': {kind: 'APIVersions', versions: []},
    '/apis/networking.k8s.io/v1': {resources: [{name: 'ingresses', kind: 'Ingress', namespaced: true}]},
    '/apis/custom.metrics.k8s.io/v1beta1': {resources: []},
    '/apis/custom.metrics.k8s.io/v1beta2': {resources: []},
    [`${root}/pods/*/qps`]: {
      items: [
        {describedObject: {name: 'p0'}, timestamp: wireTime(now), windowSeconds: 20, value: '1500m'},
        {describedObject: {name: 'p1'}, timestamp: wireTime(now), value: '2'},
      ],
    },
    [`${root}/ingresses.networking.k8s.io/main/hits`]: {items: [{value: '7'}]},
    [`${root}/metrics/load`]: {items: [{value: '3'}]},
    [`${root}/ingresses.networking.k8s.io/main/two`]: {items: [{value: '7'}, {value: '8'}]},
  });
  const ingress = {apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'main'};

  t.deepEqual(
    [...(await sources.pods('qps', 'd', web, read))].map(([pod, {value, windowMs}]) => [pod, value, windowMs]),
    [
      ['p0', 1500n, 20_000],
      ['p1', 2000n, 60_000],
    ],
  );
  t.true(requested.includes(`${root}/pods/*/qps?labelSelector=app=web&metricLabelSelector=verb=GET`));
  t.is(await sources.object('hits', 'd', ingress, read), 7000n);
  t.is(await sources.object('load', 'd', {apiVersion: 'v1', kind: 'Namespace', name: 'another'}, read), 3000n);
  await t.throwsAsync(sources.object('two', 'd', ingress, read), {message: /returned 2 results when we asked for exactly one$/});
});

test('external metrics use every selected value; missing metrics servers are reported', async t => {
  const path = '/apis/external.metrics.k8s.io/v1beta1/namespaces/d/queue';
  const {requested, sources} = sourcesOver({
    '/apis': {kind: 'APIGroupList', groups: []},
    [path]: {items: [{value: '3'}, {value: '500m'}]},
    '/apis/external.metrics.k8s.io/v1beta1/namespaces/d/none': {items: []},
  });
  t.deepEqual(await sources.external('queue', 'd', read), [3000n, 500n]);
  t.deepEqual(requested, [`${path}?labelSelector=verb=GET`]);
  await t.throwsAsync(sources.external('none', 'd', read), {message: 'no metrics returned from external metrics API'});
  await t.throwsAsync(sources.pods('qps', 'd', web, read), {
    message: 'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
  });
  await t.throwsAsync(sourcesOver({'/apis': groupsWith('v2')}).sources.pods('qps', 'd', web, read), {
    message: 'unable to fetch metrics from custom metrics API: no known available metric versions found',
  });
});

test('a target without replicas is left alone, and one outside the bounds is brought to the nearest, without metrics', t => {
  const conditions = new Conditions([], now);
  const hpa = {metadata: {name: 'web'}, spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {kind: 'Deployment', name: 'web'}}};
  const decided = (current: number) => decideWithoutMetrics(hpa, current, conditions)?.replicas;

  t.deepEqual([1, 2, 5, 6].map(decided), [2, undefined, undefined, 5]);
  t.deepEqual(conditions.list, []);
  t.is(decided(0), 0);
  t.deepEqual(
    conditions.list.map(({type, status, reason}) => [type, status, reason]),
    [['ScalingActive', 'False', 'ScalingDisabled']],
  );
});

test('the decision on a target limits what its metrics ask for, and names the metric', t => {
  const conditions = new Conditions([], now);
  const hpa = {metadata: {name: 'web'}, spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {kind: 'Deployment', name: 'web'}}};
  const decided = (replicas: number, current: number) =>
    decideByDemand(
      hpa,
      {replicas, name: 'cpu resource utilization', error: undefined},
      {current, conditions, history: new History(), windowMs: 0, now: 0},
    );

  t.deepEqual(decided(9, 3), {replicas: 5, reason: 'cpu resource utilization above target', error: undefined});
  t.deepEqual(
    conditions.list.map(({type, status, reason}) => [type, status, reason]),
    [
      ['AbleToScale', 'True', 'ReadyForNewScale'],
      ['ScalingLimited', 'True', 'TooManyReplicas'],
    ],
  );
  t.deepEqual(decided(1, 3), {replicas: 1, reason: 'All metrics below target', error: undefined});
  t.deepEqual(decided(3, 3), {replicas: 3, reason: '', error: undefined});
});

test('the history of an autoscaler ends with it, and with a new one of its name', t => {
  const histories = new Histories();
  const key = {namespace: 'default', name: 'web'};
  const first = histories.of(key, 'a');

  t.is(histories.of(key, 'a'), first);
  const second = histories.of(key, 'b');
  t.not(second, first);
  histories.forget(key);
  t.not(histories.of(key, 'b'), second);
});
