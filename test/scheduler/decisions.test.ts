import test from 'ava';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {seededRandom} from '#src/base/random.js';
import {selectNode} from '#src/scheduler/select-node.js';
import {interPodAffinity} from '#src/scheduler/filters/inter-pod-affinity.js';
import {podTopologySpread} from '#src/scheduler/filters/pod-topology-spread.js';
import {fitErrorMessage} from '#src/scheduler/framework/fit-error.js';
import {settingsOf} from '#src/scheduler/configuration/settings.js';
import {runSteps} from '#src/base/steps.js';
import {findFeasibleNodes, numFeasibleNodesToFind} from '#src/scheduler/framework/fit.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {defaultProfile, type Profile} from '#src/scheduler/profile.js';
import {balancedAllocation} from '#src/scheduler/scores/balanced-allocation.js';
import {imageLocality} from '#src/scheduler/scores/image-locality.js';
import {interPodAffinityScore} from '#src/scheduler/scores/inter-pod-affinity.js';
import {leastAllocated} from '#src/scheduler/scores/least-allocated.js';
import {nodeAffinityScore} from '#src/scheduler/scores/node-affinity.js';
import {podTopologySpreadScore} from '#src/scheduler/scores/pod-topology-spread.js';
import {taintTolerationScore} from '#src/scheduler/scores/taint-toleration.js';
import {aNode, aPod} from './objects.js';
import {aClusterState, shouldQueue, plat, toPodInfo, scoresOf, search, rejections, type ClusterObjects} from './cluster-state.js';

const onNode = (node: string, name: string, spec: Parameters<typeof aPod>[1] = {}, metadata: object = {}) =>
  aPod(name, {nodeName: node, ...spec}, metadata);
const app = (name: string) => ({labels: {app: name}});
const near = (name: string, more: object = {}) => ({labelSelector: {matchLabels: {app: name}}, topologyKey: 'zone', ...more});
const affinity = (of: 'podAffinity' | 'podAntiAffinity', ...terms: object[]): Partial<PodSpec> =>
  ({affinity: {[of]: {requiredDuringSchedulingIgnoredDuringExecution: terms}}}) as never;
const ports = (...list: object[]): Partial<PodSpec> => ({containers: [{name: 'c', image: 'i', ports: list as never}]});

const zones = [
  aNode('a1', {labels: {zone: 'a'}}),
  aNode('a2', {labels: {zone: 'a'}}),
  aNode('b1', {labels: {zone: 'b'}}),
  aNode('nowhere'),
];
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

const spread = (more: object = {}): Partial<PodSpec> =>
  ({
    topologySpreadConstraints: [
      {maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {matchLabels: {app: 'web'}}, ...more},
    ],
  }) as never;

