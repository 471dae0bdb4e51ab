import test from 'ava';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {aNode, aPod} from './objects.js';
import {volumeBinding} from '#src/scheduler/filters/volume-binding.js';
import {volumeBindingScore} from '#src/scheduler/scores/volume-binding.js';
import type {EventKind} from '#src/scheduler/framework/events.js';
import {aClusterState, plat, rejections, scoresOf, shouldQueue, toPodInfo, type ClusterObjects} from './cluster-state.js';
import {onNode, zoneLabel} from './pod-specs.js';

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
      a1: 'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
      b1: 'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
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

const installed = {metadata: {name: 'a1'}, spec: {drivers: [{name: 'csi.example.com', nodeID: 'a1'}]}} as never;
const driverOfClass = {metadata: {name: 'csi.example.com'}, spec: {}} as never;

/** The scenarios of the original's TestVolumeLimitScalingGate. */
const scalingCases: readonly [title: string, gates: readonly string[], objects: object, rejection: string][] = [
  ['not installed', ['VolumeLimitScaling'], {csiDrivers: [driverOfClass]}, 'csi.example.com CSI driver is not installed on the node'],
  ['not installed, without the gate', [], {csiDrivers: [driverOfClass]}, ''],
  ['installed', ['VolumeLimitScaling'], {csiDrivers: [driverOfClass], csiNodes: [installed]}, ''],
  ['not known to the cluster', ['VolumeLimitScaling'], {}, ''],
];
for (const [title, gates, objects, rejection] of scalingCases)
  test(`a node whose driver of a volume is ${title}`, t => {
    const cluster = {
      nodes: [both[0]!],
      persistentVolumeClaims: [claim('data', {storageClassName: 'made'})],
      storageClasses: [made],
      ...objects,
    };
    t.deepEqual(rejections(aPod('p', mounting('data')), aClusterState(cluster as ClusterObjects, gates)), {a1: rejection});
  });

const capacityOf = (zone: string, size: string) => ({
  metadata: {name: zone, namespace: 'default'},
  storageClassName: 'made',
  capacity: size,
  nodeTopology: {matchLabels: {zone}},
});

/** Scenarios of the original's volume_binding_test.go and scorer_test.go. */
const scoreCases: readonly [title: string, claims: readonly ReturnType<typeof claim>[], scores: object | undefined][] = [
  ['by what is left of existing volumes', [claim('data', {storage: '50Gi'})], {a1: 75, b1: 50}],
  ['by what is left of the capacity', [claim('data', {storage: '10Gi', storageClassName: 'made'})], {a1: 90, b1: 80}],
  [
    'by what several claims leave of the capacity of one class',
    ['data', 'more'].map(name => claim(name, {storage: '10Gi', storageClassName: 'made'})),
    {a1: 80, b1: 60},
  ],
  ['not for volumes that are bound already', [claim('data', {volumeName: 'v-a', storage: '50Gi'})], {a1: 0, b1: 0}],
];
for (const [title, claims, expected] of scoreCases)
  test(`storage is scored ${title}`, t => {
    const objects = {
      nodes: both,
      persistentVolumeClaims: claims,
      persistentVolumes: [volume('v-a', {zone: 'a', storage: '200Gi'}), volume('v-b', {zone: 'b', storage: '100Gi'})],
      storageClasses: [slow, made],
      csiDrivers: [{metadata: {name: 'csi.example.com'}, spec: {storageCapacity: true}} as never],
      csiStorageCapacities: [capacityOf('a', '100Gi'), capacityOf('b', '50Gi')],
    };
    const pod = aPod('p', mounting(...claims.map(({metadata}) => metadata.name)));
    t.deepEqual(scoresOf(volumeBindingScore, pod, aClusterState(objects as ClusterObjects, ['StorageCapacityScoring'])), expected as never);
    t.is(scoresOf(volumeBindingScore, pod, aClusterState(objects as ClusterObjects)), undefined);
  });

const requests = [{name: 'one', exactly: {deviceClassName: 'gpus'}}];
const device = (name: string, status: object = {}) =>
  ({metadata: {name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1'}, spec: {devices: {requests}}, status}) as never;

const using = (name: string) => aPod('p', {resourceClaims: [{name: 'gpu', resourceClaimName: name}]});
const inZone = (zone: string) => ({
  allocation: {nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: [zone]}]}]}},
});

