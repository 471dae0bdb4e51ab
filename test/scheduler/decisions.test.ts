import test from 'ava';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {runSteps} from '#src/base/steps.js';
import {interPodAffinity} from '#src/scheduler/filters/inter-pod-affinity.js';
import {podTopologySpread} from '#src/scheduler/filters/pod-topology-spread.js';
import {fitErrorMessage} from '#src/scheduler/framework/fit-error.js';
import {numFeasibleNodesToFind} from '#src/scheduler/framework/fit.js';
import {aNode, aPod} from './objects.js';
import {aClusterState, shouldQueue, plat, toPodInfo, search, rejections, type ClusterObjects} from './cluster-state.js';
import {affinity, app, near, node, onNode, spread, zones} from './pod-specs.js';

const ports = (...list: object[]): Partial<PodSpec> => ({containers: [{name: 'c', image: 'i', ports: list as never}]});

const [noAffinity, noAnti, noExisting] = [
  "node(s) didn't match pod affinity rules",
  "node(s) didn't match pod anti-affinity rules",
  "node(s) didn't satisfy existing pods anti-affinity rules",
];

const [skewed, unplaced] = [
  "node(s) didn't match pod topology spread constraints",
  "node(s) didn't match pod topology spread constraints (missing required label)",
];

const noPort = "node(s) didn't have free ports for the requested pod ports";

const [inA, inB, nowhere] = [node({zone: 'a'}), node({zone: 'b'}), node({other: 'x'})];
const bad = [{key: 'bad', effect: 'NoSchedule'}];
const [wants, shuns] = [affinity('podAffinity', near('web')), affinity('podAntiAffinity', near('web'))];

// Whether a change of a node may let a pod be scheduled that these plugins rejected.
for (const [title, filter, spec, kind, old, now, expected] of [
  ['affinity: a new node without the key', interPodAffinity, wants, 'NodeAdd', undefined, nowhere, false],
  ['affinity: a new node with the key', interPodAffinity, wants, 'NodeAdd', undefined, inA, true],
  ['affinity: a node that gets the key', interPodAffinity, wants, 'NodeUpdateNodeLabel', nowhere, inA, true],
  ['affinity: a node that moves', interPodAffinity, wants, 'NodeUpdateNodeLabel', inA, inB, true],
  ['affinity: a node that loses the key', interPodAffinity, wants, 'NodeUpdateNodeLabel', inA, nowhere, false],
  ['affinity: another label', interPodAffinity, wants, 'NodeUpdateNodeLabel', inA, node({zone: 'a', x: 'y'}), false],
  ['anti-affinity: a new node without the key', interPodAffinity, shuns, 'NodeAdd', undefined, nowhere, true],
  ['anti-affinity: a new node with the key', interPodAffinity, shuns, 'NodeAdd', undefined, inA, true],
  ['anti-affinity: a node that gets the key', interPodAffinity, shuns, 'NodeUpdateNodeLabel', nowhere, inA, false],
  ['anti-affinity: a node that moves', interPodAffinity, shuns, 'NodeUpdateNodeLabel', inA, inB, true],
  ['anti-affinity: a node that loses the key', interPodAffinity, shuns, 'NodeUpdateNodeLabel', inA, nowhere, true],
  ['anti-affinity: another label', interPodAffinity, shuns, 'NodeUpdateNodeLabel', inA, node({zone: 'a', x: 'y'}), false],
  ['spread: a taint on a node with the key', podTopologySpread, spread(), 'NodeUpdateNodeTaint', inA, node({zone: 'a'}, bad), true],
  [
    'spread: a taint on a node without the key',
    podTopologySpread,
    spread(),
    'NodeUpdateNodeTaint',
    nowhere,
    node({other: 'x'}, bad),
    false,
  ],
] as const) {
  test(`a change of a node ${expected ? 'may help' : 'does not help'} a waiting pod: ${title}`, t => {
    t.is(shouldQueue(filter, kind, toPodInfo(aPod('p', spec)), old, now), expected);
  });
}

