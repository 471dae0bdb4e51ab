import test from 'ava';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {seededRandom} from '#src/base/random.js';
import {selectNode} from '#src/scheduler/select-node.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {balancedAllocation} from '#src/scheduler/scores/balanced-allocation.js';
import {imageLocality} from '#src/scheduler/scores/image-locality.js';
import {interPodAffinityScore} from '#src/scheduler/scores/inter-pod-affinity.js';
import {leastAllocated} from '#src/scheduler/scores/least-allocated.js';
import {nodeAffinityScore} from '#src/scheduler/scores/node-affinity.js';
import {podTopologySpreadScore} from '#src/scheduler/scores/pod-topology-spread.js';
import {taintTolerationScore} from '#src/scheduler/scores/taint-toleration.js';
import {aNode, aPod} from './objects.js';
import {aClusterState, scoresOf, type ClusterObjects} from './cluster-state.js';
import {affinity, app, hostname, named, near, onNode, spread, weighted, zoneLabel} from './pod-specs.js';

const preferring = (...terms: object[]): Partial<PodSpec> =>
  ({affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: terms}}}) as never;

const image = (name: string, sizeBytes: number) => ({names: [name], sizeBytes});

const scoreCases: readonly [
  title: string,
  score: Score,
  objects: ClusterObjects,
  pod: Pod,
  expected: Record<string, number> | undefined,
][] = [
  [
    'room that is left',
    leastAllocated,
    {
      nodes: [aNode('n', {cpu: '4', memory: '4Gi'}), aNode('m', {cpu: '4', memory: '4Gi'})],
      pods: [onNode('m', 'x', {cpu: '2', memory: '2Gi'})],
    },
    aPod('p', {cpu: '1', memory: '1Gi'}),
    {n: 75, m: 25},
  ],
  [
    'pods that ask for nothing take a little',
    leastAllocated,
    {nodes: [aNode('n', {cpu: '1', memory: '2000Mi'})], pods: [onNode('n', 'x')]},
    aPod('p'),
    {n: 80},
  ],
  [
    'even use of cpu and memory',
    balancedAllocation,
    {nodes: [aNode('n', {cpu: '4', memory: '4Gi'}), aNode('m', {cpu: '4', memory: '8Gi'})]},
    aPod('p', {cpu: '2', memory: '2Gi'}),
    {n: 100, m: 87},
  ],
  ['nothing of a pod that requests neither', balancedAllocation, {nodes: [aNode('n')]}, aPod('p'), undefined],
  [
    'what affinity prefers',
    nodeAffinityScore,
    {nodes: named},
    aPod(
      'p',
      preferring(
        {weight: 2, preference: {matchExpressions: [{key: 'zone', operator: 'In', values: ['a']}]}},
        {weight: 6, preference: {matchExpressions: [{key: hostname, operator: 'In', values: ['n1']}]}},
      ),
    ),
    {n1: 100, n2: 25, n3: 0},
  ],
  [
    'taints that would rather not',
    taintTolerationScore,
    {
      nodes: [
        aNode('n'),
        aNode('m', {taints: [{key: 'a', effect: 'PreferNoSchedule'}]}),
        aNode('o', {
          taints: [
            {key: 'a', effect: 'PreferNoSchedule'},
            {key: 'b', effect: 'PreferNoSchedule'},
          ],
        }),
      ],
    },
    aPod('p'),
    {n: 100, m: 50, o: 0},
  ],
  [
    'pods that are preferred near',
    interPodAffinityScore,
    {nodes: named, pods: [onNode('n3', 'x', {}, app('db'))]},
    aPod('p', weighted('podAffinity', {weight: 5, podAffinityTerm: near('db')})),
    {n1: 0, n2: 0, n3: 100},
  ],
  [
    'pods that are rather not near',
    interPodAffinityScore,
    {nodes: named, pods: [onNode('n3', 'x', {}, app('db'))]},
    aPod('p', weighted('podAntiAffinity', {weight: 5, podAffinityTerm: near('db')})),
    {n1: 100, n2: 100, n3: 0},
  ],
  [
    'the preference of placed pods',
    interPodAffinityScore,
    {nodes: named, pods: [onNode('n3', 'x', weighted('podAffinity', {weight: 5, podAffinityTerm: near('web')}))]},
    aPod('p', {}, app('web')),
    {n1: 0, n2: 0, n3: 100},
  ],
  [
    'and what they require',
    interPodAffinityScore,
    {nodes: named, pods: [onNode('n3', 'x', affinity('podAffinity', near('web')), app('web'))]},
    aPod('p', {}, app('web')),
    {n1: 0, n2: 0, n3: 100},
  ],
  ['nothing without preferences', interPodAffinityScore, {nodes: named}, aPod('p'), undefined],
  [
    'pods of a service are spread over nodes and zones by default',
    podTopologySpreadScore,
    {
      nodes: named,
      pods: [onNode('n1', 'x', {}, app('web'))],
      services: [{metadata: {name: 's', namespace: 'default'}, spec: {selector: {app: 'web'}}} as never],
    },
    aPod('p', {}, app('web')),
    // By hand: ln 5 for each pod on the node and ln 4 for each in the zone, and the skews allowed: 9, 7 and 6.
    {n1: 66, n2: 88, n3: 100},
  ],
  [
    'pods without an owner are not',
    podTopologySpreadScore,
    {nodes: named, pods: [onNode('n1', 'x', {}, app('web'))]},
    aPod('p', {}, app('web')),
    undefined,
  ],
  [
    'constraints of the pod replace the defaults',
    podTopologySpreadScore,
    {nodes: [...named, aNode('nowhere')], pods: [onNode('n1', 'x', {}, app('web'))]},
    aPod('p', spread({whenUnsatisfiable: 'ScheduleAnyway'}), app('web')),
    {n1: 0, n2: 0, n3: 100, nowhere: 0},
  ],
  [
    'images that are there',
    imageLocality,
    {
      nodes: [
        aNode('n', {images: [image('app:latest', 1000 * 1024 * 1024)]}),
        aNode('m', {images: [image('other:1', 1000 * 1024 * 1024)]}),
      ],
    },
    aPod('p'),
    {n: 48, m: 0},
  ],
  ['nothing where none is', imageLocality, {nodes: [aNode('n')]}, aPod('p'), undefined],
];

for (const [title, score, objects, pod, expected] of scoreCases)
  test(`the score of a node: ${title}`, t => t.deepEqual(scoresOf(score, pod, aClusterState(objects)), expected));

test('of equally good nodes chance takes one, the same again from the same seed', t => {
  const {nodes} = aClusterState({nodes: named});
  const draw = (seed: number) =>
    Array.from({length: 20}, (_, at) => selectNode(nodes, at % 2 ? [1, 5, 5] : [3, 3, 3], seededRandom(seed + at)).name);

  t.deepEqual(draw(1), draw(1));
  t.deepEqual([...new Set(draw(1).filter((_, at) => at % 2))].sort(), ['n2', 'n3']);
  t.is(new Set(draw(1)).size, 3);
});

test('nodes are looked at zone by zone in turn', t => {
  const {nodes} = aClusterState({
    nodes: ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map(name => aNode(name, {labels: {[zoneLabel]: name.charAt(0)}})),
  });

  t.deepEqual(
    nodes.map(({name}) => name),
    ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'],
  );
});