const node = (labels: Record<string, string>, taints?: object[]) => aNode('n', {labels, ...(taints ? {taints} : {})});
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
    'a cordoned node is for those who tolerate it',
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
    'the first of those who want their own company may be anywhere that is a place',
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
    'those who are there may refuse',
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
    fitErrorMessage(4, {byNode, rest: {reasons: ['z'], unresolvable: true}, preFilterMessage: undefined}),
    '0/4 nodes are available: 1 y, 2 x, 2 z.',
  );
  t.is(
    fitErrorMessage(4, {byNode: new Map(), rest: undefined, preFilterMessage: 'no claim'}, 'and so on'),
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

const claim = (
  name: string,
  {
    volumeName,
    storageClassName = 'slow',
    modes = ['ReadWriteOnce'],
    storage = '1Gi',
    phase,
    annotations,
    ...more
  }: Record<string, unknown> = {},
) => ({
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    resourceVersion: '1',
    annotations: {...(volumeName ? {[plat.subKey('pv', 'bind-completed')]: 'yes'} : {}), ...(annotations as object)},
    ...(more['metadata'] as object),
  },
  spec: {storageClassName, accessModes: modes, resources: {requests: {storage}}, ...(volumeName ? {volumeName} : {})},
  status: {phase: phase ?? (volumeName ? 'Bound' : 'Pending')},
});
const volume = (
  name: string,
  {zone, storage = '1Gi', phase = 'Available', storageClassName = 'slow', labels, ...spec}: Record<string, unknown> = {},
) => ({
  metadata: {name, resourceVersion: '1', ...(labels ? {labels: labels as Record<string, string>} : {})},
  spec: {
    capacity: {storage},
    accessModes: ['ReadWriteOnce'],
    storageClassName,
    ...(zone ? {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: [zone]}]}]}}} : {}),
    ...spec,
  },
  status: {phase},
});
const slow = {metadata: {name: 'slow'}, provisioner: plat.key('no-provisioner'), volumeBindingMode: 'WaitForFirstConsumer'};
const made = {metadata: {name: 'made'}, provisioner: 'csi.example.com', volumeBindingMode: 'WaitForFirstConsumer'};
const mounting = (...names: string[]): Partial<PodSpec> => ({
  volumes: names.map(name => ({name, persistentVolumeClaim: {claimName: name}})),
});
const both = [aNode('a1', {labels: {zone: 'a'}}), aNode('b1', {labels: {zone: 'b'}})];
const [unreachable, noVolume, noSpace] = [
  "node(s) didn't match PersistentVolume's node affinity",
  "node(s) didn't find available persistent volumes to bind",
  'node(s) did not have enough free storage',
];
const zoneLabel = plat.subKey('topology', 'zone');
const csi = (volumeHandle: string) => ({csi: {driver: 'csi.example.com', volumeHandle}});

