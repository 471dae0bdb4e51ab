import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {formatQuantity} from '#src/api/quantity.js';
import {layoutOf, measuredParts, reclaimable, withContainerThresholds, type DiskLayout} from '#src/platlet/eviction/disk-layout.js';
import {storageExcess} from '#src/platlet/eviction/local-storage.js';
import {evictionText} from '#src/platlet/eviction/message.js';
import {judge, noPressure, type PressureState} from '#src/platlet/eviction/pressure.js';
import {ranked} from '#src/platlet/eviction/ranking.js';
import {observationsOf, type Signal} from '#src/platlet/eviction/signals.js';
import {amountOf, thresholdsOf, withAllocatable, type Threshold, type ThresholdSettings} from '#src/platlet/eviction/thresholds.js';
import {aPod, nodeStats, podStats, type Left, type Used} from './samples.js';

const settings = (given: Partial<ThresholdSettings>): ThresholdSettings => ({
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  ...given,
});

const parsed = (given: Partial<ThresholdSettings>): readonly Threshold[] => thresholdsOf(settings(given));

const valueText = (value: Threshold['value']): string =>
  typeof value === 'number' ? `${(value * 100).toFixed(2)}%` : formatQuantity(value);
const describe = ({signal, value, graceMs, minReclaim}: Threshold): string =>
  `${signal}<${valueText(value)}${graceMs > 0 ? ` for ${graceMs / 1000}s` : ''}${minReclaim === undefined ? '' : ` and ${valueText(minReclaim)}`}`;

test('thresholds have a value, a grace period and a minimum to reclaim', t => {
  const all = parsed({
    evictionHard: {'memory.available': '150Mi', 'nodefs.available': '10%', 'imagefs.available': '0%', 'pid.available': '100%'},
    evictionSoft: {'memory.available': '300Mi', 'nodefs.inodesFree': '1e1%', 'imagefs.available': '0%'},
    evictionSoftGracePeriod: {'memory.available': '30s', 'nodefs.inodesFree': '1m30s'},
    evictionMinimumReclaim: {'memory.available': '0', 'nodefs.available': '5%'},
  });
  t.deepEqual(all.map(describe), [
    'memory.available<150Mi and 0',
    'nodefs.available<10.00% and 5.00%',
    'memory.available<300Mi for 30s and 0',
    'nodefs.inodesFree<10.00% for 90s',
  ]);
  t.deepEqual(withAllocatable(all).map(describe).slice(4), ['allocatableMemory.available<150Mi and 0']);
});

for (const [given, message] of [
  [{evictionHard: {'mem.available': '150Mi'}}, 'unsupported eviction signal mem.available'],
  [{evictionHard: {'memory.available': '-150Mi'}}, 'eviction threshold memory.available must be positive: -150Mi'],
  [{evictionHard: {'memory.available': '0'}}, 'eviction threshold memory.available must be positive: 0'],
  [{evictionHard: {'memory.available': '-15%'}}, 'eviction percentage threshold memory.available must be >= 0%: -15%'],
  [{evictionHard: {'memory.available': '150%'}}, 'eviction percentage threshold memory.available must be <= 100%: 150%'],
  [{evictionHard: {'memory.available': 'x%'}}, 'strconv.ParseFloat: parsing "x": invalid syntax'],
  [{evictionSoft: {'memory.available': '1Gi'}}, 'grace period must be specified for the soft eviction threshold memory.available'],
  [{evictionSoftGracePeriod: {'memory.available': '-30s'}}, 'invalid eviction grace period specified: -30s, must be a positive value'],
  [{evictionSoftGracePeriod: {'memory.available': 'soon'}}, 'time: invalid duration "soon"'],
  [{evictionMinimumReclaim: {'memory.available': '-1Gi'}}, 'negative eviction minimum reclaim specified for memory.available'],
  [{evictionMinimumReclaim: {'memory.available': '-15%'}}, 'eviction percentage minimum reclaim memory.available must be positive: -15%'],
] as const)
  test(`a threshold is refused: ${message}`, t => {
    t.throws(() => parsed(given), {message});
  });

