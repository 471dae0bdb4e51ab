import test from 'ava';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import {seededRandom} from '#src/base/random.js';
import {runSteps} from '#src/base/steps.js';
import {Cache} from '#src/scheduler/cache/cache.js';
import {NodeMemo} from '#src/scheduler/cache/node-memo.js';
import {filters} from '#src/scheduler/filters/index.js';
import {findFeasibleNodes} from '#src/scheduler/framework/fit.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';
import {scores} from '#src/scheduler/scores/index.js';
import {totalScores} from '#src/scheduler/select-node.js';
import {aClusterState, plat, toPodInfo} from './cluster-state.js';
import {aNode, aPod} from './objects.js';

const zones = ['a', 'b', 'c'];
const tainted = [{key: 'only', value: 'some', effect: 'NoSchedule'}];
const preferred = {
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {weight: 1, preference: {matchExpressions: [{key: 'zone', operator: 'In', values: ['b']}]}},
    ],
  },
};
const spread = [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {matchLabels: {app: 'web'}}}];

/** Pods of different workloads: each pair differs in something that one filter or one score reads. */
const templates = [
  {cpu: '500m', memory: '100Mi'},
  {cpu: '600m', memory: '100Mi'},
  {},
  {cpu: '500m', memory: '100Mi', tolerations: [{key: 'only', operator: 'Exists'}]},
  {cpu: '500m', memory: '100Mi', nodeSelector: {zone: 'a'}},
  {cpu: '500m', memory: '100Mi', nodeSelector: {zone: 'b'}},
  {cpu: '500m', memory: '100Mi', affinity: preferred},
  {cpu: '500m', memory: '100Mi', topologySpreadConstraints: spread},
  {containers: [{name: 'main', image: 'app', ports: [{containerPort: 80, hostPort: 80}]}]},
  {containers: [{name: 'main', image: 'app', ports: [{containerPort: 81, hostPort: 81}]}]},
];

const someNode = (name: string, random: () => number) =>
  aNode(name, {
    cpu: String(1 + Math.floor(random() * 4)),
    labels: random() < 0.8 ? {zone: zones[Math.floor(random() * zones.length)]} : {},
    ...(random() < 0.3 ? {taints: tainted} : {}),
    ...(random() < 0.1 ? {unschedulable: true} : {}),
  });

const decided = (pod: ReturnType<typeof toPodInfo>, cluster: Cluster) => {
  const {feasible, diagnosis} = runSteps(
    findFeasibleNodes(pod, {
      cluster,
      filters,
      nominatedPods: () => undefined,
      nominatedNode: undefined,
      percentageOfNodesToScore: 100,
      startIndex: 0,
    }),
  );
  return {
    totals: feasible.map(({name}, at) => ({name, total: runSteps(totalScores(pod, feasible, scores, cluster))[at]})),
    rejections: [...diagnosis.byNode].map(([name, {reasons}]) => [name, reasons]),
  };
};

test('decisions with what is known of nodes are those without it, while pods and nodes come, change and go', t => {
  const random = seededRandom(7);
  const any = () => random.float();
  const cache = new Cache(plat);
  const state = aClusterState({nodes: []});
  const memo = new NodeMemo();
  const clusterWith = (of: NodeMemo): Cluster =>
    Object.create(state, {
      nodes: {value: cache.nodes},
      node: {value: (name: string) => cache.node(name)},
      memo: {value: of},
    }) as Cluster;
  const nameOf = (at: number) => `n${at}`;
  const placed: string[] = [];
  for (let at = 0; at < 12; at++) cache.setNode(someNode(nameOf(at), any));
  for (let round = 0; round < 400; round++) {
    const pod = toPodInfo(aPod(`p${round}`, templates[Math.floor(any() * templates.length)] as never, {labels: {app: 'web'}}));
    const result = decided(pod, clusterWith(memo));
    t.deepEqual(result, decided(pod, clusterWith(new NodeMemo())), `decision ${round}`);
    const [chosen] = [...result.totals].sort((a, b) => b.total! - a.total!);
    if (chosen) {
      cache.assume(pod, chosen.name);
      placed.push(pod.uid);
    }
    if (any() < 0.4) cache.removePod(placed.splice(Math.floor(any() * placed.length), 1)[0] ?? '');
    const at = Math.floor(any() * 16);
    if (any() < 0.1) cache.setNode(someNode(nameOf(at), any));
    if (any() < 0.05) cache.removeNode(nameOf(at));
  }
  t.true(placed.length > 10);
});

