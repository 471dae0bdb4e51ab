import test, {type ExecutionContext} from 'ava';
import controller from '#controllers/persistentvolume-attach-detach/controller.js';
import {attachmentName} from '#controllers/persistentvolume-attach-detach/csi-attacher.js';
import {kinds} from '#src/api/kinds/index.js';
import {VolumePlugins, type VolumePlugin, type VolumeSpec} from '#controllers/shared/volumes/plugin.js';
import {alone, type PlaneActions} from './workloads.js';

// The scenarios of upstream's pkg/controller/volume/attachdetach: of reconciler/reconciler_test.go Test_Run_* and
// Test_ReportMultiAttachError; of attach_detach_controller_test.go
// Test_AttachDetachControllerStateOfWorldPopulators_Positive, Test_AttachDetachControllerRecovery and
// Test_ADC_VolumeAttachmentRecovery.
const options = {
  attachDetachReconcileSyncPeriod: 60_000,
  disableAttachDetachReconcileSync: false,
  disableForceDetachOnTimeout: false,
  flexVolumePluginDir: '/none',
};
const managed = 'volumes.plat.io/controller-managed-attach-detach';
type Actions = Awaited<ReturnType<typeof alone>>;

const start = async (t: ExecutionContext, more: object = {}, prepare?: (at: Actions) => Promise<void>): Promise<Actions> => {
  const at = await alone(t, [controller], {...options, ...more});
  await prepare?.(at);
  return at;
};
const aNode = ({client}: PlaneActions, name: string, annotations: object = {}) =>
  client.resource(kinds.nodes).create({metadata: {name, annotations: {[managed]: 'true', ...annotations}}});
const nodeStatus = ({client}: PlaneActions, name: string, status: object) =>
  client.resource(kinds.nodes).patch(name, 'merge', {status}, {subresource: 'status'});
const isReady = (at: PlaneActions, name: string, status: string) => nodeStatus(at, name, {conditions: [{type: 'Ready', status}]});

/** A volume with its claim, bound to each other; of the simulated plugin, or of a CSI driver. */
const aBoundClaim = async (at: PlaneActions, name: string, spec: object = {}, namespace = 'default', modes = ['ReadWriteOnce']) => {
  const {client} = at;
  const claim = await client.resource(kinds.persistentVolumeClaims).create({
    metadata: {name, namespace},
    spec: {accessModes: modes, volumeName: name, storageClassName: '', resources: {requests: {storage: '1Gi'}}},
  });
  await client.resource(kinds.persistentVolumeClaims).update({...claim, status: {phase: 'Bound'}}, {subresource: 'status'});
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name},
    spec: {
      accessModes: modes,
      capacity: {storage: '1Gi'},
      flexVolume: {driver: 'plat.io/simulated'},
      claimRef: {namespace, name, uid: claim.metadata!.uid!},
      ...spec,
    },
  });
};
/** A claim whose volume is the same disk in every namespace. */
const aClaimOfDisk = async (at: PlaneActions, namespace: string) => {
  const {client} = at;
  const name = `v-${namespace}`;
  const claim = await client.resource(kinds.persistentVolumeClaims).create({
    metadata: {name: 'v', namespace},
    spec: {accessModes: ['ReadWriteOnce'], volumeName: name, storageClassName: '', resources: {requests: {storage: '1Gi'}}},
  });
  await client.resource(kinds.persistentVolumeClaims).update({...claim, status: {phase: 'Bound'}}, {subresource: 'status'});
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name},
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: {storage: '1Gi'},
      csi: {driver: 'disk.example.com', volumeHandle: 'h'},
      claimRef: {namespace, name: 'v', uid: claim.metadata!.uid!},
    },
  });
};
const csi = (handle: string) => ({flexVolume: undefined, csi: {driver: 'disk.example.com', volumeHandle: handle}});
const aPod = async (at: PlaneActions, name: string, nodeName: string, claims: readonly string[] = ['v'], namespace = 'default') => {
  await at.client.resource(kinds.pods).create({
    metadata: {name, namespace},
    spec: {
      nodeName,
      containers: [{name: 'c', image: 'i'}],
      volumes: claims.map(claimName => ({name: claimName, persistentVolumeClaim: {claimName}})),
    },
  });
  await at.clock.advance(2_000);
};
const removePod = async (at: PlaneActions, name: string) => {
  await at.remove(kinds.pods, name, {gracePeriodSeconds: 0});
  await at.clock.advance(2_000);
};
const attachedTo = async ({client}: PlaneActions, name: string) =>
  (await client.resource(kinds.nodes).get(name)).status?.volumesAttached?.map(volume => volume.name) ?? [];