for (const [title, spec, isOwn, expected] of [
  ['its constraint honours taints', spread({nodeTaintsPolicy: 'Honor'}), true, true],
  ['its constraint ignores taints', spread({nodeTaintsPolicy: 'Ignore'}), true, false],
  ['it is another pod', spread({nodeTaintsPolicy: 'Honor'}), false, false],
] as const) {
  test(`a new toleration lets spread constraints be looked at again, or not: ${title}`, t => {
    const pod = toPodInfo(aPod('p', {...spec, tolerations: [{key: 'bad', operator: 'Exists'}]}));
    const own = {...pod.pod, spec: {...pod.pod.spec!, tolerations: []}};
    const other = toPodInfo(aPod('other')).pod;

    t.is(
      shouldQueue(podTopologySpread, 'UnschedulablePodUpdatePodToleration', pod, isOwn ? own : other, isOwn ? pod.pod : other),
      expected,
    );
  });
}

const cases: readonly [title: string, objects: ClusterObjects, pod: Pod, expected: ReturnType<typeof rejections>][] = [
  [
    'room is what is not requested',
    {nodes: [aNode('n', {cpu: '4'})], pods: [onNode('n', 'x', {cpu: '3'})]},
    aPod('p', {cpu: '1100m'}),
    {n: 'Insufficient cpu'},
  ],
  [
    'every insufficient resource is reported',
    {nodes: [aNode('n', {cpu: '1', memory: '1Gi', pods: '0'})]},
    aPod('p', {cpu: '2', memory: '2Gi'}),
    {n: 'Too many pods, Insufficient cpu, Insufficient memory'},
  ],
  [
    'an extended resource is there or not',
    {nodes: [aNode('n', {allocatable: {'example.com/gpu': '1'}}), aNode('m')]},
    aPod('p', {containers: [{name: 'c', image: 'i', resources: {requests: {'example.com/gpu': '1'}}}]}),
    {n: '', m: 'Insufficient example.com/gpu'},
  ],
  [
    'a pod without requests fits while pods do',
    {nodes: [aNode('n', {cpu: '0', pods: '1'}), aNode('m', {pods: '1'})], pods: [onNode('m', 'x')]},
    aPod('p'),
    {n: '', m: 'Too many pods'},
  ],
  [
    'a cordoned node takes only pods that tolerate it',
    {nodes: [aNode('n', {unschedulable: true})]},
    aPod('p', {tolerations: [{key: plat.subKey('node', 'unschedulable'), operator: 'Exists'}]}),
    {n: ''},
  ],
  [
    'a taint with PreferNoSchedule rejects no pod',
    {nodes: [aNode('n', {taints: [{key: 'a', effect: 'PreferNoSchedule'}]})]},
    aPod('p'),
    {n: ''},
  ],
  [
    'a node selector holds',
    {nodes: [aNode('n', {labels: {disk: 'ssd'}}), aNode('m')]},
    aPod('p', {nodeSelector: {disk: 'ssd'}}),
    {n: '', m: "node(s) didn't match Pod's node affinity/selector"},
  ],
  [
    'only nodes named by affinity are filtered',
    {nodes: [aNode('n'), aNode('m')]},
    aPod('p', {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{matchFields: [{key: 'metadata.name', operator: 'In', values: ['m', 'gone']}]}],
          },
        },
      },
    }),
    {m: ''},
  ],
  [
    'names that exclude each other end it',
    {nodes: [aNode('n')]},
    aPod('p', {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchFields: [
                  {key: 'metadata.name', operator: 'In', values: ['n']},
                  {key: 'metadata.name', operator: 'In', values: ['m']},
                ],
              },
            ],
          },
        },
      },
    }),
    'pod affinity terms conflict',
  ],
  [
    'a port of the host is taken once',
    {nodes: [aNode('n'), aNode('m')], pods: [onNode('n', 'x', ports({containerPort: 80, hostPort: 80, protocol: 'TCP'}))]},
    aPod('p', ports({containerPort: 80, hostPort: 80, protocol: 'TCP'})),
    {n: noPort, m: ''},
  ],
  [
    'of one protocol',
    {nodes: [aNode('n')], pods: [onNode('n', 'x', ports({containerPort: 80, hostPort: 80, protocol: 'UDP'}))]},
    aPod('p', ports({containerPort: 80, hostPort: 80, protocol: 'TCP'})),
    {n: ''},
  ],
  [
    'on one address',
    {nodes: [aNode('n')], pods: [onNode('n', 'x', ports({containerPort: 80, hostPort: 80, hostIP: '10.0.0.1'}))]},
    aPod('p', ports({containerPort: 80, hostPort: 80, hostIP: '10.0.0.2'})),
    {n: ''},
  ],
  [
    'unless one of both wants all of them',
    {nodes: [aNode('n')], pods: [onNode('n', 'x', ports({containerPort: 80, hostPort: 80, hostIP: '10.0.0.1'}))]},
    aPod('p', ports({containerPort: 80, hostPort: 80})),
    {n: noPort},
  ],

  [
    'affinity draws to the place of others',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('db'))]},
    aPod('p', affinity('podAffinity', near('db'))),
    {a1: '', a2: '', b1: noAffinity, nowhere: noAffinity},
  ],
  [
    'affinity without a matching pod rejects every node',
    {nodes: zones},
    aPod('p', affinity('podAffinity', near('db'))),
    {a1: noAffinity, a2: noAffinity, b1: noAffinity, nowhere: noAffinity},
  ],
  [
    'the first pod with affinity to itself may go to any node with the topology key',
    {nodes: zones},
    aPod('p', affinity('podAffinity', near('web')), app('web')),
    {a1: '', a2: '', b1: '', nowhere: noAffinity},
  ],
  [
    'pods of other namespaces do not count',
    {nodes: zones, pods: [onNode('a1', 'x', {}, {...app('db'), namespace: 'other'})]},
    aPod('p', affinity('podAffinity', near('db'))),
    {a1: noAffinity, a2: noAffinity, b1: noAffinity, nowhere: noAffinity},
  ],
  [
    'unless they are named',
    {nodes: zones, pods: [onNode('a1', 'x', {}, {...app('db'), namespace: 'other'})]},
    aPod('p', affinity('podAffinity', near('db', {namespaces: ['other']}))),
    {a1: '', a2: '', b1: noAffinity, nowhere: noAffinity},
  ],
  [
    'or described',
    {
      nodes: zones,
      pods: [onNode('a1', 'x', {}, {...app('db'), namespace: 'other'})],
      namespaces: [{metadata: {name: 'other', labels: {team: 'one'}}}],
    },
    aPod('p', affinity('podAffinity', near('db', {namespaceSelector: {matchLabels: {team: 'one'}}}))),
    {a1: '', a2: '', b1: noAffinity, nowhere: noAffinity},
  ],
  [
    'an empty description is of all of them',
    {nodes: zones, pods: [onNode('a1', 'x', {}, {...app('db'), namespace: 'other'})]},
    aPod('p', affinity('podAffinity', near('db', {namespaceSelector: {}}))),
    {a1: '', a2: '', b1: noAffinity, nowhere: noAffinity},
  ],
  [
    'anti-affinity keeps away from the place of others',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('db'))]},
    aPod('p', affinity('podAntiAffinity', near('db'))),
    {a1: noAnti, a2: noAnti, b1: '', nowhere: ''},
  ],
  [
    'anti-affinity of placed pods excludes others',
    {nodes: zones, pods: [onNode('a1', 'x', affinity('podAntiAffinity', near('web')), app('db'))]},
    aPod('p', {}, app('web')),
    {a1: noExisting, a2: noExisting, b1: '', nowhere: ''},
  ],
  [
    'and refuse only whom they speak of',
    {nodes: zones, pods: [onNode('a1', 'x', affinity('podAntiAffinity', near('web')), app('db'))]},
    aPod('p', {}, app('cache')),
    {a1: '', a2: '', b1: '', nowhere: ''},
  ],

  [
    'pods are spread over places',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('web'))]},
    aPod('p', spread(), app('web')),
    {a1: skewed, a2: skewed, b1: '', nowhere: unplaced},
  ],
  [
    'as far as the skew requires it',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('web'))]},
    aPod('p', spread({maxSkew: 2}), app('web')),
    {a1: '', a2: '', b1: '', nowhere: unplaced},
  ],
  [
    'a pod that is not counted itself may come beside one',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('web'))]},
    aPod('p', spread(), app('other')),
    {a1: '', a2: '', b1: '', nowhere: unplaced},
  ],
  [
    'fewer places than wanted count as if one were empty',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('web')), onNode('b1', 'y', {}, app('web'))]},
    aPod('p', spread({minDomains: 3}), app('web')),
    {a1: skewed, a2: skewed, b1: skewed, nowhere: unplaced},
  ],
  [
    'pods that are ending do not count',
    {nodes: zones, pods: [onNode('a1', 'x', {}, {...app('web'), deletionTimestamp: '2026-01-01T00:00:00Z'})]},
    aPod('p', spread(), app('web')),
    {a1: '', a2: '', b1: '', nowhere: unplaced},
  ],
  [
    'places the pod cannot be in do not count',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('web'))]},
    aPod('p', {...spread(), nodeSelector: {zone: 'a'}}, app('web')),
    {a1: '', a2: '', b1: "node(s) didn't match Pod's node affinity/selector", nowhere: "node(s) didn't match Pod's node affinity/selector"},
  ],
  [
    'unless the policies honor them',
    {nodes: zones, pods: [onNode('a1', 'x', {}, app('web'))]},
    aPod('p', {...spread({nodeAffinityPolicy: 'Ignore'}), nodeSelector: {zone: 'a'}}, app('web')),
    {
      a1: skewed,
      a2: skewed,
      b1: "node(s) didn't match Pod's node affinity/selector",
      nowhere: "node(s) didn't match Pod's node affinity/selector",
    },
  ],
  [
    'taints that keep the pod off take a place out of the count when they are to',
    {
      nodes: [...zones.slice(0, 2), aNode('b1', {labels: {zone: 'b'}, taints: [{key: 't', effect: 'NoSchedule'}]})],
      pods: [onNode('a1', 'x', {}, app('web'))],
    },
    aPod('p', spread({nodeTaintsPolicy: 'Honor'}), app('web')),
    {a1: '', a2: '', b1: 'node(s) had untolerated taint(s)'},
  ],
  [
    'labels that pods must share narrow whom a constraint counts',
    {nodes: zones, pods: [onNode('a1', 'x', {}, {labels: {app: 'web', version: '1'}})]},
    aPod('p', spread({matchLabelKeys: ['version']}), {labels: {app: 'web', version: '2'}}),
    {a1: '', a2: '', b1: '', nowhere: unplaced},
  ],
];

