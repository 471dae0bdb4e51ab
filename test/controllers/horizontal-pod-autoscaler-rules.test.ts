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
import {groupPods, type Samples} from '#controllers/horizontal-pod-autoscaler/samples.js';
import {requestsOf} from '#controllers/horizontal-pod-autoscaler/requests.js';
import type {Pod} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {now, second} from './autoscaling-pods.js';

const patience = {cpuInitializationMs: 300_000, initialReadinessMs: 30_000};
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