test('a number of a node holds until the node changes, also for a node that takes the place of a deleted one', t => {
  const cache = new Cache(plat);
  const column = new NodeMemo().column('some');
  cache.setNode(aNode('old'));
  const old = cache.node('old')!;
  column.set(old, 5);

  t.is(column.get(old), 5);
  t.is(column.get(old.copy()), undefined);
  const pod = toPodInfo(aPod('p'));
  cache.assume(pod, 'old');
  t.is(column.get(old), undefined);
  column.set(old, 6);
  cache.removePod(pod.uid);
  t.is(column.get(old), undefined);
  column.set(old, 7);
  cache.removeNode('old');
  cache.setNode(aNode('new'));
  t.is(cache.node('new')!.slot, old.slot);
  t.is(column.get(cache.node('new')!), undefined);
});

test('nodes that exist at a time have places of their own, without gaps', t => {
  const cache = new Cache(plat);
  const memo = new NodeMemo();
  for (let at = 0; at < 200; at++) cache.setNode(aNode(`n${at}`));
  for (let at = 0; at < 200; at += 3) cache.removeNode(`n${at}`);
  for (let at = 200; at < 260; at++) cache.setNode(aNode(`n${at}`));
  const column = memo.column('some');
  for (const [at, node] of cache.nodes.entries()) column.set(node, at);

  t.deepEqual(
    cache.nodes.map(node => column.get(node)),
    cache.nodes.map((_, at) => at),
  );
  t.true(cache.nodes.every(({slot}) => slot < 200));
});

test('a selector that matches no pods counts none beside one that matches all', t => {
  const cluster = aClusterState({nodes: [aNode('n')], pods: [aPod('p', {nodeName: 'n'})]});
  const [node] = cluster.nodes;
  const all = cluster.memo.podCounter('default', labelSelectorOf({}));
  const none = cluster.memo.podCounter('default', labelSelectorOf(undefined));

  t.deepEqual([all(node!), none(node!)], [1, 0]);
});

test('only a pod that the server confirms as it was assumed leaves what is known of its node', t => {
  const cache = new Cache(plat);
  cache.setNode(aNode('n'));
  const info = toPodInfo(aPod('p', {}, {generation: 1}));
  cache.assume(info, 'n');
  const {version} = cache.node('n')!;
  const bound = aPod('p', {nodeName: 'n'}, {generation: 1, uid: info.uid});

  for (const other of [
    aPod('p', {nodeName: 'other'}, {generation: 1, uid: info.uid}),
    aPod('p', {nodeName: 'n'}, {generation: 2, uid: info.uid}),
    aPod('p', {nodeName: 'n'}, {generation: 1, uid: info.uid, labels: {app: 'web'}}),
  ])
    t.false(cache.confirm(other));
  t.true(cache.confirm(bound));
  t.false(cache.confirm(bound));
  t.is(cache.node('n')!.version, version);
  t.is(cache.node('n')!.pods.get(info.uid)?.pod, bound);
  t.deepEqual(cache.sizes, {nodes: 1, pods: 1, assumed_pods: 0});
});

test('nodes with pods that have affinity terms are known while such pods are on them', t => {
  const cache = new Cache(plat);
  cache.setNode(aNode('n'));
  cache.setNode(aNode('other'));
  const term = {labelSelector: {}, topologyKey: 'zone'};
  const shy = toPodInfo(aPod('shy', {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [term]}}}));
  const fond = toPodInfo(
    aPod('fond', {
      affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: term}]}},
    }),
  );
  const known = () => [cache.nodesWithAffinity, cache.nodesWithRequiredAntiAffinity].map(nodes => [...nodes].map(({name}) => name));

  t.deepEqual(known(), [[], []]);
  cache.assume(shy, 'n');
  cache.assume(fond, 'n');
  cache.assume(toPodInfo(aPod('plain')), 'other');
  t.deepEqual(known(), [['n'], ['n']]);
  cache.removePod(shy.uid);
  t.deepEqual(known(), [['n'], []]);
  cache.removePod(fond.uid);
  t.deepEqual(known(), [[], []]);
});
