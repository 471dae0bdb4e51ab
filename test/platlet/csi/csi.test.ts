import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {nodeName, type AgentPlane} from '#test/platlet/agent.js';
import {loopDevicesOf, type FolderHost} from '#test/platlet/host.js';
import {grpcCodes, type FakeDriver} from './fake-driver.js';
import {aClaim, aCsiNode, aDriverObject, attach, podWith, podWithClaim} from './node.js';
import {aSite, csi, globalMount, target} from './site.js';

test('a volume of a driver is staged once a node, published to each pod, and released in the opposite order', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver, {attachRequired: true});
  await aClaim(plane, 'c', csi);
  const one = await podWithClaim(plane, 'one', 'c');
  const two = await podWithClaim(plane, 'two', 'c');
  const uids = {ONE: one.metadata!.uid, TWO: two.metadata!.uid};
  {
    await using node = await aCsiNode(plane, host);
    await node.register(driver);
    t.deepEqual(site.calls(), ['NodeGetInfo']);
    const mounting = node.begin(one);
    await plane.clock.advance(1000);
    t.deepEqual(site.calls(), []);
    t.deepEqual(node.storage.inUse(), [`${plane.naming.key('csi')}/disk.example.com^vol-1`]);
    await node.report();
    await attach(plane, {driver: csi.driver, handle: 'vol-1'}, 'pv-c');
    await plane.clock.advance(1000);
    await mounting;
    t.deepEqual(site.calls(uids), [`NodeStageVolume ${globalMount}`, `NodePublishVolume ${target('ONE')}`]);
    t.deepEqual({...driver.requests.publish!.publishContext}, {slot: '3'});
    await node.mount(one);
    await node.mount(two);
    t.deepEqual(site.calls(uids), [`NodePublishVolume ${target('TWO')}`]);
    t.deepEqual(node.events, []);
  }
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  await node.mount(one);
  t.deepEqual(site.calls(uids), ['NodeGetInfo', `NodeStageVolume ${globalMount}`, `NodePublishVolume ${target('ONE')}`]);
  await node.volumes.sweep(uid => uid === uids.ONE);
  t.deepEqual(site.calls(uids), [`NodeUnpublishVolume ${target('TWO')}`]);
  t.true(await node.volumes.release(uids.ONE!));
  await plane.clock.drain();
  t.deepEqual(site.calls(uids), [`NodeUnpublishVolume ${target('ONE')}`, `NodeUnstageVolume ${globalMount}`]);
  t.deepEqual(node.storage.inUse(), []);
  t.deepEqual(host.mounted, []);
});

test('a mount fails in the words of the original while the driver is not registered, and succeeds later', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c');
  await using node = await aCsiNode(plane, host);
  const mounting = node.begin(pod);
  await plane.clock.advance(0);
  t.deepEqual(node.events, [
    `FailedMount: MountVolume.MountDevice failed for volume "pv-c" : ${plane.naming.key('csi')}: attacher.MountDevice failed to create newCsiDriverClient: driver name disk.example.com not found in the list of registered CSI drivers`,
  ]);
  await node.register(driver);
  await plane.clock.advance(1000);
  await mounting;
  t.is(host.mounted.length, 2);
});

test('a volume is unstaged if it may have been staged, and not after a final error', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  for (const [code, name, isUncertain] of [
    [grpcCodes.deadlineExceeded, 'DeadlineExceeded', true],
    [grpcCodes.aborted, 'Aborted', true],
    [grpcCodes.invalidArgument, 'InvalidArgument', false],
    [grpcCodes.internal, 'Internal', false],
  ] as const) {
    const pod = await podWithClaim(plane, name.toLowerCase(), 'c');
    site.calls();
    driver.failures.stage = code;
    node.begin(pod).catch(() => {});
    await plane.clock.advance(0);
    t.deepEqual(node.events.splice(0), [
      `FailedMount: MountVolume.MountDevice failed for volume "pv-c" : rpc error: code = ${name} desc = stage failed`,
    ]);
    t.true(await node.volumes.release(pod.metadata!.uid!));
    await plane.clock.drain();
    t.deepEqual(site.calls(), [`NodeStageVolume ${globalMount}`, ...(isUncertain ? [`NodeUnstageVolume ${globalMount}`] : [])], name);
  }
});