const volumeCases: readonly [title: string, objects: ClusterObjects, pod: Pod, expected: ReturnType<typeof rejections>][] = [
  ['a claim that is not there', {nodes: both}, aPod('p', mounting('data')), 'persistentvolumeclaim "data" not found'],
  [
    'the claim of an ephemeral volume is waited for',
    {nodes: both},
    aPod('p', {volumes: [{name: 'scratch', ephemeral: {volumeClaimTemplate: {spec: {}}}}]}),
    'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"',
  ],
  [
    'a claim that has lost its volume',
    {nodes: both, persistentVolumeClaims: [claim('data', {volumeName: 'gone', phase: 'Lost'})]},
    aPod('p', mounting('data')),
    'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"',
  ],
  [
    'a claim that is being deleted',
    {nodes: both, persistentVolumeClaims: [claim('data', {metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}})]},
    aPod('p', mounting('data')),
    'persistentvolumeclaim "data" is being deleted',
  ],
  [
    'a claim that should have a volume by now',
    {nodes: both, persistentVolumeClaims: [claim('data')]},
    aPod('p', mounting('data')),
    'pod has unbound immediate PersistentVolumeClaims',
  ],
  [
    'a volume is reached from some nodes',
    {nodes: both, persistentVolumeClaims: [claim('data', {volumeName: 'v'})], persistentVolumes: [volume('v', {zone: 'a'})]},
    aPod('p', mounting('data')),
    {a1: '', b1: unreachable},
  ],
  [
    'a volume that is gone',
    {nodes: both, persistentVolumeClaims: [claim('data', {volumeName: 'v'})]},
    aPod('p', mounting('data')),
    {
      a1: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
      b1: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
    },
  ],
  [
    'a claim that waits takes a volume that is there',
    {nodes: both, storageClasses: [slow], persistentVolumeClaims: [claim('data')], persistentVolumes: [volume('v', {zone: 'a'})]},
    aPod('p', mounting('data')),
    {a1: '', b1: noVolume},
  ],
  [
    'but none that is too small, taken, or of another class',
    {
      nodes: both,
      storageClasses: [slow],
      persistentVolumeClaims: [claim('data', {storage: '2Gi'})],
      persistentVolumes: [
        volume('v'),
        volume('w', {storage: '4Gi', phase: 'Bound'}),
        volume('x', {storage: '4Gi', storageClassName: 'fast'}),
      ],
    },
    aPod('p', mounting('data')),
    {a1: noVolume, b1: noVolume},
  ],
  [
    'and no volume twice',
    {
      nodes: both,
      storageClasses: [slow],
      persistentVolumeClaims: [claim('data'), claim('logs')],
      persistentVolumes: [volume('v', {zone: 'a'}), volume('w', {zone: 'b'}), volume('x', {zone: 'b'})],
    },
    aPod('p', mounting('data', 'logs')),
    {a1: noVolume, b1: ''},
  ],
  [
    'one is made where a driver makes them',
    {nodes: both, storageClasses: [made], persistentVolumeClaims: [claim('data', {storageClassName: 'made'})]},
    aPod('p', mounting('data')),
    {a1: '', b1: ''},
  ],
  [
    'where its class allows it',
    {
      nodes: both,
      storageClasses: [{...made, allowedTopologies: [{matchLabelExpressions: [{key: 'zone', values: ['b']}]}]} as never],
      persistentVolumeClaims: [claim('data', {storageClassName: 'made'})],
    },
    aPod('p', mounting('data')),
    {a1: noVolume, b1: ''},
  ],
  [
    'on the node that was chosen before',
    {
      nodes: both,
      storageClasses: [made],
      persistentVolumeClaims: [claim('data', {storageClassName: 'made', annotations: {[plat.subKey('volume', 'selected-node')]: 'b1'}})],
    },
    aPod('p', mounting('data')),
    {a1: noVolume, b1: ''},
  ],
  [
    'and where the driver has capacity, if it publishes that',
    {
      nodes: both,
      storageClasses: [made],
      persistentVolumeClaims: [claim('data', {storageClassName: 'made', storage: '5Gi'})],
      csiDrivers: [{metadata: {name: 'csi.example.com'}, spec: {storageCapacity: true}} as never],
      csiStorageCapacities: ['a', 'b'].map(
        zone =>
          ({
            metadata: {name: zone, namespace: 'default'},
            storageClassName: 'made',
            capacity: zone === 'a' ? '4Gi' : '9Gi',
            nodeTopology: {matchLabels: {zone}},
          }) as never,
      ),
    },
    aPod('p', mounting('data')),
    {a1: noSpace, b1: ''},
  ],
  [
    'the zone a volume is labelled with holds',
    {
      nodes: [aNode('a1', {labels: {[zoneLabel]: 'a'}}), aNode('b1', {labels: {[zoneLabel]: 'b'}}), aNode('anywhere')],
      persistentVolumeClaims: [claim('data', {volumeName: 'v'})],
      persistentVolumes: [volume('v', {labels: {[zoneLabel]: 'b__c'}})],
    },
    aPod('p', mounting('data')),
    {a1: 'node(s) had no available volume zone', b1: '', anywhere: ''},
  ],
  [
    'a claim for one pod alone',
    {
      nodes: both,
      persistentVolumeClaims: [claim('data', {volumeName: 'v', modes: ['ReadWriteOncePod']})],
      persistentVolumes: [volume('v')],
      pods: [onNode('a1', 'x', mounting('data'))],
    },
    aPod('p', mounting('data')),
    {
      a1: 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
      b1: 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
    },
  ],
  [
    'a disk that is in use',
    {nodes: both, pods: [onNode('a1', 'x', {volumes: [{name: 'd', iscsi: {iqn: 'q', lun: 0, targetPortal: 't'}}]})]},
    aPod('p', {volumes: [{name: 'd', iscsi: {iqn: 'q', lun: 0, targetPortal: 't'}}]}),
    {a1: 'node(s) had no available disk', b1: ''},
  ],
  [
    'a node takes so many volumes of a driver',
    {
      nodes: both,
      csiNodes: [{metadata: {name: 'a1'}, spec: {drivers: [{name: 'csi.example.com', nodeID: 'a1', allocatable: {count: 1}}]}} as never],
      persistentVolumeClaims: [claim('data', {volumeName: 'v'}), claim('logs', {volumeName: 'w'})],
      persistentVolumes: [volume('v', csi('1')), volume('w', csi('2'))],
      pods: [onNode('a1', 'x', mounting('logs'))],
    },
    aPod('p', mounting('data')),
    {a1: 'node(s) exceed max volume count', b1: ''},
  ],
  [
    'one that is there already does not count again',
    {
      nodes: both.slice(0, 1),
      csiNodes: [{metadata: {name: 'a1'}, spec: {drivers: [{name: 'csi.example.com', nodeID: 'a1', allocatable: {count: 1}}]}} as never],
      persistentVolumeClaims: [claim('data', {volumeName: 'v'})],
      persistentVolumes: [volume('v', csi('1'))],
      pods: [onNode('a1', 'x', mounting('data'))],
    },
    aPod('p', mounting('data')),
    {a1: ''},
  ],
];