test('a percentage is of the capacity, with the precision of the original', t => {
  const [threshold] = parsed({evictionHard: {'nodefs.available': '10%'}});
  const {capacity} = observationsOf(nodeStats()).get('nodefs.available')!;
  t.is(formatQuantity(amountOf(threshold!.value, capacity)), '21474836800');
});

test('signals are observed where a node is measured', t => {
  const {fs: _, imageFs: __, containerFs: ___, system: ____, processes: _____, ...bare} = nodeStats({memory: '3Gi'});
  t.deepEqual([...observationsOf(bare).keys()], ['memory.available']);
  const all = [...observationsOf(nodeStats({memory: '3Gi', pods: '2Gi', inodes: 7, processes: 5}))];
  t.deepEqual(
    all.map(([signal, {available, capacity}]) => `${signal} ${formatQuantity(available)}/${formatQuantity(capacity)}`),
    [
      'memory.available 3Gi/10Gi',
      'allocatableMemory.available 2Gi/10Gi',
      'nodefs.available 100Gi/200Gi',
      'nodefs.inodesFree 7/4M',
      'imagefs.available 100Gi/200Gi',
      'imagefs.inodesFree 7/4M',
      'containerfs.available 100Gi/200Gi',
      'containerfs.inodesFree 7/4M',
      'pid.available 5/1k',
    ],
  );
});

test('disks are one, or apart for images, or for images alone', t => {
  t.is(layoutOf({agent: 1, images: 1, containers: 1}), 'one');
  t.is(layoutOf({agent: 1, images: 2, containers: 2}), 'images');
  t.is(layoutOf({agent: 1, images: 2, containers: 1}), 'split');
  t.is(layoutOf({agent: 1, images: 1, containers: 2}), 'split');
});

test('what is reclaimed and measured depends on the disks', t => {
  const rows = (['one', 'images', 'split'] as const).map(layout =>
    (['nodefs.available', 'imagefs.inodesFree', 'containerfs.available'] as const).map(
      signal => `${reclaimable(layout, signal).join('+')}/${measuredParts(layout, signal)!.join('+')}`,
    ),
  );
  t.deepEqual(rows, [
    ['containers+images/layers+logs+volumes', 'containers+images/layers+logs+volumes', 'containers+images/layers+logs+volumes'],
    ['/logs+volumes', 'containers+images/layers', 'containers+images/layers'],
    ['containers/logs+volumes+layers', 'images/', 'containers/logs+volumes+layers'],
  ]);
  t.deepEqual(reclaimable('one', 'memory.available'), []);
});

test('the file system of containers has the thresholds of the one that it is on', t => {
  const given = parsed({
    evictionHard: {'nodefs.available': '1Gi', 'imagefs.available': '2Gi', 'containerfs.available': '3Gi'},
    evictionSoft: {'imagefs.inodesFree': '5%'},
    evictionSoftGracePeriod: {'imagefs.inodesFree': '1m'},
  });
  const added = (layout: DiskLayout) => withContainerThresholds(given, layout).thresholds.map(describe).slice(3);
  t.deepEqual(added('one'), ['containerfs.available<1Gi']);
  t.deepEqual(added('split'), ['containerfs.available<1Gi']);
  t.deepEqual(added('images'), ['containerfs.available<2Gi', 'containerfs.inodesFree<5.00% for 60s']);
  t.is(withContainerThresholds(given, 'one').ignored, 'found containerfs.available for hard eviction. ignoring');
  t.is(withContainerThresholds(given.slice(0, 2), 'one').ignored, undefined);
});

