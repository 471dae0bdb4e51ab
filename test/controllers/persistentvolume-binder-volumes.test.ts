import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import type {StorageClass} from '#src/model/volumes.js';
import {binderBench, type BinderCase} from './volumes.js';

// The scenarios of upstream's binder_test.go, recycle_test.go, delete_test.go and provision_test.go, by their numbers.
const bench = binderBench();

const classOf = (provisioner: string, more: Partial<StorageClass> = {}): StorageClass => ({
  metadata: {name: 'gold'},
  provisioner,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
  ...more,
});
const simulated = (parameters: Record<string, string> = {}, more: Partial<StorageClass> = {}) => [
  classOf('plat.io/simulated', {parameters, ...more}),
];
const external = [classOf('disk.example.com')];
const aUser = (phase: string): Pod => ({
  kind: 'Pod',
  metadata: {name: 'p'},
  spec: {containers: [], nodeName: 'n', volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}]},
  status: {phase},
});
const own = 'finalizer=plat.io/pv-controller';

const cases: readonly BinderCase[] = [
  {title: '4-1 an unused volume becomes available', volumes: ['v 10Gi Pending'], sync: 'pv v', end: ['v Available']},
  {title: '4-2 a reserved volume becomes available', volumes: ['v 10Gi Pending claim=c:'], sync: 'pv v', end: ['v Available claim=c:']},
  {
    title: '4-3 a volume whose claim is gone is released',
    volumes: ['v 10Gi Bound claim=c:other'],
    sync: 'pv v',
    end: ['v Released claim=c:other'],
  },
  {
    title: '4-4 a volume whose claim was replaced by another of the name is released',
    volumes: ['v 10Gi Bound claim=c:other'],
    claims: ['c 10Gi Bound volume=v done'],
    sync: 'pv v',
    end: ['v Released claim=c:other', 'c Bound volume=v done'],
  },
  {
    title: '4-5 a volume whose claim is not bound yet is left to the claim',
    volumes: ['v 10Gi Bound claim=c ctl'],
    claims: ['c 10Gi Pending'],
    sync: 'pv v',
    end: ['v Bound claim=c ctl', 'c Pending'],
  },
  {
    title: '4-6 a volume whose claim is bound to it becomes bound',
    volumes: ['v 10Gi Available claim=c'],
    claims: ['c 10Gi Bound volume=v'],
    sync: 'pv v',
    end: ['v Bound claim=c', 'c Bound volume=v'],
  },
  {
    title: '4-7 a volume that the controller bound is available again once its claim has another',
    volumes: ['v 10Gi Bound claim=c ctl'],
    claims: ['c 10Gi Bound volume=w'],
    sync: 'pv v',
    end: ['v Available', 'c Bound volume=w'],
  },
  {
    title: '4-8 a volume that a user reserved stays reserved when its claim has another',
    volumes: ['v 10Gi Bound claim=c'],
    claims: ['c 10Gi Bound volume=w'],
    sync: 'pv v',
    end: ['v Available claim=c:', 'c Bound volume=w'],
  },
  {
    title: '4-9 a block device that is reserved for a claim of a file system is reported on both',
    volumes: ['v 10Gi Available claim=c mode=Block'],
    claims: ['c 10Gi Pending'],
    sync: 'pv v',
    end: ['v Available claim=c', 'c Pending'],
    events: [
      'Warning VolumeMismatch Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" due to incompatible volumeMode.',
      'Warning VolumeMismatch Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim due to incompatible volumeMode.',
    ],
  },
  {
    title: '6-1 a released volume is recycled and becomes available',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Recycle source=simulated'],
    sync: 'pv v',
    end: ['v Available'],
    events: ['Normal RecyclerPod Recycler pod: Scrubbed v', 'Normal VolumeRecycled Volume recycled'],
  },
  {
    title: '6-2 a recycled volume that a user reserved stays reserved',
    volumes: ['v 1Gi Bound claim=c:other policy=Recycle source=simulated'],
    sync: 'pv v',
    end: ['v Available claim=c:'],
    events: ['Normal RecyclerPod Recycler pod: Scrubbed v', 'Normal VolumeRecycled Volume recycled'],
  },
  {
    title: '6-3 a volume of storage that cannot be recycled fails',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Recycle source=csi'],
    sync: 'pv v',
    end: ['v Failed claim=c:other ctl'],
    events: ['Warning VolumeFailedRecycle No recycler plugin found for the volume!'],
  },
  {
    title: '6-5 a failed recycling is reported once, and repeated',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Recycle source=simulated fails'],
    sync: 'pv v',
    times: 2,
    end: ['v Failed claim=c:other ctl'],
    events: ['Warning VolumeFailedRecycle Recycle failed: no'],
  },
  {
    title: '6-9 a volume of an unknown policy fails',
    volumes: ['v 1Gi Failed claim=c:other ctl policy=Retain'],
    sync: 'pv v',
    end: ['v Failed claim=c:other ctl'],
  },
  {
    title: '6-10 a released volume that pods still use is not recycled',
    volumes: ['v 1Gi Released claim=c:other ctl policy=Recycle source=simulated'],
    others: [aUser('Running')],
    sync: 'pv v',
    end: ['v Released claim=c:other ctl'],
    events: ['Normal VolumeFailedRecycle Volume is used by pods: ns/p'],
  },
  {
    title: '6-11 a volume whose pods have ended is recycled',
    volumes: ['v 1Gi Released claim=c:other ctl policy=Recycle source=simulated'],
    others: [aUser('Succeeded')],
    sync: 'pv v',
    end: ['v Available'],
    events: ['Normal RecyclerPod Recycler pod: Scrubbed v', 'Normal VolumeRecycled Volume recycled'],
  },
  {
    title: '6-12 pods of a new claim of the name do not keep a volume from being recycled',
    volumes: ['v 1Gi Released claim=c:other ctl policy=Recycle source=simulated'],
    claims: ['c 1Gi Pending'],
    others: [aUser('Running')],
    sync: 'pv v',
    end: ['v Available', 'c Pending'],
    events: ['Normal RecyclerPod Recycler pod: Scrubbed v', 'Normal VolumeRecycled Volume recycled'],
  },
  {
    title: '8-1 a released volume is deleted with its storage',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Delete source=simulated'],
    sync: 'pv v',
    end: [],
  },
  {
    title: '8-2 a released volume that was reserved is deleted',
    volumes: ['v 1Gi Bound claim=c:other policy=Delete source=simulated'],
    sync: 'pv v',
    end: [],
  },
  {
    title: '8-3 a volume of storage that cannot be deleted fails',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Delete source=nfs'],
    sync: 'pv v',
    end: ['v Failed claim=c:other ctl'],
    events: ['Warning VolumeFailedDelete error getting deleter volume plugin for volume "v": no deletable volume plugin matched'],
  },
  {
    title: '8-5 a volume whose storage fails to be deleted fails, and is kept',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Delete source=simulated fails'],
    sync: 'pv v',
    times: 2,
    end: ['v Failed claim=c:other ctl'],
    events: ['Warning VolumeFailedDelete no'],
  },
  {
    title: '8-6 a folder outside of the temporary ones is never removed',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Delete'],
    sync: 'pv v',
    end: ['v Failed claim=c:other ctl'],
    events: ['Warning VolumeFailedDelete host_path deleter only supports /tmp/.+ but received provided /data'],
  },
  {
    title: '8-8 the storage of a volume that is bound again is not deleted',
    volumes: ['v 1Gi Bound claim=c ctl policy=Delete source=simulated'],
    claims: ['c 1Gi Bound volume=v'],
    sync: 'pv v',
    end: ['v Bound claim=c ctl', 'c Bound volume=v'],
  },
  {
    title: '8-10 a volume of an external provisioner is only released',
    volumes: ['v 1Gi Bound claim=c:other ctl by=disk.example.com policy=Delete source=csi'],
    sync: 'pv v',
    end: ['v Released claim=c:other ctl by=disk.example.com'],
  },
  {
    title: '8-11 a volume that was provisioned for a claim with another is deleted',
    volumes: ['v1 1Gi Bound claim=c ctl by=plat.io/simulated policy=Delete source=simulated', 'v2 1Gi Bound claim=c ctl'],
    claims: ['c 1Gi Bound volume=v2 ctl done'],
    sync: 'pv v1',
    end: ['v2 Bound claim=c ctl', 'c Bound volume=v2 ctl done'],
  },
  {
    title: '8-12 a volume of an external provisioner whose claim has another is released for it',
    volumes: ['v1 1Gi Bound claim=c ctl by=disk.example.com policy=Delete source=csi', 'v2 1Gi Bound claim=c ctl'],
    claims: ['c 1Gi Bound volume=v2 ctl done'],
    sync: 'pv v1',
    end: ['v1 Released claim=c ctl by=disk.example.com', 'v2 Bound claim=c ctl', 'c Bound volume=v2 ctl done'],
  },
  {
    title: '8-13 a volume that a CSI driver has taken over is left to it',
    volumes: ['v 1Gi Bound claim=c:other ctl policy=Delete migrated=disk.example.com source=simulated'],
    sync: 'pv v',
    end: ['v Released claim=c:other ctl migrated=disk.example.com'],
  },
  {
    title: '8-14 a provisioned volume to be deleted gets the finalizer',
    volumes: ['v 1Gi Bound claim=c ctl by=plat.io/simulated policy=Delete source=simulated'],
    claims: ['c 1Gi Bound volume=v'],
    sync: 'pv v',
    end: [`v Bound claim=c ctl by=plat.io/simulated ${own}`, 'c Bound volume=v'],
  },
  {
    title: '8-15 a provisioned volume that is kept gets no finalizer',
    volumes: ['v 1Gi Bound claim=c ctl by=plat.io/simulated source=simulated'],
    claims: ['c 1Gi Bound volume=v'],
    sync: 'pv v',
    end: ['v Bound claim=c ctl by=plat.io/simulated', 'c Bound volume=v'],
  },
  {
    title: '11-1 a volume is provisioned for a claim of a class',
    claims: ['c 1Gi Pending class=gold'],
    classes: simulated(),
    sync: 'c',
    end: [`pvc-c Pending claim=c ctl by=plat.io/simulated ${own}`, 'c Pending class=gold by=plat.io/simulated'],
    events: ['Normal ProvisioningSucceeded Successfully provisioned volume pvc-c using plat.io/simulated'],
  },
  {
    title: '11-2 a claim of a plugin that does not exist is reported',
    claims: ['c 1Gi Pending class=gold'],
    classes: [classOf('plat.io/no-provisioner')],
    sync: 'c',
    end: ['c Pending class=gold'],
    events: ['Warning ProvisioningFailed no volume plugin matched name: plat.io/no-provisioner'],
  },
  {
    title: '11-3 a claim of a plugin that cannot provision is reported',
    claims: ['c 1Gi Pending class=gold'],
    classes: [classOf('plat.io/host-path')],
    sync: 'c',
    end: ['c Pending class=gold'],
    events: ['Warning ProvisioningFailed no provisionable volume plugin matched'],
  },
  {
    title: '11-4 a failed provisioning is reported, and lets the scheduler select another node',
    claims: ['c 1Gi Pending class=gold node=n'],
    classes: simulated({provisionError: 'no room'}),
    others: [{kind: 'Node', metadata: {name: 'n', namespace: ''}}],
    sync: 'c',
    end: ['c Pending class=gold by=plat.io/simulated'],
    events: ['Warning ProvisioningFailed Failed to provision volume with StorageClass "gold": no room'],
  },
  {
    title: '11-6 a claim of a class that does not exist is reported',
    claims: ['c 1Gi Pending class=gold'],
    sync: 'c',
    end: ['c Pending class=gold'],
    events: ['Warning ProvisioningFailed storageclass.storage.plat.io "gold" not found'],
  },
  {
    title: '11-7 an available volume is taken rather than a new one provisioned',
    volumes: ['v 1Gi Available class=gold'],
    claims: ['c 1Gi Pending class=gold'],
    classes: simulated(),
    sync: 'c',
    end: ['v Bound claim=c ctl', 'c Bound volume=v capacity=1Gi class=gold ctl done'],
  },
  {
    title: '11-13 an external provisioner is named on the claim',
    claims: ['c 1Gi Pending class=gold'],
    classes: external,
    sync: 'c',
    end: ['c Pending class=gold by=disk.example.com'],
    events: [
      "Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'disk.example.com' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.",
    ],
  },
  {
    title: '11-17 no volume is provisioned for a claim with delayed binding before a node is selected',
    claims: ['c 1Gi Pending class=gold'],
    classes: simulated({}, {volumeBindingMode: 'WaitForFirstConsumer'}),
    sync: 'c',
    end: ['c Pending class=gold'],
    events: ['Normal WaitForFirstConsumer waiting for first consumer to be created before binding'],
  },
  {
    title: '11-18 a volume is provisioned for the selected node',
    claims: ['c 1Gi Pending class=gold node=n'],
    classes: simulated({topology: 'node'}, {volumeBindingMode: 'WaitForFirstConsumer'}),
    others: [{kind: 'Node', metadata: {name: 'n', namespace: '', labels: {'plat.io/hostname': 'n'}}}],
    sync: 'c',
    end: [`pvc-c Pending claim=c ctl by=plat.io/simulated ${own}`, 'c Pending class=gold node=n by=plat.io/simulated'],
    events: ['Normal ProvisioningSucceeded Successfully provisioned volume pvc-c using plat.io/simulated'],
  },
  {
    title: '11-19 a selected node that does not exist is reported',
    claims: ['c 1Gi Pending class=gold node=n'],
    classes: simulated(),
    sync: 'c',
    end: ['c Pending class=gold node=n by=plat.io/simulated'],
    events: ['Warning ProvisioningFailed Failed to get target node: node "n" not found'],
  },
  {
    title: '11-20 a plugin without mount options refuses a class with some',
    claims: ['c 1Gi Pending class=gold'],
    classes: [classOf('plat.io/host-path', {mountOptions: ['ro', 'soft']})],
    options: {enableHostpathProvisioner: true},
    sync: 'c',
    end: ['c Pending class=gold by=plat.io/host-path'],
    events: [
      'Warning ProvisioningFailed Mount options are not supported by the provisioner but StorageClass "gold" has mount options [ro soft]',
    ],
  },
  {
    title: '11-21 no volumes are provisioned with dynamic provisioning off',
    claims: ['c 1Gi Pending class=gold'],
    classes: simulated(),
    options: {enableDynamicProvisioning: false},
    sync: 'c',
    end: ['c Pending class=gold'],
  },
  {
    title: '11-22 a provisioned volume is not retained if the class says so',
    claims: ['c 1Gi Pending class=gold'],
    classes: simulated({}, {reclaimPolicy: 'Retain'}),
    sync: 'c',
    end: ['pvc-c Pending claim=c ctl by=plat.io/simulated', 'c Pending class=gold by=plat.io/simulated'],
    events: ['Normal ProvisioningSucceeded Successfully provisioned volume pvc-c using plat.io/simulated'],
  },
];

for (const one of cases)
  test(one.title, async t => {
    const {state, events, failure} = await bench.play(one);
    t.deepEqual(state, one.end);
    t.deepEqual(events, one.events ?? []);
    t.is(failure, undefined);
  });