test('a volume that cannot be unpublished stays, and is tried again later and later', async t => {
  await using site = await aSite({can: []});
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c');
  const uid = pod.metadata!.uid!;
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  await node.mount(pod);
  t.deepEqual(site.calls({ONE: uid}), ['NodeGetInfo', `NodePublishVolume ${target('ONE')}`]);
  driver.failures.unpublish = grpcCodes.internal;
  t.false(await node.volumes.release(uid));
  t.false(await node.volumes.release(uid));
  t.is(driver.calls.length, 1);
  await plane.clock.advance(500);
  t.false(await node.volumes.release(uid));
  t.is(driver.calls.length, 2);
  t.is(host.mounted.length, 1);
  driver.failures.unpublish = 0;
  await plane.clock.advance(1000);
  t.true(await node.volumes.release(uid));
  t.deepEqual(host.mounted, []);
});

const csiNodeOf = async (plane: AgentPlane) => (await plane.client().resource(kinds.csiNodes).get(nodeName)).spec.drivers ?? [];
const nodeOf = (plane: AgentPlane) => plane.client().resource(kinds.nodes).get(nodeName);

test('a node shows its drivers in its CSINode, in an annotation and in topology labels', async t => {
  const info = {nodeId: 'id-1', maxVolumesPerNode: 5, accessibleTopology: {segments: {'example.com/zone': 'z1'}}};
  await using site = await aSite({info});
  const {plane, host, driver} = site;
  const annotation = plane.naming.subKey('csi.volume', 'nodeid');
  await using node = await aCsiNode(plane, host);
  t.is(node.storage.problem(), undefined);
  t.deepEqual(await csiNodeOf(plane), []);
  await node.register(driver);
  t.deepEqual(await csiNodeOf(plane), [{name: csi.driver, nodeID: 'id-1', topologyKeys: ['example.com/zone'], allocatable: {count: 5}}]);
  const {metadata} = await nodeOf(plane);
  t.is(metadata?.annotations?.[annotation], '{"disk.example.com":"id-1"}');
  t.is(metadata?.labels?.['example.com/zone'], 'z1');
  const plugin = {name: csi.driver, endpoint: driver.socket, versions: ['1.0.0']};
  t.throws(() => node.storage.handler.validate(plugin) as void, {message: /already registered with a higher supported version: "1.0.0"$/});
  t.throws(() => node.storage.handler.validate({...plugin, name: 'new', versions: ['0.3.0', '2.0.0']}) as void, {
    message:
      /None of the versions specified \["0.3.0" "2.0.0"\] are supported. err=highest supported version reported is 0.3.0, must be v1.x$/,
  });
  await node.storage.handler.deregister(plugin);
  t.deepEqual(await csiNodeOf(plane), []);
  t.is((await nodeOf(plane)).metadata?.annotations?.[annotation], undefined);
  driver.info = {...info, accessibleTopology: {segments: {'example.com/zone': 'z2'}}};
  const failed = t.throwsAsync(async () => node.register(driver), {
    message: /topology value collision: driver reported "example.com\/zone":"z2" but existing label is "example.com\/zone":"z1"$/,
  });
  await plane.clock.advance(1000);
  await failed;
  t.deepEqual(await csiNodeOf(plane), []);
});

test('the number of volumes that a node can have follows the driver as often as its object says', async t => {
  await using site = await aSite({info: {nodeId: 'n', maxVolumesPerNode: 5}});
  const {plane, host, driver} = site;
  await using node = await aCsiNode(plane, host, {gates: ['MutableCSINodeAllocatableCount']});
  await node.register(driver);
  await aDriverObject(plane, csi.driver, {nodeAllocatableUpdatePeriodSeconds: 20});
  driver.info = {nodeId: 'n', maxVolumesPerNode: 7};
  await plane.clock.advance(19_000);
  t.is((await csiNodeOf(plane))[0]?.allocatable?.count, 5);
  await plane.clock.advance(2_000);
  t.is((await csiNodeOf(plane))[0]?.allocatable?.count, 7);
});

/** Mounts an inline volume of a driver for a pod. */
const withInline = async (site: {plane: AgentPlane; host: FolderHost; driver: FakeDriver}, spec: Parameters<typeof aDriverObject>[2]) => {
  const {plane, host, driver} = site;
  if (spec) await aDriverObject(plane, csi.driver, spec);
  const node = await aCsiNode(plane, host);
  await node.register(driver);
  const inline = {csi: {driver: csi.driver, fsType: 'ext4', volumeAttributes: {size: '1'}}};
  const pod = await podWith(plane, 'one', inline, {securityContext: {fsGroup: 7}});
  const mounting = node.begin(pod);
  mounting.catch(() => {});
  await plane.clock.advance(0);
  return {node, pod, mounting, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]()};
};

