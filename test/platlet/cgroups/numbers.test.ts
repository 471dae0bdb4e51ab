import test from 'ava';
import type {Container, Pod} from '#src/api/pod.js';
import {reservationOf} from '#src/platlet/node/capacity.js';
import {parseQuantity} from '#src/api/quantity.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import {checkReservation, nodeAllocatable, podsLimits, reservedLimits} from '#src/platlet/cgroups/allocatable.js';
import {
  burstableShares,
  pageSizeName,
  podCgroupLimits,
  quotaOf,
  reservedMemoryLimits,
  sharesOf,
  weightOf,
} from '#src/platlet/cgroups/numbers.js';
import {oomScoreAdj} from '#src/platlet/cgroups/oom-score.js';
import {aPod} from '#test/platlet/pod/objects.js';

test('shares, weights and quotas follow from thousandths of cpu', t => {
  t.deepEqual([0, 1, 2, 100, 1000, 10_000_000].map(sharesOf), [2, 2, 2, 102, 1024, 262_144]);
  t.deepEqual([2, 1024, 262_144].map(weightOf), [1, 39, 10_000]);
  t.deepEqual(
    [0, 1, 10, 500, 2000].map(milli => quotaOf(milli)),
    [0, 1000, 1000, 50_000, 200_000],
  );
  t.deepEqual([2 ** 21, 2 ** 30, 2 ** 16].map(pageSizeName), ['2MB', '1GB', '64KB']);
});

type Amounts = Record<string, string>;
const container = (name: string, requests: Amounts = {}, limits: Amounts = {}): Container => ({name, resources: {requests, limits}});
const settings = {enforcesCpuLimits: true, cpuPeriod: 100_000, podPids: 50};
const Mi = 2 ** 20;

const guaranteed = aPod({containers: [container('a', {cpu: '500m', memory: '64Mi'}, {cpu: '500m', memory: '64Mi'})]});
const limitsRows: [title: string, pod: Pod, limits: object][] = [
  ['BestEffort', aPod(), {cpuShares: 2}],
  ['Guaranteed', guaranteed, {cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryBytes: 64 * Mi}],
  [
    'Burstable without a limit of every container',
    aPod({containers: [container('a', {cpu: '100m'}, {cpu: '200m', memory: '64Mi'}), container('b')]}),
    {cpuShares: 102, cpuQuota: 0, cpuPeriod: 100_000},
  ],
  [
    'Burstable with limits of all',
    aPod({
      containers: [container('a', {cpu: '100m'}, {cpu: '200m', memory: '64Mi'})],
      initContainers: [container('i', {cpu: '300m'}, {cpu: '1', memory: '32Mi'})],
      overhead: {cpu: '100m', memory: '1Mi'},
    }),
    {cpuShares: 409, cpuQuota: 110_000, cpuPeriod: 100_000, memoryBytes: 65 * Mi},
  ],
];

for (const [title, pod, limits] of limitsRows)
  test(`the group of a pod is limited: ${title}`, t => {
    t.deepEqual(podCgroupLimits(pod, settings, ['2MB']), {...limits, pids: 50, hugePages: {'2MB': 0}} as ReturnType<
      typeof podCgroupLimits
    >);
  });

test('limits of cpu are left out where they are not enforced, and huge pages are by size', t => {
  t.is(podCgroupLimits(guaranteed, {...settings, enforcesCpuLimits: false}).cpuQuota, 0);
  const pod = aPod({containers: [container('a', {}, {'hugepages-2Mi': '4Mi'})]});
  t.deepEqual(podCgroupLimits(pod, settings, ['2MB', '1GB']).hugePages, {'2MB': 4 * Mi, '1GB': 0});
});

test('the class of Burstable pods has what they request, and memory may be kept from lower classes', t => {
  const burstable = aPod({containers: [container('a', {cpu: '250m', memory: '10Mi'})]});
  t.is(burstableShares([burstable, burstable, guaranteed, aPod()]), 512);
  t.is(burstableShares([]), 2);
  t.deepEqual(reservedMemoryLimits([burstable, guaranteed], 100 * Mi, 50), {Burstable: 68 * Mi, BestEffort: 63 * Mi});
});