/** Judges one look after the other: at a second, by what is left. */
const judged = (
  given: Partial<ThresholdSettings>,
  transitionMs: number,
  looks: readonly (readonly [second: number, left: Left])[],
): string[] => {
  const thresholds = parsed(given);
  let state: PressureState = noPressure;
  return looks.map(([second, left]) => {
    const now = second * 1000;
    const judgement = judge(state, {thresholds, transitionMs}, observationsOf(nodeStats(left, [], now)), now);
    ({state} = judgement);
    return `${judgement.pressures.join('+')}:${judgement.actionable.map(({signal}) => signal).join('+')}`;
  });
};

test('a soft threshold counts once its grace period has run, and its pressure at once', t => {
  const soft = {evictionSoft: {'memory.available': '2Gi'}, evictionSoftGracePeriod: {'memory.available': '2m'}};
  const met = {memory: '1500Mi'};
  t.deepEqual(
    judged(soft, 300_000, [
      [0, {}],
      [60, met],
      [120, met],
      [180, met],
      [240, {}],
      [479, {}],
      [480, {}],
    ]),
    [':', 'MemoryPressure:', 'MemoryPressure:', 'MemoryPressure:memory.available', 'MemoryPressure:', 'MemoryPressure:', ':'],
  );
});

test('a grace period begins anew once there is enough', t => {
  const soft = {evictionSoft: {'memory.available': '2Gi'}, evictionSoftGracePeriod: {'memory.available': '1m'}};
  const met = {memory: '1Gi'};
  t.deepEqual(
    judged(soft, 1, [
      [0, met],
      [50, {}],
      [70, met],
      [129, met],
      [130, met],
    ]).at(-2),
    'MemoryPressure:',
  );
  t.deepEqual(
    judged(soft, 1, [
      [0, met],
      [50, {}],
      [70, met],
      [129, met],
      [130, met],
    ]).at(-1),
    'MemoryPressure:memory.available',
  );
});

test('evictions go on until the minimum is reclaimed, and the pressure lasts for the transition period', t => {
  const hard = {evictionHard: {'memory.available': '1Gi'}, evictionMinimumReclaim: {'memory.available': '500Mi'}};
  t.deepEqual(
    judged(hard, 300_000, [
      [0, {memory: '2Gi'}],
      [60, {memory: '500Mi'}],
      [120, {memory: '1.2Gi'}],
      [180, {memory: '2Gi'}],
      [420, {memory: '2Gi'}],
    ]),
    [':', 'MemoryPressure:memory.available', 'MemoryPressure:memory.available', 'MemoryPressure:', ':'],
  );
});

test('memory comes first, and what was not measured anew does not count', t => {
  const hard = {evictionHard: {'pid.available': '100', 'nodefs.available': '50%', 'memory.available': '1Gi'}};
  const short = {processes: 5, nodefs: '10Gi', memory: '1Mi'};
  const [first, second] = judged(hard, 1_000, [
    [10, short],
    [10, short],
  ]);
  t.is(first, 'PIDPressure+DiskPressure+MemoryPressure:memory.available+pid.available+nodefs.available');
  t.is(second, 'PIDPressure+DiskPressure+MemoryPressure:');
});

type Candidate = readonly [name: string, spec: Parameters<typeof aPod>[1], used: Used | undefined];

const rankedNames = (candidates: readonly Candidate[], signal: Signal, layout: DiskLayout = 'one', withPodLevel = true): string[] => {
  const pods = candidates.map(([name, spec, used]) => ({pod: aPod(name, spec), used}));
  const statsOf = (pod: {readonly metadata?: {readonly name?: string}}) => {
    const found = pods.find(each => each.pod.metadata?.name === pod.metadata?.name);
    return found?.used && podStats(found.pod, found.used);
  };
  return ranked(
    pods.map(({pod}) => pod),
    signal,
    {statsOf, layout, withPodLevel},
  ).map(({metadata}) => metadata?.name ?? '');
};