for (const [title, objects, pod, expected] of cases)
  test(`where a pod fits: ${title}`, t => t.deepEqual(rejections(pod, aClusterState(objects)), expected));

test('failures that preemption cannot resolve are separated from those it may', t => {
  const {diagnosis} = search(
    toPodInfo(aPod('p', {cpu: '3'})),
    aClusterState({nodes: [aNode('small', {cpu: '2'}), aNode('full', {cpu: '4'})], pods: [onNode('full', 'x', {cpu: '2'})]}),
  );

  t.deepEqual(
    [...diagnosis.byNode].map(([name, {unresolvable}]) => [name, unresolvable]),
    [
      ['small', true],
      ['full', false],
    ],
  );
});

test('reasons are counted over nodes and sorted', t => {
  const byNode = new Map([
    ['a', {reasons: ['y', 'x'], unresolvable: false}],
    ['b', {reasons: ['x'], unresolvable: false}],
  ]);

  t.is(
    runSteps(fitErrorMessage(4, {byNode, rest: {reasons: ['z'], unresolvable: true}, preFilterMessage: undefined})),
    '0/4 nodes are available: 1 y, 2 x, 2 z.',
  );
  t.is(
    runSteps(fitErrorMessage(4, {byNode: new Map(), rest: undefined, preFilterMessage: 'no claim'}, 'and so on')),
    '0/4 nodes are available: no claim. and so on',
  );
});

test('the search ends sooner the more nodes there are', t => {
  t.deepEqual(
    [
      [99, 0],
      [100, 0],
      [500, 0],
      [1000, 0],
      [5000, 0],
      [10_000, 0],
      [1000, 70],
    ].map(([all, percentage]) => numFeasibleNodesToFind(all!, percentage)),
    [99, 100, 230, 420, 500, 500, 700],
  );
});

test('a pod takes of its node what its containers still have while it is resized to less', t => {
  const resized = (cpu: string) => {
    const pod = onNode('n', 'x', {containers: [{name: 'main', image: 'app', resources: {requests: {cpu: '1'}}}]});
    return {
      ...pod,
      status: {containerStatuses: [{name: 'main', allocatedResources: {cpu}, resources: {requests: {cpu}}}]},
    } as unknown as Pod;
  };
  const fits = (cpu: string) =>
    search(toPodInfo(aPod('p', {cpu: '2'})), aClusterState({nodes: [aNode('n', {cpu: '4'})], pods: [resized(cpu)]})).feasible.length === 1;

  t.deepEqual([fits('1'), fits('3')], [true, false]);
});