test('the driver of an inline volume is told of the pod, with its tokens and its group', async t => {
  await using site = await aSite({can: ['VOLUME_MOUNT_GROUP']});
  await using mounted = await withInline(site, {
    podInfoOnMount: true,
    requiresRepublish: true,
    volumeLifecycleModes: ['Ephemeral'],
    tokenRequests: [{audience: 'vault', expirationSeconds: 600}],
  });
  const {node, pod, mounting} = mounted;
  await mounting;
  const {volumeContext, volumeCapability, volumeId} = site.driver.requests.publish!;
  const {'csi.storage.k8s.io/serviceAccount.tokens': tokens, ...context} = volumeContext;
  t.deepEqual(context, {
    size: '1',
    'csi.storage.k8s.io/pod.name': 'one',
    'csi.storage.k8s.io/pod.namespace': 'default',
    'csi.storage.k8s.io/pod.uid': pod.metadata!.uid!,
    'csi.storage.k8s.io/serviceAccount.name': 'default',
    'csi.storage.k8s.io/ephemeral': 'true',
  });
  t.deepEqual(Object.keys((JSON.parse(tokens!) as {vault: object}).vault), ['token', 'expirationTimestamp']);
  t.deepEqual(volumeCapability?.mount, {fsType: 'ext4', mountFlags: [], volumeMountGroup: '7'});
  t.regex(volumeId, /^csi-[0-9a-f]{64}$/);
  await node.mount(pod);
  t.is(site.driver.calls.filter(call => call.startsWith('NodePublishVolume')).length, 2);
  t.true(await node.volumes.release(pod.metadata!.uid!));
  t.deepEqual(site.host.mounted, []);
});

test('an inline volume needs a driver that says that it has such volumes', async t => {
  for (const [spec, text] of [
    [undefined, '(no CSIDriver object)'],
    [{volumeLifecycleModes: ['Persistent']}, '(only supports ["Persistent"])'],
  ] as const) {
    await using site = await aSite();
    await using mounted = await withInline(site, spec as never);
    t.deepEqual(mounted.node.events, [
      `FailedMount: MountVolume.SetUp failed for volume "data" : ${site.plane.naming.key('csi')}: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver disk.example.com ${text}`,
    ]);
  }
});

test('a driver measures its volumes and reports their health', async t => {
  await using site = await aSite({can: ['GET_VOLUME_STATS', 'VOLUME_CONDITION']});
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c');
  driver.stats = {
    usage: [
      {available: 6, total: 10, used: 4, unit: 'BYTES'},
      {available: 1, total: 3, used: 2, unit: 'INODES'},
    ],
    volumeCondition: {abnormal: true, message: 'disk is broken'},
  };
  const usage = {availableBytes: 6, capacityBytes: 10, usedBytes: 4, inodesFree: 1, inodes: 3, inodesUsed: 2};
  for (const [gates, health] of [
    [[], {}],
    [['CSIVolumeHealth'], {health: {abnormal: true, message: 'disk is broken'}}],
  ] as const) {
    await using node = await aCsiNode(plane, host, {gates});
    await node.register(driver);
    await node.mount(pod);
    t.deepEqual(await node.volumes.mounted(pod.metadata!.uid!).get('data')!.measure!(), {...usage, ...health});
  }
  driver.can = [];
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  await node.mount(pod);
  t.is(await node.volumes.mounted(pod.metadata!.uid!).get('data')!.measure!(), undefined);
});

/** Enlarges a volume, as its controller does: the file system is left to the node. */
const enlarge = async (plane: AgentPlane, size: string): Promise<void> => {
  const client = plane.client();
  const claims = client.resource(kinds.persistentVolumeClaims);
  await client.resource(kinds.persistentVolumes).patch('pv-c', 'merge', {spec: {capacity: {storage: size}}});
  const status = {
    allocatedResources: {storage: size},
    allocatedResourceStatuses: {storage: 'NodeResizePending'},
    conditions: [{type: 'FileSystemResizePending', status: 'True'}],
  };
  await claims.patch('c', 'merge', {status}, {namespace: 'default', subresource: 'status'});
};

