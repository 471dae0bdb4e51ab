import test from 'ava';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Cache as ObjectCache} from '#informers/cache.js';
import {Cache} from '#src/scheduler/cache/cache.js';
import {totalScores} from '#src/scheduler/select-node.js';
import {Decider} from '#src/scheduler/decider.js';
import {filters} from '#src/scheduler/filters/index.js';
import {interPodAffinity} from '#src/scheduler/filters/inter-pod-affinity.js';
import {podTopologySpread} from '#src/scheduler/filters/pod-topology-spread.js';
import {findFeasibleNodes} from '#src/scheduler/framework/fit.js';
import {fitErrorMessage} from '#src/scheduler/framework/fit-error.js';
import {SchedulerMetrics} from '#src/scheduler/metrics.js';
import {nodesPerStep, type Cluster, type Filter, type Rejection} from '#src/scheduler/framework/plugin.js';
import {leastLoss} from '#src/scheduler/preemption/candidates.js';
import {findVictims} from '#src/scheduler/preemption/search.js';
import {defaultProfile} from '#src/scheduler/profile.js';
import {Nominator} from '#src/scheduler/queue/nominator.js';
import {interPodAffinityScore} from '#src/scheduler/scores/inter-pod-affinity.js';
import {scores} from '#src/scheduler/scores/index.js';
import {aNode, aPod} from './objects.js';
import {aClusterState, plat, toPodInfo} from './cluster-state.js';

const count = 60;
/** Some filters and scores look at a node more than once. */
const looksPerStep = 6 * nodesPerStep;
const near = {labelSelector: {matchLabels: {app: 'web'}}, topologyKey: 'zone'};
const choosy = aPod('choosy', {
  cpu: '3',
  priority: 10,
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [near],
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: near}],
    },
  },
  topologySpreadConstraints: [
    {maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {matchLabels: {app: 'web'}}},
    {maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {matchLabels: {app: 'web'}}},
  ],
} as never);

/** A cluster of full nodes that notes each look at a node, or at the pods on one, in `looks`. */
const watched = () => {
  const cluster = aClusterState({
    nodes: Array.from({length: count}, (_, at) => aNode(`n${at}`, {labels: {zone: `z${at}`}})),
    pods: Array.from({length: count}, (_, at) => aPod(`p${at}`, {cpu: '2', nodeName: `n${at}`, priority: 1})),
  });
  const looks = {sinceRest: 0, most: 0, all: 0};
  const look = () => {
    looks.all++;
    looks.most = Math.max(looks.most, ++looks.sinceRest);
  };
  for (const node of cluster.nodes) {
    const {pods} = node;
    Object.defineProperty(node, 'pods', {
      get() {
        look();
        return pods;
      },
    });
  }
  /** Does the work; `looks.most` is then the most looks between two rests. */
  const rested = <T>(work: Steps<T>): T => {
    for (;;) {
      looks.sinceRest = 0;
      const {done, value} = work.next();
      if (done) return value;
    }
  };
  return {cluster, looks, rested};
};

const searchOf = (cluster: Cluster, only: readonly Filter[] = filters) => ({
  cluster,
  filters: only,
  nominatedPods: () => undefined,
  nominatedNode: undefined,
  percentageOfNodesToScore: 0,
  startIndex: 0,
});

test('the search for a node rests after some nodes, that for pods to leave after each', t => {
  const {cluster, looks, rested} = watched();

  const found = rested(findFeasibleNodes(toPodInfo(choosy), searchOf(cluster)));
  const outcome = rested(
    findVictims(toPodInfo(choosy), undefined, found, {cluster, nominatedPods: () => undefined, random: seededRandom(1), budgets: () => []}),
  );

  t.deepEqual(found.feasible, []);
  t.true('victims' in outcome);
  t.true(looks.all >= 3 * count);
  t.true(looks.most <= looksPerStep, `${looks.most} looks without a rest`);
});

test('the comparison of candidates for preemption rests after each', t => {
  const victims = [toPodInfo(aPod('victim'))];
  const work = leastLoss(Array.from({length: count}, (_, at) => ({node: `n${at}`, victims, violations: at === 0 ? 1 : 0})));
  let rests = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) rests++;

  t.is(step.value?.node, 'n1');
  t.is(rests, count + 4 * (count - 1));
});

test('the message of a pod that fits none of many nodes is composed in steps of some nodes', t => {
  let sinceRest = 0;
  let most = 0;
  const byNode = new Map<string, Rejection>();
  for (let at = 0; at < 5000; at++)
    byNode.set(`n${at}`, {
      get reasons() {
        most = Math.max(most, ++sinceRest);
        return [`node(s) had taint t${at % 3000}`];
      },
      unresolvable: false,
    });
  const work = fitErrorMessage(6000, {byNode, rest: undefined, preFilterMessage: undefined});
  let rests = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) {
    rests++;
    sinceRest = 0;
  }

  t.is(most, 500);
  t.true(rests >= 10 + 6 + 2, 'the reasons are also joined and sorted in steps');
  t.true(step.value.startsWith('0/6000 nodes are available: 1 node(s) had taint t2000, 1 node(s) had taint t2001, '));
  t.true(step.value.endsWith('2 node(s) had taint t998, 2 node(s) had taint t999.'));
});

test('filters and scores that sum over all nodes are computed in steps of some nodes', t => {
  for (const filter of [interPodAffinity, podTopologySpread]) {
    const {cluster, looks, rested} = watched();
    rested(findFeasibleNodes(toPodInfo(choosy), searchOf(cluster, [filter])));
    t.true(looks.all >= count && looks.most <= looksPerStep, `${filter.plugin}: ${looks.most} of ${looks.all} looks without a rest`);
  }
  const {cluster, looks, rested} = watched();
  rested(totalScores(toPodInfo(choosy), cluster.nodes, scores, cluster));
  t.true(looks.all >= count && looks.most <= looksPerStep, `${looks.most} of ${looks.all} looks without a rest`);
});