const own = 'plat.io/simulated/v';
const inUse = async (at: PlaneActions, node: string, ...volumesInUse: readonly string[]) => {
  await nodeStatus(at, node, {volumesInUse});
  await at.clock.advance(2_000);
};

test('a volume is attached for its pod, and detached after the pod', async t => {
  const at = await start(t);
  await aNode(at, 'n');
  await aBoundClaim(at, 'v');
  await aPod(at, 'p', 'n');
  t.deepEqual((await at.client.resource(kinds.nodes).get('n')).status?.volumesAttached, [{name: own, devicePath: '/dev/simulated/v'}]);
  t.deepEqual(await at.eventsOn('p'), ['Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume "v"']);
  t.is(at.meter.value('attachdetach_controller_total_volumes', {state: 'actual_state_of_world'}), 1);
  t.is(at.meter.value('storage_count_attachable_volumes_in_use', {node: 'n', volume_plugin: 'plat.io/simulated'}), 1);

  await removePod(at, 'p');
  t.deepEqual(await attachedTo(at, 'n'), []);
  t.is(at.meter.value('storage_operation_duration_seconds', {operation_name: 'volume_detach', status: 'success'}), 1);
});

const ends: readonly [title: string, status: object, annotations: object, isAttached: boolean][] = [
  ['that has succeeded', {phase: 'Succeeded'}, {}, false],
  ['that has failed', {phase: 'Failed'}, {}, false],
  ['that runs', {phase: 'Running'}, {}, true],
  ['that has ended on a node that keeps volumes', {phase: 'Succeeded'}, {'volumes.plat.io/keep-terminated-pod-volumes': 'true'}, true],
];
for (const [title, status, annotations, isAttached] of ends)
  test(`a pod ${title} ${isAttached ? 'keeps' : 'gives up'} its volume`, async t => {
    const at = await start(t);
    await aNode(at, 'n', annotations);
    await aBoundClaim(at, 'v');
    await aPod(at, 'p', 'n');
    await at.patch(kinds.pods, 'p', {status}, 'status');
    await at.clock.advance(2_000);
    t.deepEqual(await attachedTo(at, 'n'), isAttached ? [own] : []);
  });

test('a volume is not attached to a node that attaches volumes itself', async t => {
  const at = await start(t);
  await aNode(at, 'n', {[managed]: null});
  await aBoundClaim(at, 'v');
  await aPod(at, 'p', 'n');
  t.deepEqual(await attachedTo(at, 'n'), []);
});

test('a volume is attached once its claim is bound', async t => {
  const at = await start(t);
  await aNode(at, 'n');
  await aPod(at, 'p', 'n');
  t.deepEqual(await attachedTo(at, 'n'), []);
  await aBoundClaim(at, 'v');
  await at.clock.advance(2_000);
  t.deepEqual(await attachedTo(at, 'n'), [own]);
});

