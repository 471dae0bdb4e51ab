import test, {type ExecutionContext} from 'ava';
import controller from '#controllers/selinux-warning/controller.js';
import {labelOf, labelsConflict} from '#controllers/selinux-warning/labels.js';
import {kinds} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {startServer} from '#test/fixtures/server.js';
import {alone} from './workloads.js';

// The scenarios of upstream's pkg/controller/volume/selinuxwarning: of selinux_warning_controller_test.go
// TestSELinuxWarningController_Sync, of cache/volumecache_test.go TestVolumeCache_AddVolumeSendConflicts and
// TestVolumeCache_DeletePod, and of translator/selinux_translator_test.go TestControllerToStringAndConflicts.
const gates = new Set(['SELinuxChangePolicy', 'SELinuxMountReadWriteOncePod']);
const start = (t: ExecutionContext) => alone(t, [controller], {}, startServer({gate: name => gates.has(name)}));
type Actions = Awaited<ReturnType<typeof start>>;

interface Use {
  readonly level?: string;
  readonly policy?: 'Recursive' | 'MountOption';
  readonly namespace?: string;
  readonly claim?: string;
  readonly containers?: PodSpec['containers'];
}
const aPod = (at: Actions, name: string, {level, policy, namespace = 'default', claim = 'c', containers}: Use) =>
  at.create(kinds.pods, {
    metadata: {name, namespace},
    spec: {
      securityContext: {
        ...(level ? {seLinuxOptions: {level}} : {}),
        ...(policy ? {seLinuxChangePolicy: policy} : {}),
      } as NonNullable<PodSpec['securityContext']>,
      containers: containers ?? [{name: 'c', image: 'i', volumeMounts: [{name: 'v', mountPath: '/data'}]}],
      volumes: [{name: 'v', persistentVolumeClaim: {claimName: claim}}],
    },
  });
const aDriver = ({client}: Actions, seLinuxMount: boolean) =>
  client.resource(kinds.csiDrivers).create({metadata: {name: 'disk.example.com'}, spec: {seLinuxMount}});
/** Claims of one volume; the same handle in different namespaces is the same storage. */
const aClaim = async (at: Actions, namespace = 'default') => {
  const name = `v-${namespace}`;
  const claim = await at.create(kinds.persistentVolumeClaims, {
    metadata: {name: 'c', namespace},
    spec: {accessModes: ['ReadWriteMany'], storageClassName: '', volumeName: name, resources: {requests: {storage: '1Gi'}}},
  });
  await at.client.resource(kinds.persistentVolumes).create({
    metadata: {name},
    spec: {
      accessModes: ['ReadWriteMany'],
      capacity: {storage: '1Gi'},
      csi: {driver: 'disk.example.com', volumeHandle: 'h'},
      claimRef: {namespace, name: 'c', uid: claim.metadata!.uid!},
    },
  });
  await at.clock.drain();
};
const end = 'If both pods land on the same node, only one of them may access the volume.';
const conflictEvent = (property: string, mine: string, other: string, theirs: string) =>
  `Warning ${property}Conflict ${property} "${mine}" conflicts with pod ${other} that uses the same volume as this pod with ${property} "${theirs}". ${end}`;
const metric = 'selinux_warning_controller_selinux_volume_conflict';

interface Case {
  readonly title: string;
  readonly one: Use;
  readonly two: Use;
  readonly mounts: boolean;
  readonly events: readonly string[];
}
const cases: readonly Case[] = [
  {title: 'the same label and policy do not conflict', one: {level: 's0:c1,c2'}, two: {level: 's0:c1,c2'}, mounts: true, events: []},
  {
    title: 'different labels conflict',
    one: {level: 's0:c1,c2'},
    two: {level: 's0:c3,c4'},
    mounts: true,
    events: [conflictEvent('SELinuxLabel', ':::s0:c1,c2', 'two', ':::s0:c3,c4')],
  },
  {
    title: 'different labels do not conflict with the policy Recursive',
    one: {level: 's0:c1,c2', policy: 'Recursive'},
    two: {level: 's0:c3,c4', policy: 'Recursive'},
    mounts: true,
    events: [],
  },
  {
    title: 'different labels do not conflict with a driver that does not mount with a label',
    one: {level: 's0:c1,c2'},
    two: {level: 's0:c3,c4'},
    mounts: false,
    events: [],
  },
  {
    title: 'different labels and policies conflict in their policies alone',
    one: {level: 's0:c1,c2', policy: 'Recursive'},
    two: {level: 's0:c3,c4'},
    mounts: true,
    events: [conflictEvent('SELinuxChangePolicy', 'Recursive', 'two', 'MountOption')],
  },
  {
    title: 'different policies conflict',
    one: {level: 's0:c1,c2'},
    two: {level: 's0:c1,c2', policy: 'Recursive'},
    mounts: true,
    events: [conflictEvent('SELinuxChangePolicy', 'MountOption', 'two', 'Recursive')],
  },
  {
    title: 'different policies do not conflict with a driver that does not mount with a label',
    one: {level: 's0:c1,c2'},
    two: {level: 's0:c1,c2', policy: 'Recursive'},
    mounts: false,
    events: [],
  },
  {
    title: 'a label and none conflict in their policies',
    one: {level: 's0:c1,c2'},
    two: {},
    mounts: true,
    events: [conflictEvent('SELinuxChangePolicy', 'MountOption', 'two', 'Recursive')],
  },
];
for (const {title, one, two, mounts, events} of cases)
  test(title, async t => {
    const at = await start(t);
    await aDriver(at, mounts);
    await aClaim(at);
    await aPod(at, 'one', one);
    await aPod(at, 'two', two);
    t.deepEqual(await at.eventsOn('one'), events);
    t.is((await at.eventsOn('two')).length, events.length);
    t.is(at.meter.value(metric, {pod1_name: 'one', pod2_name: 'two'}) ?? 0, events.length);
  });