test('pods are ranked by memory: those over their requests, by priority, by what they use beyond', t => {
  const candidates: readonly Candidate[] = [
    ['guaranteed-low-priority', {priority: -1, requests: {memory: '1Gi'}, limits: {memory: '1Gi'}}, {memory: '900Mi'}],
    ['burstable-below', {requests: {memory: '100Mi'}}, {memory: '50Mi'}],
    ['burstable-above', {requests: {memory: '100Mi'}}, {memory: '400Mi'}],
    ['best-effort-high-priority', {priority: 1}, {memory: '400Mi'}],
    ['best-effort-low-priority', {priority: -1}, {memory: '100Mi'}],
    ['best-effort', {}, {memory: '350Mi'}],
    ['unmeasured', {priority: 1}, undefined],
  ];
  t.deepEqual(rankedNames(candidates, 'memory.available'), [
    'unmeasured',
    'best-effort-low-priority',
    'best-effort',
    'burstable-above',
    'best-effort-high-priority',
    'guaranteed-low-priority',
    'burstable-below',
  ]);
});

test('what pods have requested as a whole, and their overhead, counts', t => {
  const candidates: readonly Candidate[] = [
    ['whole', {requests: {memory: '10Mi'}, resources: {requests: {memory: '500Mi'}}}, {memory: '400Mi'}],
    ['overhead', {requests: {memory: '300Mi'}, overhead: {memory: '200Mi'}}, {memory: '400Mi'}],
    ['over', {requests: {memory: '390Mi'}}, {memory: '400Mi'}],
  ];
  t.deepEqual(rankedNames(candidates, 'allocatableMemory.available'), ['over', 'whole', 'overhead']);
  t.deepEqual(rankedNames(candidates, 'allocatableMemory.available', 'one', false), ['whole', 'over', 'overhead']);
});

test('pods are ranked by the disks that are short', t => {
  const volumes = [{name: 'scratch', emptyDir: {}}];
  const candidates: readonly Candidate[] = [
    ['logs', {}, {logs: '50Mi'}],
    ['layer', {}, {layer: '60Mi'}],
    ['volume', {volumes}, {volumes: {scratch: '70Mi'}}],
    ['memory-volume', {volumes: [{name: 'scratch', emptyDir: {medium: 'Memory'}}]}, {volumes: {scratch: '90Mi'}}],
    ['requested', {requests: {'ephemeral-storage': '100Mi'}}, {layer: '80Mi'}],
  ];
  t.deepEqual(rankedNames(candidates, 'nodefs.available'), ['volume', 'layer', 'logs', 'memory-volume', 'requested']);
  t.deepEqual(rankedNames(candidates, 'nodefs.available', 'images').slice(0, 2), ['volume', 'logs']);
  t.deepEqual(rankedNames(candidates, 'imagefs.available', 'images').slice(0, 1), ['layer']);
});

test('pods are ranked by inodes, and by processes', t => {
  const candidates: readonly Candidate[] = [
    ['few', {}, {inodes: 10, processes: 3}],
    ['many', {}, {inodes: 90, processes: 2}],
    ['important', {priority: 1}, {inodes: 99, processes: 9}],
  ];
  t.deepEqual(rankedNames(candidates, 'nodefs.inodesFree'), ['many', 'few', 'important']);
  t.deepEqual(rankedNames(candidates, 'pid.available'), ['few', 'many', 'important']);
});

const cause = (left: Left, given: Partial<ThresholdSettings>, resource: 'memory' | 'ephemeral-storage' | 'pids') => ({
  resource,
  thresholds: parsed(given),
  observations: observationsOf(nodeStats(left)),
  withPodLevel: true,
});

