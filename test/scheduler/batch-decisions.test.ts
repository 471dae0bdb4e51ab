import test from 'ava';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {runSteps} from '#src/base/steps.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Cache as ObjectCache} from '#informers/cache.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {OpportunisticBatch} from '#src/scheduler/batching/batch.js';
import {PodSigner} from '#src/scheduler/batching/sign-pod.js';
import {SortedNodes} from '#src/scheduler/batching/sorted-nodes.js';
import {unusableReason} from '#src/scheduler/batching/unusable-reason.js';
import {Decider} from '#src/scheduler/decider.js';
import {prepareFilters} from '#src/scheduler/framework/filter-set.js';
import {unschedulable, type Filter} from '#src/scheduler/framework/plugin.js';
import {SchedulerMetrics} from '#src/scheduler/metrics.js';
import {defaultProfile, type Profile} from '#src/scheduler/profile.js';
import {Nominator} from '#src/scheduler/queue/nominator.js';
import {aClusterState, toPodInfo} from './cluster-state.js';
import {aNode, aPod} from './objects.js';
import {onNode} from './pod-specs.js';

/** Nodes in this order, the first best. */
const sorted = (...names: string[]) =>
  new SortedNodes(
    names,
    names.map((_, at) => -at),
    seededRandom(1),
  );

/** Each node holds one blocking pod; the signature of a pod is one of its labels. */
const onePerNode: Filter = {
  plugin: 'NodeName',
  prepare: pod => ({
    filter: ({pods}) =>
      pod.labels['blocks'] && [...pods.values()].some(({labels}) => labels['blocks']) ? unschedulable('unsched') : undefined,
  }),
  sign: {fragments: [{key: 'sig', value: ({labels}) => labels['sig']}]},
  hints: [],
};

const labels = (blocks: boolean, sig: string) => ({labels: {sig, ...(blocks ? {blocks: 'yes'} : {})}});

interface Case {
  readonly blocks: boolean;
  readonly secondSig?: string;
  readonly firstFails?: boolean;
  readonly otherNodes: SortedNodes | undefined;
  readonly skipsPod?: boolean;
  readonly hint: string | undefined;
  /** What the second pod leaves to a third. */
  readonly left?: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'a second pod with the same signature gets a hint': {blocks: true, otherNodes: sorted('n1'), hint: 'n1'},
  "a second pod with a different signature doesn't get a hint": {
    blocks: true,
    secondSig: 'sig2',
    otherNodes: sorted('n1'),
    hint: undefined,
  },
  "a second pod doesn't get a hint if it's not 1-pod-per-node": {blocks: false, otherNodes: sorted('n1'), hint: undefined},
  "pod doesn't get hint if previous pod didn't scheduled": {blocks: true, firstFails: true, otherNodes: sorted('n1'), hint: undefined},
  'empty list': {blocks: true, otherNodes: sorted(), hint: undefined},
  'nil list': {blocks: true, otherNodes: undefined, hint: undefined},
  "pod doesn't get hint because the previous pod is to a different profile": {
    blocks: true,
    otherNodes: sorted('n1'),
    skipsPod: true,
    hint: undefined,
  },
  'pod uses batch from preceding pod and leaves remaining batch to next pod': {
    blocks: true,
    otherNodes: sorted('n1', 'n2'),
    hint: 'n1',
    left: ['n2'],
  },
};

const aBatch = () => {
  const clock = new VirtualClock();
  const cluster = aClusterState({
    nodes: ['n1', 'n2', 'n3'].map(name => aNode(name)),
    pods: [onNode('n3', 'first', {}, labels(true, 'sig'))],
  });
  const signer = new PodSigner({filters: [onePerNode], scores: []});
  const batch = new OpportunisticBatch({
    clock,
    random: seededRandom(1),
    cluster,
    signer,
    metrics: new SchedulerMetrics(noMeter).batchesOf('mine'),
  });
  const hintFor = (cycle: number, metadata: object) =>
    runSteps(batch.hintFor(runSteps(prepareFilters(toPodInfo(aPod('p', {}, metadata)), [onePerNode], cluster)), cycle));
  return {batch, clock, hintFor};
};

for (const [title, {blocks, secondSig = 'sig', firstFails, otherNodes, skipsPod, hint, left}] of Object.entries(cases)) {
  test(`what a pod leaves to the next: ${title}`, t => {
    const {batch, hintFor} = aBatch();
    const first = hintFor(1, labels(blocks, 'sig'));
    t.is(first.node, undefined);
    const feasible = 1 + (otherNodes?.length ?? 0);
    if (!firstFails)
      batch.store({cycle: 1, hint: first, chosenNode: 'n3', otherNodes: otherNodes?.length ? otherNodes : undefined, feasible});
    const cycle = skipsPod ? 3 : 2;

    const second = hintFor(cycle, labels(blocks, secondSig));

    t.is(second.node, hint);
    if (!left) return;
    batch.store({cycle, hint: second, chosenNode: hint!, otherNodes: undefined, feasible: 1});
    t.deepEqual([otherNodes!.length, otherNodes!.pop()], [1, left[0]]);
  });
}