for (const [title, objects, pod, expected] of volumeCases)
  test(`volumes of a pod on a node: ${title}`, t => t.deepEqual(rejections(pod, aClusterState(objects)), expected));

const device = (name: string, status: object = {}) =>
  ({metadata: {name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1'}, spec: {devices: {}}, status}) as never;
const using = (name: string) => aPod('p', {resourceClaims: [{name: 'gpu', resourceClaimName: name}]});
const inZone = (zone: string) => ({
  allocation: {nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: [zone]}]}]}},
});

const deviceCases: readonly [title: string, claims: readonly never[], expected: ReturnType<typeof rejections>][] = [
  ['a claim that is not there', [], `resourceclaim.${plat.group('resource')} "gpu" not found`],
  ['a claim that is not allocated', [device('gpu')], {a1: 'cannot allocate all claims', b1: 'cannot allocate all claims'}],
  ['devices are where they were allocated', [device('gpu', inZone('b'))], {a1: 'resourceclaim not available on the node', b1: ''}],
  [
    'a claim that as many use as may',
    [device('gpu', {...inZone('b'), reservedFor: Array.from({length: 256}, (_, at) => ({resource: 'pods', name: `${at}`, uid: `${at}`}))})],
    'resourceclaim in use',
  ],
];

for (const [title, claims, expected] of deviceCases)
  test(`devices of a pod on a node: ${title}`, t =>
    t.deepEqual(rejections(using('gpu'), aClusterState({nodes: both, resourceClaims: claims})), expected));

const preferring = (...terms: object[]): Partial<PodSpec> =>
  ({affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: terms}}}) as never;
const weighted = (of: 'podAffinity' | 'podAntiAffinity', ...terms: object[]): Partial<PodSpec> =>
  ({affinity: {[of]: {preferredDuringSchedulingIgnoredDuringExecution: terms}}}) as never;
const hostname = plat.labels.hostname;
const named = ['n1', 'n2', 'n3'].map((name, at) =>
  aNode(name, {labels: {[hostname]: name, [zoneLabel]: at < 2 ? 'a' : 'b', zone: at < 2 ? 'a' : 'b'}}),
);
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
    'what those who are there prefer',
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