test('the message names the threshold, and the containers that use more than they requested', t => {
  const pod = aPod('pod', {requests: {memory: '100Mi'}});
  const memory = cause({memory: '500Mi'}, {evictionHard: {'memory.available': '1Gi'}}, 'memory');
  t.deepEqual(evictionText(pod, podStats(pod, {memory: '200Mi'}), memory), {
    message:
      'The node was low on resource: memory. Threshold quantity: 1Gi, available: 500Mi. Container app was using 200Mi, request is 100Mi, has larger consumption of memory. ',
    annotations: {offending_containers: 'app', offending_containers_usage: '200Mi', starved_resource: 'memory'},
  });
  t.deepEqual(evictionText(pod, undefined, memory).annotations, {});
  const disk = cause({nodefs: '1Gi'}, {evictionHard: {'nodefs.available': '2Gi'}}, 'ephemeral-storage');
  const bare = aPod('bare');
  t.is(
    evictionText(bare, podStats(bare, {layer: '3Mi', logs: '1Mi'}), disk).message,
    'The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi. Container app was using 4Mi, request is 0, has larger consumption of ephemeral-storage. ',
  );
  const pids = cause({processes: 4}, {evictionHard: {'pid.available': '10%'}}, 'pids');
  t.is(evictionText(bare, podStats(bare), pids).message, 'The node was low on resource: pids. Threshold quantity: 100, available: 4. ');
});

test('the message names a pod that has requested memory as a whole', t => {
  const pod = aPod('pod', {resources: {requests: {memory: '10Mi'}}});
  const text = evictionText(pod, podStats(pod, {memory: '20Mi'}), cause({}, {}, 'memory'));
  t.is(
    text.message,
    'The node was low on resource: memory. Pod pod was using 20Mi, request is 10Mi, has larger consumption of memory. Container app was using 20Mi, request is 0, has larger consumption of memory. ',
  );
  t.like(text.annotations, {offending_pod: 'pod', offending_pod_usage: '20Mi'});
});

for (const [name, spec, used, expected] of [
  [
    'an empty folder',
    {volumes: [{name: 'v', emptyDir: {sizeLimit: '1Mi'}}]},
    {volumes: {v: '2Mi'}},
    'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
  ],
  [
    'an empty folder in memory',
    {volumes: [{name: 'v', emptyDir: {medium: 'Memory', sizeLimit: '1Mi'}}]},
    {volumes: {v: '2Mi'}},
    'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
  ],
  ['an empty folder within its limit', {volumes: [{name: 'v', emptyDir: {sizeLimit: '2Mi'}}]}, {volumes: {v: '2Mi'}}, undefined],
  ['an empty folder without limit', {volumes: [{name: 'v', emptyDir: {sizeLimit: '0'}}]}, {volumes: {v: '2Mi'}}, undefined],
  [
    'a pod',
    {volumes: [{name: 'v', emptyDir: {}}], limits: {'ephemeral-storage': '3Mi'}},
    {layer: '1Mi', logs: '1Mi', volumes: {v: '2Mi'}},
    'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ',
  ],
  [
    'a container',
    {
      limits: {'ephemeral-storage': '3Mi'},
      initContainers: [{name: 'first', image: 'i', resources: {limits: {'ephemeral-storage': '1Gi'}}}],
    },
    {layer: '2Mi', logs: '2Mi'},
    'Container app exceeded its local ephemeral storage limit "3Mi". ',
  ],
  ['nothing', {limits: {'ephemeral-storage': '4Mi'}}, {layer: '2Mi', logs: '2Mi'}, undefined],
] as const satisfies readonly (readonly [string, Parameters<typeof aPod>[1], Used, string | undefined])[])
  test(`storage over its limit is that of ${name}`, t => {
    const pod: Pod = aPod('pod', spec as Parameters<typeof aPod>[1]);
    t.is(storageExcess(pod, podStats(pod, used), false)?.message, expected);
  });

test('what containers write on a disk of its own counts for the pod alone', t => {
  const pod = aPod('pod', {
    limits: {'ephemeral-storage': '3Mi'},
    initContainers: [{name: 'first', image: 'i', resources: {limits: {'ephemeral-storage': '1Gi'}}}],
  });
  t.is(storageExcess(pod, podStats(pod, {layer: '9Mi'}), true), undefined);
  t.is(storageExcess(pod, podStats(pod, {layer: '9Mi'}), false)?.signal, 'ephemeralcontainerfs.limit');
});