const claimStatus = async (plane: AgentPlane) =>
  (await plane.client().resource(kinds.persistentVolumeClaims).get('c', {namespace: 'default'})).status;

test('a volume that has become larger is expanded on its node, before and while pods use it', async t => {
  await using site = await aSite({can: ['EXPAND_VOLUME']});
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c');
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  await enlarge(plane, '2Gi');
  await node.mount(pod);
  const uid = pod.metadata!.uid!;
  const expanded = (bytes: number) => `NodeExpandVolume ${target('ONE')} ${bytes}`;
  t.deepEqual(site.calls({ONE: uid}), ['NodeGetInfo', `NodePublishVolume ${target('ONE')}`, expanded(2 * 2 ** 30)]);
  t.like(await claimStatus(plane), {capacity: {storage: '2Gi'}, allocatedResourceStatuses: undefined, conditions: undefined});
  const success = `FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-c" ${nodeName}`;
  t.deepEqual(node.events.splice(0), [success, success]);
  await node.mount(pod);
  t.deepEqual(site.calls(), []);

  await enlarge(plane, '3Gi');
  driver.failures.expand = grpcCodes.internal;
  await node.mount(pod, 0);
  const reason = 'Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = expand failed';
  t.deepEqual(node.events.splice(0), [`VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-c" : ${reason}`]);
  const failed = await claimStatus(plane);
  t.is(failed?.allocatedResourceStatuses?.['storage'], 'NodeResizeInProgress');
  t.is(failed?.conditions?.find(({type}) => type === 'NodeResizeError')?.message, `failed to expand pvc with ${reason}`);
  driver.failures.expand = 0;
  await plane.clock.advance(1000);
  t.like(await claimStatus(plane), {capacity: {storage: '3Gi'}, conditions: undefined});
  t.deepEqual(site.calls({ONE: uid}), [expanded(3 * 2 ** 30), expanded(3 * 2 ** 30)]);

  await enlarge(plane, '4Gi');
  driver.failures.expand = grpcCodes.outOfRange;
  await node.mount(pod, 0);
  t.is((await claimStatus(plane))?.allocatedResourceStatuses?.['storage'], 'NodeResizeInfeasible');
});

test('a block device is staged, published and mapped for its pod, also by an agent that starts again', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  const loops = loopDevicesOf(host);
  await aDriverObject(plane, csi.driver, {podInfoOnMount: true});
  await aClaim(plane, 'c', csi, {volumeMode: 'Block'});
  const device = {name: 'app', image: 'app', volumeDevices: [{name: 'data', devicePath: '/dev/xvda'}]};
  const pod = await podWithClaim(plane, 'one', 'c', {containers: [device]});
  const wrong = await podWithClaim(plane, 'wrong', 'c');
  const uid = pod.metadata!.uid!;
  const blocks = '/plugins/kubernetes.io/csi/volumeDevices';
  const published = `vol-1 ${blocks}/publish/pv-c/ONE`;
  const link = `${host.folders.root}/pods/${uid}/volumeDevices/kubernetes.io~csi/pv-c`;
  {
    await using node = await aCsiNode(plane, host);
    await node.register(driver);
    site.calls();
    await node.mount(pod);
    t.deepEqual(site.calls({ONE: uid}), [`NodeStageVolume vol-1 ${blocks}/staging/pv-c`, `NodePublishVolume ${published}`]);
    t.deepEqual(driver.requests.publish!.volumeCapability?.block, {});
    t.deepEqual(node.mounts.devicesOf(pod, device), [{hostPath: link, containerPath: '/dev/xvda', permissions: 'mrw'}]);
    t.deepEqual(loops, [`${host.folders.root}${blocks}/pv-c/dev/${uid}`]);
    node.begin(wrong).catch(() => {});
    await plane.clock.advance(0);
    await node.volumes.release(wrong.metadata!.uid!);
    t.deepEqual(site.calls(), []);
  }
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  site.calls();
  t.true(await node.volumes.release(uid));
  await plane.clock.drain();
  t.deepEqual(site.calls({ONE: uid}), [`NodeUnpublishVolume ${published}`, `NodeUnstageVolume vol-1 ${blocks}/staging/pv-c`]);
  t.deepEqual([loops, host.mounted], [[], []]);
  t.deepEqual(await host.list(`${host.folders.root}${blocks}`), ['publish', 'staging']);
  t.is(await host.linkStatus(link), undefined);
});