test('a volume for one node is detached before it is attached to the next', async t => {
  const at = await start(t);
  for (const name of ['n1', 'n2']) await aNode(at, name);
  await aBoundClaim(at, 'v');
  await aPod(at, 'p1', 'n1');
  await inUse(at, 'n1', own);
  await aPod(at, 'p2', 'n2');
  t.deepEqual([await attachedTo(at, 'n1'), await attachedTo(at, 'n2')], [[own], []]);
  t.deepEqual(await at.eventsOn('p2'), [
    'Warning FailedAttachVolume Multi-Attach error for volume "v" Volume is already used by pod(s) p1',
  ]);

  await removePod(at, 'p1');
  t.deepEqual([await attachedTo(at, 'n1'), await attachedTo(at, 'n2')], [[own], []]);
  await inUse(at, 'n1');
  t.deepEqual([await attachedTo(at, 'n1'), await attachedTo(at, 'n2')], [[], [own]]);
});

test('a volume that several nodes may use is attached to all of them', async t => {
  const at = await start(t);
  for (const name of ['n1', 'n2']) await aNode(at, name);
  await aBoundClaim(at, 'v', {}, 'default', ['ReadWriteMany']);
  await aPod(at, 'p1', 'n1');
  await aPod(at, 'p2', 'n2');
  t.deepEqual([await attachedTo(at, 'n1'), await attachedTo(at, 'n2')], [[own], [own]]);
});

for (const [title, others, message] of [
  ['another namespace', ['other'], 'Volume is already used by 1 pod(s) in different namespaces'],
  ['both namespaces', ['default', 'other'], 'Volume is already used by pod(s) p1-default and 1 pod(s) in different namespaces'],
] as const)
  test(`a pod that waits for a volume which pods of ${title} use is not given the names of foreign pods`, async t => {
    const at = await start(t);
    for (const name of ['n1', 'n2']) await aNode(at, name);
    await at.client.resource(kinds.namespaces).create({metadata: {name: 'other'}});
    for (const namespace of ['default', 'other']) await aClaimOfDisk(at, namespace);
    for (const namespace of others) await aPod(at, `p1-${namespace}`, 'n1', ['v'], namespace);
    const attachments = at.client.resource(kinds.volumeAttachments);
    const [attachment] = (await attachments.list()).items;
    await attachments.update({...attachment!, status: {attached: true}}, {subresource: 'status'});
    await at.clock.advance(2_000);
    await aPod(at, 'p2', 'n2');
    t.deepEqual(await at.eventsOn('p2'), [`Warning FailedAttachVolume Multi-Attach error for volume "v-default" ${message}`]);
  });

test('a pod that waits for a volume whose other user is gone learns only that it is attached elsewhere', async t => {
  const at = await start(t);
  for (const name of ['n1', 'n2']) await aNode(at, name);
  await aBoundClaim(at, 'v');
  await aPod(at, 'p1', 'n1');
  await inUse(at, 'n1', own);
  await removePod(at, 'p1');
  await aPod(at, 'p2', 'n2');
  t.deepEqual(await at.eventsOn('p2'), [
    'Warning FailedAttachVolume Multi-Attach error for volume "v" Volume is already exclusively attached to one node and can\'t be attached to another',
  ]);
});