const deviceCases: readonly [title: string, claims: readonly never[], expected: ReturnType<typeof rejections>][] = [
  ['a claim that is not there', [], `resourceclaim.${plat.group('resource')} "gpu" not found`],
  ['a claim of a class that is not there', [device('gpu')], 'request one: device class gpus does not exist'],
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

const capacity = (size: string | undefined, maximumVolumeSize?: string) => ({
  storageClassName: 'slow',
  ...(size ? {capacity: size} : {}),
  ...(maximumVolumeSize ? {maximumVolumeSize} : {}),
});
const driver = (storageCapacity: boolean | undefined) => ({spec: {storageCapacity}});
const withTopologies = (...zones: string[]) => ({
  allowedTopologies: zones.map(zone => ({matchLabelExpressions: [{key: 'zone', values: [zone]}]})),
});

/**
 * The scenarios of the original's volume_binding_test.go: TestIsSchedulableAfterCSINodeChange,
 * …PersistentVolumeClaimChange, …StorageClassChange, …CSIStorageCapacityChange and …CSIDriverChange.
 */
const eventCases: readonly [event: EventKind, title: string, old: object | undefined, now: object, helps: boolean][] = [
  ['CSINodeAdd', 'a new node of drivers', undefined, {}, true],
  ['CSINodeUpdate', 'another driver of a node', {spec: {drivers: []}}, {spec: {drivers: [{name: 'd'}]}}, false],
  ['PersistentVolumeClaimAdd', "the pod's claim", undefined, claim('data'), true],
  ['PersistentVolumeClaimUpdate', "the pod's claim that changed", claim('data'), claim('data', {volumeName: 'v'}), true],
  ['PersistentVolumeClaimAdd', 'another claim', undefined, claim('other'), false],
  [
    'PersistentVolumeClaimAdd',
    'a claim of that name in another namespace',
    undefined,
    claim('data', {metadata: {namespace: 'else'}}),
    false,
  ],
  ['StorageClassAdd', 'a class', undefined, slow, true],
  ['StorageClassUpdate', 'topologies of a class', withTopologies('a'), withTopologies('a', 'b'), true],
  ['StorageClassUpdate', 'a class with the same topologies', withTopologies('a'), {...withTopologies('a'), provisioner: 'x'}, false],
  ['CSIStorageCapacityAdd', 'a capacity', undefined, capacity('1Gi'), true],
  ['CSIStorageCapacityUpdate', 'more capacity', capacity('1Gi'), capacity('2Gi'), true],
  ['CSIStorageCapacityUpdate', 'a capacity where there was none', capacity(undefined), capacity('1Gi'), true],
  ['CSIStorageCapacityUpdate', 'less capacity', capacity('2Gi'), capacity('1Gi'), false],
  ['CSIStorageCapacityUpdate', 'the same capacity', capacity('1Gi'), capacity('1024Mi'), false],
  ['CSIStorageCapacityUpdate', 'a larger maximum', capacity('9Gi', '1Gi'), capacity('9Gi', '2Gi'), true],
  ['CSIStorageCapacityUpdate', 'more capacity of the same maximum', capacity('8Gi', '1Gi'), capacity('9Gi', '1Gi'), false],
  ['CSIDriverUpdate', 'a driver whose capacity does not count any more', driver(true), driver(false), true],
  ['CSIDriverUpdate', 'a driver whose capacity comes to be unknown', driver(true), driver(undefined), true],
  ['CSIDriverUpdate', 'a driver whose capacity counts now', driver(false), driver(true), false],
  ['CSIDriverUpdate', 'a driver whose capacity never counted', driver(undefined), driver(false), false],
];

for (const [event, title, old, now, helps] of eventCases)
  test(`volume binding: ${title} (${event}) ${helps ? 'lets a pod be tried again' : 'does not concern a pod'}`, t => {
    t.is(shouldQueue(volumeBinding, event, toPodInfo(aPod('p', mounting('data'))), old as never, now as never), helps);
  });