const Gi = 2 ** 30;
const scores: [title: string, pod: Pod, score: number][] = [
  ['of a Guaranteed pod', guaranteed, -997],
  ['of a BestEffort pod', aPod(), 1000],
  ['of a pod that the node needs', aPod({priority: 2_000_001_000}), -997],
  ['by the request', aPod({containers: [container('a', {memory: '256Mi'})]}), 750],
  ['of a tiny request', aPod({containers: [container('a', {memory: '1'})]}), 999],
  ['of all memory', aPod({containers: [container('a', {memory: '1Gi'})]}), 3],
  [
    'with a share of the pod',
    aPod({resources: {requests: {memory: '512Mi'}}, containers: [container('a', {memory: '256Mi'}), container('b')]}),
    625,
  ],
];

for (const [title, pod, score] of scores)
  test(`the score of a container is that ${title}`, t => {
    t.is(oomScoreAdj(pod, pod.spec!.containers[0]!, Gi), score);
  });

test('a sidecar is not killed before those that it serves', t => {
  const sidecar: Container = {...container('s', {memory: '1Mi'}), restartPolicy: 'Always'};
  const pod = aPod({containers: [container('a', {memory: '256Mi'}), container('b', {memory: '512Mi'})], initContainers: [sidecar]});
  t.is(oomScoreAdj(pod, sidecar, Gi), 500);
});

const list = (amounts: Amounts): ResourceList => new Map(Object.entries(amounts).map(([name, text]) => [name, parseQuantity(text)]));
const capacity = list({cpu: '4', memory: '1000', 'ephemeral-storage': '500', pid: '100', 'hugepages-2Mi': '4Mi', pods: '110'});
const reservation = {
  agent: list({cpu: '500m', memory: '100'}),
  system: list({cpu: '500m', memory: '50', pid: '10'}),
  threshold: new Map<string, ReturnType<typeof parseQuantity> | number>([
    ['memory', parseQuantity('200')],
    ['ephemeral-storage', 0.1],
  ]),
};

test('pods can have what is not reserved, and are limited to it but for what must stay free', t => {
  const allocatable = nodeAllocatable(capacity, reservation);
  t.deepEqual(Object.fromEntries([...allocatable].map(([name, {unscaled, exponent}]) => [name, Number(`${unscaled}e${exponent}`)])), {
    cpu: 3,
    memory: 650,
    'ephemeral-storage': 450,
    pid: 90,
    'hugepages-2Mi': 4 * Mi,
    pods: 110,
  });
  t.deepEqual(podsLimits(capacity, reservation, true), {cpuShares: 3072, memoryBytes: 850, pids: 90});
  t.deepEqual(podsLimits(capacity, reservation, false), {cpuShares: 4096, memoryBytes: 1000, pids: 100});
  t.deepEqual(reservedLimits(reservation.system, 'all'), {cpuShares: 512, memoryBytes: 50, pids: 10});
  t.deepEqual(reservedLimits(reservation.system, 'compressible'), {cpuShares: 512});
});

test('hard eviction thresholds are reserved, unless allocatable resources include them', t => {
  const settings = {
    kubeReserved: {cpu: '1'},
    systemReserved: {},
    evictionHard: {'memory.available': '200', 'nodefs.available': '50%', 'imagefs.available': '1', 'pid.available': '1'},
    evictionSoft: {'memory.available': '300'},
    evictionSoftGracePeriod: {'memory.available': '1s'},
    evictionMinimumReclaim: {},
  };
  t.deepEqual([...reservationOf(settings, true).threshold.keys()], ['memory', 'ephemeral-storage']);
  t.is(reservationOf(settings, true).threshold.get('ephemeral-storage'), 0.5);
  t.is(reservationOf(settings, false).threshold.size, 0);
});

test('no more can be reserved than there is', t => {
  t.notThrows(() => checkReservation(capacity, reservation));
  t.throws(() => checkReservation(capacity, {...reservation, agent: list({memory: '900'})}), {
    message:
      'invalid Node Allocatable configuration. Resource "memory" has a reservation of 1150 but capacity of 1k. Expected capacity >= reservation',
  });
});