const configured = (fields: object) =>
  settingsOf({apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration', ...fields});
const profiled = (fields: object) => configured({profiles: [fields]}).profiles.get('default-scheduler')!;
const configuredWith = (name: string, args: object) => profiled({pluginConfig: [{name, args}]});
const scoreOf = ({scores}: Profile, plugin: string): Score => scores.find(score => score.plugin === plugin)!;

test('a configuration names profiles, chooses their plugins and weighs them', t => {
  const {profiles, backoff} = configured({
    percentageOfNodesToScore: 30,
    podInitialBackoffSeconds: 2,
    podMaxBackoffSeconds: 20,
    profiles: [
      {
        schedulerName: 'packing',
        percentageOfNodesToScore: 100,
        plugins: {score: {disabled: [{name: '*'}], enabled: [{name: 'NodeResourcesFit', weight: 7}]}},
      },
      {
        schedulerName: 'careless',
        plugins: {
          multiPoint: {disabled: [{name: 'DefaultPreemption'}, {name: 'ImageLocality'}]},
          filter: {disabled: [{name: 'NodePorts'}]},
        },
      },
    ],
  });
  const [packing, careless] = [profiles.get('packing')!, profiles.get('careless')!];

  t.deepEqual(backoff, {initialMs: 2_000, maxMs: 20_000});
  t.deepEqual([packing.percentageOfNodesToScore, careless.percentageOfNodesToScore], [100, 30]);
  t.deepEqual(
    packing.scores.map(({plugin, weight}) => [plugin, weight]),
    [['NodeResourcesFit', 7]],
  );
  t.deepEqual([packing.preempts, careless.preempts], [true, false]);
  t.false(careless.scores.some(({plugin}) => plugin === 'ImageLocality'));
  t.deepEqual(
    defaultProfile.filters.filter(filter => !careless.filters.includes(filter)).map(({plugin}) => plugin),
    ['NodePorts'],
  );
  t.deepEqual(configured({}).profiles.get('default-scheduler'), defaultProfile);
});

const gpu = {allocatable: {'example.com/gpu': '4'}};
const pluginArguments: readonly [
  title: string,
  profile: Profile,
  plugin: string,
  objects: ClusterObjects,
  pod: Pod,
  expected: Record<string, number>,
][] = [
  [
    'to fill nodes',
    configuredWith('NodeResourcesFit', {scoringStrategy: {type: 'MostAllocated'}}),
    'NodeResourcesFit',
    {
      nodes: [aNode('n', {cpu: '4', memory: '4Gi'}), aNode('m', {cpu: '4', memory: '4Gi'})],
      pods: [onNode('m', 'x', {cpu: '2', memory: '2Gi'})],
    },
    aPod('p', {cpu: '1', memory: '1Gi'}),
    {n: 25, m: 75},
  ],
  [
    'to fill nodes with devices, by a line',
    configuredWith('NodeResourcesFit', {
      scoringStrategy: {
        type: 'RequestedToCapacityRatio',
        resources: [{name: 'example.com/gpu', weight: 3}],
        requestedToCapacityRatio: {
          shape: [
            {utilization: 0, score: 0},
            {utilization: 100, score: 10},
          ],
        },
      },
    }),
    'NodeResourcesFit',
    {
      nodes: [aNode('n', gpu), aNode('m', gpu)],
      pods: [onNode('m', 'x', {containers: [{name: 'c', image: 'i', resources: {requests: {'example.com/gpu': '2'}}}]})],
    },
    aPod('p', {containers: [{name: 'c', image: 'i', resources: {requests: {'example.com/gpu': '1'}}}]}),
    {n: 25, m: 75},
  ],
  [
    'what pods on nodes require counts for more',
    configuredWith('InterPodAffinity', {hardPodAffinityWeight: 9}),
    'InterPodAffinity',
    {
      nodes: named,
      pods: [
        onNode('n1', 'x', affinity('podAffinity', near('web')), app('web')),
        onNode('n3', 'y', weighted('podAffinity', {weight: 3, podAffinityTerm: near('web')})),
      ],
    },
    aPod('p', {}, app('web')),
    {n1: 100, n2: 100, n3: 0},
  ],
];

for (const [title, profile, plugin, objects, pod, expected] of pluginArguments)
  test(`a plugin is configured ${title}`, t => t.deepEqual(scoresOf(scoreOf(profile, plugin), pod, aClusterState(objects)), expected));

test('resources that others see to are not looked at', t => {
  const {filters} = configuredWith('NodeResourcesFit', {ignoredResources: ['example.com/one'], ignoredResourceGroups: ['other.com']});
  const pod = (name: string) => toPodInfo(aPod('p', {containers: [{name: 'c', image: 'i', resources: {requests: {[name]: '1'}}}]}));
  const fits = (name: string) =>
    runSteps(
      findFeasibleNodes(pod(name), {
        cluster: aClusterState({nodes: [aNode('n')]}),
        filters,
        nominatedPods: () => [],
        nominatedNode: undefined,
        percentageOfNodesToScore: 0,
        startIndex: 0,
      }),
    ).feasible.length === 1;

  t.deepEqual(['example.com/one', 'example.com/two', 'other.com/three'].map(fits), [true, false, true]);
});

test('pods of a service that state nothing are spread as the configuration demands', t => {
  const {filters} = configuredWith('PodTopologySpread', {
    defaultingType: 'List',
    defaultConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule'}],
  });
  const cluster = aClusterState({
    nodes: zones,
    pods: [onNode('a1', 'x', {}, app('web'))],
    services: [{metadata: {name: 's', namespace: 'default'}, spec: {selector: {app: 'web'}}} as never],
  });
  const {feasible} = runSteps(
    findFeasibleNodes(toPodInfo(aPod('p', {}, app('web'))), {
      cluster,
      filters,
      nominatedPods: () => [],
      nominatedNode: undefined,
      percentageOfNodesToScore: 0,
      startIndex: 0,
    }),
  );

  t.deepEqual(
    feasible.map(({name}) => name),
    ['b1'],
  );
});

const configurationRefusals: readonly [fields: unknown, message: string][] = [
  [
    {kind: 'Pod'},
    'it must be a PlatSchedulerConfiguration of platscheduler.config.plat.io/v1 or a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1',
  ],
  [{extenders: []}, 'extenders: is not a field that can be set here'],
  [{profiles: {}}, 'profiles: must be a list'],
  [{percentageOfNodesToScore: 101}, 'percentageOfNodesToScore: must be a whole number from 0 to 100'],
  [{podInitialBackoffSeconds: 0}, 'podInitialBackoffSeconds: must be a whole number from 1 to 2147483647'],
  [
    {podInitialBackoffSeconds: 9, podMaxBackoffSeconds: 3},
    'podMaxBackoffSeconds: must be greater than or equal to PodInitialBackoffSeconds',
  ],
  [{profiles: [{}, {}]}, 'profiles[1].schedulerName: Duplicate value: "default-scheduler"'],
  [{profiles: [{plugins: {score: {enabled: [{name: 'Guess'}]}}}]}, 'profiles[0].plugins.score: there is no plugin "Guess"'],
  [{profiles: [{plugins: {permit: {}}}]}, 'profiles[0].plugins.permit: is not a field that can be set here'],
  [
    {profiles: [{pluginConfig: [{name: 'VolumeBinding', args: {}}]}]},
    'profiles[0].pluginConfig[0].name: "VolumeBinding" cannot be told anything here',
  ],
  [
    {profiles: [{pluginConfig: [{name: 'NodeResourcesFit', args: {scoringStrategy: {type: 'Best'}}}]}]},
    'profiles[0].pluginConfig[0].args.scoringStrategy.type: must be one of LeastAllocated, MostAllocated, RequestedToCapacityRatio',
  ],
  [
    {profiles: [{pluginConfig: [{name: 'NodeResourcesFit', args: {scoringStrategy: {type: 'RequestedToCapacityRatio'}}}]}]},
    'profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified',
  ],
  [
    {
      profiles: [
        {
          pluginConfig: [
            {
              name: 'PodTopologySpread',
              args: {defaultConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway'}]},
            },
          ],
        },
      ],
    },
    'profiles[0].pluginConfig[0].args.defaultingType: when .defaultConstraints are not empty must be List',
  ],
];

test('a configuration is refused with the path of the field that is wrong', t => {
  for (const [fields, message] of configurationRefusals) t.throws(() => configured(fields as object), {message});
});