test('a pod without volumes, or with a claim that is not bound, conflicts with none', async t => {
  const at = await start(t);
  await aDriver(at, true);
  await at.create(kinds.pods, {metadata: {name: 'plain'}, spec: {containers: [{name: 'c', image: 'i'}]}});
  await aPod(at, 'one', {level: 's0:c1', claim: 'missing'});
  await aPod(at, 'two', {level: 's0:c2', claim: 'missing'});
  t.deepEqual([await at.eventsOn('plain'), await at.eventsOn('one'), await at.eventsOn('two')], [[], [], []]);
});

test('pods of other namespaces are not named', async t => {
  const at = await start(t);
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'other'}});
  await aDriver(at, true);
  for (const namespace of ['default', 'other']) await aClaim(at, namespace);
  await aPod(at, 'one', {level: 's0:c1'});
  await aPod(at, 'two', {level: 's0:c2', namespace: 'other'});
  t.deepEqual(await at.eventsOn('one'), [
    `Warning SELinuxLabelConflict SELinuxLabel":::s0:c1" conflicts with another pod that uses the same volume as this pod with a different SELinuxLabel. ${end}`,
  ]);
});

test('containers of a pod that want different labels are reported', async t => {
  const at = await start(t);
  await aDriver(at, true);
  await aClaim(at);
  const container = (name: string, level: string) => ({
    name,
    image: 'i',
    volumeMounts: [{name: 'v', mountPath: '/data'}],
    securityContext: {seLinuxOptions: {level}},
  });
  await aPod(at, 'one', {containers: [container('a', 's0:c1'), container('b', 's0:c2')]});
  t.deepEqual(await at.eventsOn('one'), [
    'Warning MultipleSELinuxLabels Volume "v" is mounted twice with different SELinux labels inside this pod',
  ]);
});

test('a pod that has ended, or was deleted, conflicts no more', async t => {
  const at = await start(t);
  await aDriver(at, true);
  await aClaim(at);
  await aPod(at, 'one', {level: 's0:c1'});
  await at.runs('one', {phase: 'Succeeded', ready: false});
  await aPod(at, 'two', {level: 's0:c2'});
  await at.remove(kinds.pods, 'two', {gracePeriodSeconds: 0});
  await aPod(at, 'three', {level: 's0:c3'});
  t.deepEqual(await at.eventsOn('three'), []);
});

test('a conflict is found once the claim is bound, and once the driver mounts with labels', async t => {
  const at = await start(t);
  await aDriver(at, false);
  await aPod(at, 'one', {level: 's0:c1'});
  await aPod(at, 'two', {level: 's0:c1', policy: 'Recursive'});
  await aClaim(at);
  await at.clock.advance(5_000);
  t.deepEqual(await at.eventsOn('one'), []);
  await at.client.resource(kinds.csiDrivers).patch('disk.example.com', 'merge', {spec: {seLinuxMount: true}});
  await at.clock.drain();
  t.deepEqual(await at.eventsOn('one'), [conflictEvent('SELinuxChangePolicy', 'MountOption', 'two', 'Recursive')]);
});

const labels: readonly [one: string, other: string, conflict: boolean][] = [
  ['', '', false],
  ['', 'u:r:t:s0:c1', false],
  ['u:r:t:s0:c1,c2', ':::s0:c1,c2', false],
  ['u:r:t:s0:c1,c2', ':::s0:c98,c99', true],
  ['u:r:t:s0', 'v:r:t:s0', true],
  [':r::', 'u::t:', false],
];
for (const [one, other, conflict] of labels)
  test(`the labels "${one}" and "${other}" ${conflict ? 'conflict' : 'do not conflict'}`, t => {
    t.is(labelsConflict(one, other), conflict);
    t.is(labelsConflict(other, one), conflict);
  });

test('empty options are no label', t => {
  t.is(labelOf({}), '');
  t.is(labelOf({type: 't'}), '::t:');
});