test('events of nodes in a snapshot are applied afterwards, in order; those of pods at once', t => {
  const cache = new Cache(plat);
  cache.setNode(aNode('stays'));
  cache.setNode(aNode('goes'));
  const pod = toPodInfo(aPod('p', {cpu: '1'}));

  cache.freeze();
  cache.removeNode('goes');
  cache.setNode(aNode('comes'));
  cache.setPod(pod, 'stays');
  t.deepEqual(
    cache.nodes.map(({name}) => name),
    ['stays', 'goes'],
  );
  t.is(cache.node('stays')?.pods.size, 0);
  t.is(cache.pod(pod.uid)?.node, 'stays');
  const work = cache.applyDeferred();
  work.next();
  cache.removePod(pod.uid);
  runSteps(work);

  t.deepEqual(
    cache.nodes.map(({name}) => name),
    ['stays', 'comes'],
  );
  t.is(cache.node('stays')?.pods.size, 0);
  t.is(cache.node('stays')?.requested.cpu, 0);
});

/**
 * The scheduling of a pod that needs 3 cpu on one of two nodes with 4, made while the cluster changes, and the room
 * left after it.
 */
const decided = (pods: readonly string[], change: (cache: Cache, chosen: string) => void) => {
  const cache = new Cache(plat);
  for (const name of ['n1', 'n2']) cache.setNode(aNode(name));
  for (const name of pods) cache.setPod({...toPodInfo(aPod(`on-${name}`, {cpu: '2', priority: 1})), uid: `on-${name}`}, name);
  const cluster: Cluster = Object.create(aClusterState({nodes: []}), {
    nodes: {get: () => cache.nodes},
    node: {value: (name: string) => cache.node(name)},
  }) as Cluster;
  const metrics = new SchedulerMetrics(noMeter);
  const decider = new Decider({
    clock: new VirtualClock(),
    random: seededRandom(1),
    cluster,
    nominator: new Nominator(),
    metrics,
    batches: new Map(),
    budgets: () => new ObjectCache(),
  });

  cache.freeze();
  const decision = runSteps(decider.decide(toPodInfo(aPod('great', {cpu: '3', priority: 10})), defaultProfile, {since: 0, cycle: 1}));
  const chosen = decision.type === 'node' ? decision.node.name : decision.type === 'preempt' ? decision.candidate.node : '';
  change(cache, chosen);
  runSteps(cache.applyDeferred());
  return {type: decision.type, confirmed: decider.revalidate(decision)};
};

for (const [title, pods, type, change, holds] of [
  ['a node that is as it was', [], 'node', () => {}, true],
  ['a node that is gone', [], 'node', (cache, chosen) => cache.removeNode(chosen), false],
  ['a node that was filled meanwhile', [], 'node', (cache, chosen) => cache.setPod(toPodInfo(aPod('other', {cpu: '2'})), chosen), false],
  ['a node that was filled a little', [], 'node', (cache, chosen) => cache.setPod(toPodInfo(aPod('other', {cpu: '1'})), chosen), true],
  ['pods that are there to leave', ['n1', 'n2'], 'preempt', () => {}, true],
  ['pods that have left already', ['n1', 'n2'], 'preempt', (cache, chosen) => cache.removePod(`on-${chosen}`), false],
  [
    'pods whose leaving is no longer enough',
    ['n1', 'n2'],
    'preempt',
    (cache, chosen) => cache.setPod(toPodInfo(aPod('other', {cpu: '2', priority: 20})), chosen),
    false,
  ],
] as const satisfies readonly (readonly [string, readonly string[], string, (cache: Cache, chosen: string) => void, boolean])[]) {
  test(`a decision is ${holds ? 'acted on' : 'made again'} that chose ${title}`, t => {
    const outcome = decided(pods, change);

    t.is(outcome.type, type);
    t.is(outcome.confirmed !== undefined, holds);
  });
}

test('terms of affinity are parsed a hundred at a time, and matched a thousand at a time, however many a pod has', t => {
  const each = 500;
  let parsed = 0;
  const term = {
    topologyKey: 'zone',
    get labelSelector() {
      parsed++;
      return {matchLabels: {app: 'other'}};
    },
  };
  const terms = Array.from({length: each}, () => term);
  const preferred = terms.map(podAffinityTerm => ({weight: 1, podAffinityTerm}));
  const many = {
    affinity: {
      podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: terms, preferredDuringSchedulingIgnoredDuringExecution: preferred},
    },
  };
  const others = Array.from({length: 8}, (_, at) => aPod(`p${at}`, {nodeName: 'n', ...many} as never));
  const cluster = aClusterState({nodes: [aNode('n', {labels: {zone: 'a'}})], pods: others});
  const pod = toPodInfo(aPod('new', many as never));

  t.is(parsed, 0);
  for (const prepare of [interPodAffinity.prepare, interPodAffinityScore.prepare] as const) {
    let [steps, most] = [0, 0];
    const work = (prepare as (pod: unknown, ...rest: unknown[]) => Steps<unknown>)(
      pod,
      ...(prepare === interPodAffinity.prepare ? [] : [[]]),
      cluster,
    );
    for (let before = parsed; !work.next().done; before = parsed, steps++) most = Math.max(most, parsed - before);
    t.true(most <= 100 && most > 0, `${most} in one step`);
    t.true(steps >= (9 * each) / 100 + (8 * 2 * each) / 1_000, `${steps} steps`);
  }
});