interface Timeout {
  readonly title: string;
  readonly ready: string;
  readonly taint?: string;
  readonly disabled?: boolean;
  readonly waitMs: number;
  readonly detached: boolean;
  readonly reason?: string;
}
const timeouts: readonly Timeout[] = [
  {title: 'an unhealthy node is detached by force after six minutes', ready: 'Unknown', waitMs: 370_000, detached: true, reason: 'timeout'},
  {title: 'an unhealthy node is not detached before', ready: 'Unknown', waitMs: 350_000, detached: false},
  {title: 'a healthy node is not detached, however long it takes', ready: 'True', waitMs: 900_000, detached: false},
  {
    title: 'an unhealthy node is not detached by force with that turned off',
    ready: 'Unknown',
    disabled: true,
    waitMs: 900_000,
    detached: false,
  },
  {
    title: 'a node out of service is detached at once',
    ready: 'Unknown',
    taint: 'node.plat.io/out-of-service',
    waitMs: 5_000,
    detached: true,
    reason: 'out-of-service',
  },
  {
    title: 'a node out of service is detached with force turned off',
    ready: 'Unknown',
    taint: 'node.plat.io/out-of-service',
    disabled: true,
    waitMs: 5_000,
    detached: true,
    reason: 'out-of-service',
  },
];
for (const {title, ready, taint, disabled = false, waitMs, detached, reason} of timeouts)
  test(`a volume that is still mounted on ${title}`, async t => {
    const at = await start(t, {disableForceDetachOnTimeout: disabled});
    await aNode(at, 'n');
    await isReady(at, 'n', ready);
    await aBoundClaim(at, 'v');
    await aPod(at, 'p', 'n');
    await inUse(at, 'n', own);
    if (taint) await at.client.resource(kinds.nodes).patch('n', 'merge', {spec: {taints: [{key: taint, effect: 'NoExecute'}]}});
    await removePod(at, 'p');
    await at.clock.advance(waitMs);
    t.deepEqual(await attachedTo(at, 'n'), detached ? [] : [own]);
    t.is(at.meter.value('attachdetach_controller_forced_detaches', {reason: reason ?? 'timeout'}) ?? 0, reason ? 1 : 0);
  });

test('a pod that uses the volume again ends the wait for its detachment', async t => {
  const at = await start(t);
  await aNode(at, 'n');
  await isReady(at, 'n', 'Unknown');
  await aBoundClaim(at, 'v');
  await aPod(at, 'p', 'n');
  await inUse(at, 'n', own);
  await removePod(at, 'p');
  await at.clock.advance(300_000);
  await aPod(at, 'p', 'n');
  await removePod(at, 'p');
  await at.clock.advance(300_000);
  t.deepEqual(await attachedTo(at, 'n'), [own]);
});

test('a volume is not detached while the status of its node cannot be written', async t => {
  const at = await start(t);
  await aNode(at, 'n');
  await aBoundClaim(at, 'v');
  await aPod(at, 'p', 'n');
  at.own.always(call => (call === 'patch nodes' ? new Error('no') : undefined));
  await removePod(at, 'p');
  t.is(at.meter.value('attachdetach_controller_total_volumes', {state: 'actual_state_of_world'}), 1);
  at.own.always(undefined);
  await at.clock.advance(3_000);
  t.deepEqual(await attachedTo(at, 'n'), []);
});

test('an attachment that fails is reported, and tried again', async t => {
  const at = await start(t);
  await aNode(at, 'n');
  await aBoundClaim(at, 'v', {flexVolume: {driver: 'plat.io/simulated', options: {attachError: 'no slot is free'}}});
  await aPod(at, 'p', 'n');
  t.deepEqual(await attachedTo(at, 'n'), []);
  const [event] = await at.eventsOn('p');
  t.is(event, 'Warning FailedAttachVolume AttachVolume.Attach failed for volume "v" : no slot is free');
  await at.clock.advance(10_000);
  t.true(at.meter.value('storage_operation_duration_seconds', {operation_name: 'volume_attach', status: 'fail-unknown'})! > 2);
});

/** Starts the controller with a pod that uses a volume of a CSI driver. Returns the attachment that it requests. */
const startWithAttachment = async (t: ExecutionContext) => {
  const at = await start(t);
  await aNode(at, 'n');
  await aBoundClaim(at, 'v', csi('h'));
  await aPod(at, 'p', 'n');
  const attachments = at.client.resource(kinds.volumeAttachments);
  const [attachment] = (await attachments.list()).items;
  return {at, attachments, attachment: attachment!};
};

