import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {AgentPlane} from '#test/platlet/agent.js';
import {loopDevicesOf} from '#test/platlet/host.js';
import {grpcCodes} from './fake-driver.js';
import {aClaim, aCsiNode, aDriverObject, attach, podWithClaim} from './node.js';
import {aSite, csi} from './site.js';

const names = [
  'verify_controller_attached_volume',
  'volume_mount',
  'volume_unmount',
  'unmount_device',
  'map_volume',
  'unmap_volume',
  'unmap_device',
  'volume_fs_resize',
  'volume_apply_access_control',
];

/** Returns how often operations have ended, by name and status. */
const operationsOf = (meter: MetricsRegistry, {naming}: AgentPlane): Record<string, number> => {
  const ended = names.flatMap(operation_name =>
    ['success', 'fail-unknown'].map(status => {
      const labels = {operation_name, status, volume_plugin: `${naming.key('csi')}:${csi.driver}`, migrated: 'false'};
      return [`${operation_name} ${status}`, meter.value('storage_operation_duration_seconds', labels)] as const;
    }),
  );
  return Object.fromEntries(ended.flatMap(([name, count]) => (count ? [[name, count]] : [])));
};

test('the operations on a mounted volume are measured under their names', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  const meter = new MetricsRegistry();
  await aDriverObject(plane, csi.driver, {attachRequired: true, fsGroupPolicy: 'File'});
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c', {securityContext: {fsGroup: 7}});
  await using node = await aCsiNode(plane, host, {meter});
  await node.register(driver);
  const mounting = node.begin(pod);
  await plane.clock.advance(1000);
  t.deepEqual(operationsOf(meter, plane), {});
  await node.report();
  await attach(plane, {driver: csi.driver, handle: 'vol-1'}, 'pv-c');
  driver.failures.stage = grpcCodes.internal;
  await plane.clock.advance(200);
  driver.failures.stage = 0;
  await plane.clock.advance(1000);
  await mounting;
  const mounted = {
    'verify_controller_attached_volume success': 2,
    'volume_mount fail-unknown': 1,
    'volume_mount success': 1,
    'volume_apply_access_control success': 1,
  };
  t.deepEqual(operationsOf(meter, plane), mounted);
  t.true(await node.volumes.release(pod.metadata!.uid!));
  await plane.clock.drain();
  t.deepEqual(operationsOf(meter, plane), {...mounted, 'volume_unmount success': 1, 'unmount_device success': 1});
});

test('the operations on a block device are measured under their names', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  loopDevicesOf(host);
  const meter = new MetricsRegistry();
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi, {volumeMode: 'Block'});
  const device = {name: 'app', image: 'app', volumeDevices: [{name: 'data', devicePath: '/dev/xvda'}]};
  const pod = await podWithClaim(plane, 'one', 'c', {containers: [device]});
  await using node = await aCsiNode(plane, host, {meter});
  await node.register(driver);
  await node.mount(pod);
  const mapped = {'verify_controller_attached_volume success': 1, 'map_volume success': 1};
  t.deepEqual(operationsOf(meter, plane), mapped);
  t.true(await node.volumes.release(pod.metadata!.uid!));
  await plane.clock.drain();
  t.deepEqual(operationsOf(meter, plane), {...mapped, 'unmap_volume success': 1, 'unmap_device success': 1});
});

test('the expansion of a mounted volume is measured under its name', async t => {
  await using site = await aSite({can: ['EXPAND_VOLUME']});
  const {plane, host, driver} = site;
  const meter = new MetricsRegistry();
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c');
  await using node = await aCsiNode(plane, host, {meter});
  await node.register(driver);
  await node.mount(pod);
  t.is(operationsOf(meter, plane)['volume_fs_resize success'], undefined);
  await plane
    .client()
    .resource(kinds.persistentVolumes)
    .patch('pv-c', 'merge', {spec: {capacity: {storage: '2Gi'}}});
  await node.mount(pod);
  t.is(operationsOf(meter, plane)['volume_fs_resize success'], 1);
});