test('a pod that is decided on again in its cycle keeps its hint, and leaves the rest', t => {
  const {batch, hintFor} = aBatch();
  const otherNodes = sorted('n1', 'n2');
  batch.store({cycle: 1, hint: hintFor(1, labels(true, 'sig')), chosenNode: 'n3', otherNodes, feasible: 3});

  t.is(hintFor(2, labels(true, 'sig')).node, 'n1');
  t.is(hintFor(2, labels(true, 'sig')).node, 'n1');
  t.is(otherNodes.length, 1);
});

for (const [drawn, count] of [
  [0.09, 1],
  [0.1, undefined],
] as const) {
  test(`the signing of a tenth of the pods is measured: ${drawn} is drawn`, t => {
    const meter = new MetricsRegistry();
    const cluster = aClusterState({nodes: []});
    const measured = new OpportunisticBatch({
      clock: new VirtualClock(),
      random: {...seededRandom(1), float: () => drawn},
      cluster,
      signer: new PodSigner({filters: [onePerNode], scores: []}),
      metrics: new SchedulerMetrics(meter).batchesOf('mine'),
    });

    runSteps(measured.hintFor(runSteps(prepareFilters(toPodInfo(aPod('p')), [onePerNode], cluster)), 1));

    const labelsOfSigning = {extension_point: 'Sign', status: 'Success', profile: 'mine'};
    t.is(meter.value('scheduler_framework_extension_point_duration_seconds', labelsOfSigning), count);
  });
}

const batch = () => ({signature: 'sig', nodes: sorted('n1'), createdAt: 1000});
const node = {name: 'n3'} as never;
const next = {cycle: 2, signature: 'sig', now: 1500, nodeOf: () => node, isFull: () => true};

for (const [title, last, pod, expected] of [
  ['it is usable', {cycle: 1, chosenNode: 'n3'}, next, undefined],
  ['no pod got a node before', undefined, next, 'pod_skipped'],
  ['a cycle lies between them', {cycle: 0, chosenNode: 'n3'}, next, 'pod_skipped'],
  ['the signatures differ', {cycle: 1, chosenNode: 'n3'}, {...next, signature: 'other'}, 'pod_incompatible'],
  ['the pod has no signature', {cycle: 1, chosenNode: 'n3'}, {...next, signature: undefined}, 'pod_incompatible'],
  ['it is older than half a second', {cycle: 1, chosenNode: 'n3'}, {...next, now: 1501}, 'expired'],
  ['the node of the last pod is gone', {cycle: 1, chosenNode: 'n3'}, {...next, nodeOf: () => undefined}, 'node_missing'],
  ['the node of the last pod has room', {cycle: 1, chosenNode: 'n3'}, {...next, isFull: () => false}, 'node_not_full'],
] as const) {
  test(`whether a batch is usable: ${title}`, t => t.is(unusableReason(batch(), last, pod), expected));
}

test('nodes are left in the order of their scores, those with the same by chance', t => {
  const draw = (seed: number) => {
    const nodes = new SortedNodes(['a', 'b', 'c', 'd'], [1, 5, 5, 9], seededRandom(seed));
    return Array.from({length: 5}, () => nodes.pop());
  };

  const drawn = Array.from({length: 20}, (_, seed) => draw(seed));

  t.deepEqual(drawn[0], draw(0));
  for (const each of drawn) t.deepEqual([each[0], each[1] === 'b' ? each[2] : each[1], each[3], each[4]], ['d', 'c', 'a', undefined]);
  t.is(new Set(drawn.map(each => each[1])).size, 2);
});

/** Searches 200 nodes, again and again, for pods that may be nominated to one. */
const searches = (scores: Profile['scores']) => {
  const cluster = aClusterState({nodes: Array.from({length: 200}, (_, at) => aNode(`n${at}`))});
  const decider = new Decider({
    clock: new VirtualClock(),
    random: seededRandom(1),
    cluster,
    nominator: new Nominator(),
    metrics: new SchedulerMetrics(noMeter),
    batches: new Map(),
    budgets: () => new ObjectCache(),
  });
  return (nominatedNodeName?: string): readonly string[] => {
    const pod = {...aPod('p'), ...(nominatedNodeName ? {status: {nominatedNodeName}} : {})};
    const {filterResult} = runSteps(decider.decide(toPodInfo(pod), {...defaultProfile, scores}, {since: 0, cycle: 1}));
    return filterResult.feasible.map(({name}) => name);
  };
};

test('a nominated node that is feasible does not move the start of the next search', t => {
  const searched = searches(defaultProfile.scores.slice(0, 1));

  t.deepEqual(searched('n7'), ['n7']);
  t.is(searched()[0], 'n0');
  t.deepEqual(searched('n7'), ['n7']);
  t.is(searched()[0], 'n100');
});

test('a search without scores ends at the first feasible node, and the next one begins behind it', t => {
  const searched = searches([]);

  t.deepEqual([searched(), searched(), searched()], [['n0'], ['n1'], ['n2']]);
});
