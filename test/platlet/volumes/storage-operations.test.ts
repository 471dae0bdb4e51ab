import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {folderHost, loopDevicesOf} from '#test/platlet/host.js';
import {aWorld, podWith} from './world.js';

const statuses = ['success', 'fail-unknown'];
const operations = [
  'verify_controller_attached_volume',
  'volume_mount',
  'volume_unmount',
  'map_volume',
  'unmap_volume',
  'volume_apply_access_control',
];

/** Returns how often the operations on volumes of a type have ended. */
const endedOf = (meter: MetricsRegistry, plugin: string): Record<string, number> => {
  const labels = {volume_plugin: naming('plat').key(plugin), migrated: 'false'};
  const counts = operations.flatMap(operation_name =>
    statuses.map(status => {
      const count = meter.value('storage_operation_duration_seconds', {...labels, operation_name, status});
      return [`${operation_name} ${status}`, count] as const;
    }),
  );
  return Object.fromEntries(counts.flatMap(([name, count]) => (count ? [[name, count]] : [])));
};

test('the operations on volumes of all types are measured under their names', async t => {
  const meter = new MetricsRegistry();
  const host = folderHost();
  using world = aWorld({}, host, meter);
  mkdirSync(join(host.root, 'data'));
  const pod = podWith(
    [
      {name: 'empty', emptyDir: {}},
      {name: 'host', hostPath: {path: join(host.root, 'data')}},
      {name: 'labels', downwardAPI: {items: [{path: 'name', fieldRef: {fieldPath: 'metadata.name'}}]}},
      {name: 'image', image: {reference: 'app'}},
    ],
    {securityContext: {fsGroup: 7}},
    {uid: 'u'},
  );
  await world.mount(pod);
  await world.mount(pod);
  t.true(await world.volumes.release('u'));

  const once = {'verify_controller_attached_volume success': 1, 'volume_mount success': 1, 'volume_unmount success': 1};
  t.deepEqual(endedOf(meter, 'empty-dir'), {...once, 'volume_apply_access_control success': 1});
  t.deepEqual(endedOf(meter, 'host-path'), once);
  t.deepEqual(endedOf(meter, 'image'), once);
  // Its files are looked at with each sync.
  const written = {'volume_mount success': 2, 'volume_apply_access_control success': 1};
  t.deepEqual(endedOf(meter, 'downward-api'), {...once, ...written});
});

test('a failed operation is measured as such', async t => {
  const meter = new MetricsRegistry();
  using world = aWorld({}, undefined, meter);
  const pod = podWith([{name: 'memory', emptyDir: {medium: 'Memory'}}], {}, {uid: 'u'});
  world.host.mountErrors.push(new Error('no memory'));
  const mounting = world.mount(pod);
  await world.clock.advance(1_000);
  await mounting;

  const {unmount} = world.host;
  world.host.unmount = () => Promise.reject(new Error('busy'));
  t.false(await world.volumes.release('u'));
  world.host.unmount = unmount;
  t.true(await world.volumes.release('u'));
  t.deepEqual(endedOf(meter, 'empty-dir'), {
    'verify_controller_attached_volume success': 1,
    'volume_mount fail-unknown': 1,
    'volume_mount success': 1,
    'volume_unmount fail-unknown': 1,
    'volume_unmount success': 1,
  });
});

test('a local block device is measured as one that is mapped', async t => {
  const meter = new MetricsRegistry();
  const host = folderHost();
  loopDevicesOf(host);
  const source = join(host.root, 'disk');
  await host.writeFile(source, '', 0o600);
  const persistent = {metadata: {name: 'disk'}, spec: {local: {path: source}, volumeMode: 'Block'}};
  using world = aWorld({claims: {of: async () => ({persistent, isReadonly: false})}}, host, meter);
  const container = {name: 'app', image: 'app', volumeDevices: [{name: 'v', devicePath: '/dev/v'}]};
  await world.mount(podWith([{name: 'v', persistentVolumeClaim: {claimName: 'c'}}], {containers: [container]}, {uid: 'u'}));
  t.true(await world.volumes.release('u'));

  const once = {'verify_controller_attached_volume success': 1, 'map_volume success': 1, 'unmap_volume success': 1};
  t.deepEqual(endedOf(meter, 'local-volume'), once);
});