test('a volume of a CSI driver is attached by an object whose status the driver sets', async t => {
  const {at, attachments, attachment} = await startWithAttachment(t);
  t.regex(attachment.metadata!.name!, /^csi-[0-9a-f]{64}$/);
  t.deepEqual(attachment.spec, {attacher: 'disk.example.com', nodeName: 'n', source: {persistentVolumeName: 'v'}});
  t.deepEqual(await attachedTo(at, 'n'), []);

  await attachments.update({...attachment, status: {attached: true}}, {subresource: 'status'});
  await at.clock.advance(2_000);
  t.deepEqual(await attachedTo(at, 'n'), ['plat.io/csi/disk.example.com^h']);
  await removePod(at, 'p');
  t.deepEqual((await attachments.list()).items, []);
});

test('an error of a CSI driver is that of the attachment', async t => {
  const {at, attachments, attachment} = await startWithAttachment(t);
  await attachments.update({...attachment, status: {attached: false, attachError: {message: 'busy'}}}, {subresource: 'status'});
  await at.clock.advance(100);
  t.deepEqual(await at.eventsOn('p'), ['Warning FailedAttachVolume AttachVolume.Attach failed for volume "v" : busy']);
});

test('volumes of a driver that needs no attaching are not attached', async t => {
  const at = await start(t);
  await at.client.resource(kinds.csiDrivers).create({metadata: {name: 'disk.example.com'}, spec: {attachRequired: false}});
  await aNode(at, 'n');
  await aBoundClaim(at, 'v', csi('h'));
  await aPod(at, 'p', 'n');
  t.deepEqual((await at.client.resource(kinds.volumeAttachments).list()).items, []);
});

test('an attachment that vanishes is made again by the periodic sync', async t => {
  const {at, attachments, attachment} = await startWithAttachment(t);
  await attachments.update({...attachment, status: {attached: true}}, {subresource: 'status'});
  await at.clock.advance(2_000);
  await attachments.delete(attachment.metadata!.name!);
  await at.clock.advance(61_000);
  t.is((await attachments.list()).items.length, 1);
});

test('attachments that no pod needs any more are removed when the controller starts', async t => {
  const {startServer} = await import('#test/fixtures/server.js');
  const server = startServer();
  const client = server.clientOf('admin');
  await client.resource(kinds.nodes).create({metadata: {name: 'n', annotations: {[managed]: 'true'}}});
  await client
    .resource(kinds.nodes)
    .patch(
      'n',
      'merge',
      {status: {volumesAttached: [{name: 'plat.io/csi/disk.example.com^gone', devicePath: ''}]}},
      {subresource: 'status'},
    );
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: 'v'},
    spec: {accessModes: ['ReadWriteOnce'], capacity: {storage: '1Gi'}, csi: {driver: 'disk.example.com', volumeHandle: 'h'}},
  });
  const spec = {name: 'v', source: {csi: {driver: 'disk.example.com', volumeHandle: 'h'}}};
  await client.resource(kinds.volumeAttachments).create({
    metadata: {name: attachmentName(spec, 'n')},
    spec: {attacher: 'disk.example.com', nodeName: 'n', source: {persistentVolumeName: 'v'}},
  });
  const at = await alone(t, [controller], options, server);
  await at.clock.advance(5_000);

  t.deepEqual(await attachedTo(at, 'n'), []);
  t.deepEqual((await client.resource(kinds.volumeAttachments).list()).items, []);
  t.is(at.meter.value('attachdetach_controller_total_volumes', {state: 'actual_state_of_world'}) ?? 0, 0);
});

test('the plugin of a volume is found if it alone is responsible', t => {
  const plugin = (name: string, ...types: string[]): VolumePlugin => ({
    name,
    supportsMountOptions: false,
    canSupport: ({source}: VolumeSpec) => types.some(type => type in source),
    uniqueName: () => name,
  });
  const plugins = new VolumePlugins([plugin('one', 'nfs', 'iscsi'), plugin('two', 'iscsi')]);
  const found = (type: string) => plugins.find({name: 'v', source: {[type]: {}}})?.name;

  t.deepEqual([found('nfs'), found('iscsi'), found('emptyDir')], ['one', undefined, undefined]);
});
