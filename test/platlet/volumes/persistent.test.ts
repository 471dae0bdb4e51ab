import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type {PersistentVolume} from '#src/platlet/volumes/plugin.js';
import {folderHost, loopDevicesOf} from '#test/platlet/host.js';
import {aWorld, podWith} from './world.js';

/** Volumes of a node whose claims are all for one persistent volume. */
const aWorldWith = (spec: NonNullable<PersistentVolume['spec']>, labels: Record<string, string> = {}) =>
  aWorld({
    claims: {of: async () => ({persistent: {metadata: {name: 'disk'}, spec}, isReadonly: false})},
    node: () => ({metadata: {name: 'one', labels}}),
  });

const claiming = (uid: string, fsGroup?: number) =>
  podWith([{name: 'v', persistentVolumeClaim: {claimName: 'c'}}], fsGroup === undefined ? {} : {securityContext: {fsGroup}}, {uid});

test('a persistent volume that is for other nodes is not mounted', async t => {
  const required = {nodeSelectorTerms: [{matchExpressions: [{key: 'zone', operator: 'In', values: ['a']}]}]};
  const spec = {hostPath: {path: '/tmp'}, nodeAffinity: {required}};
  using other = aWorldWith(spec, {zone: 'b'});
  const ended = t.throwsAsync(other.mount(claiming('u')));
  await other.clock.advance(130_000);
  await ended;
  t.is(other.events[0], 'FailedMount: MountVolume.NodeAffinity check failed for volume "disk" : no matching NodeSelectorTerms');
  using right = aWorldWith(spec, {zone: 'a'});
  await t.notThrowsAsync(right.mount(claiming('u')));
});

test('the pod that uses a local volume first says to which group it belongs', async t => {
  const host = folderHost();
  const source = join(host.root, 'disk');
  mkdirSync(source);
  using world = aWorld(
    {claims: {of: async () => ({persistent: {metadata: {name: 'disk'}, spec: {local: {path: source}}}, isReadonly: false})}},
    host,
  );
  await world.mount(claiming('first', 7));
  const target = (uid: string) => host.folders.volume(uid, 'local-volume', 'disk');
  t.is(host.owners.get(target('first')), '0:7');
  await world.mount(claiming('second', 8));
  t.false(host.owners.has(target('second')));
  t.deepEqual(world.events, [
    'AlreadyMountedVolume: The requested fsGroup is 8, but the volume disk has GID 0. The volume may not be shareable.',
  ]);
});

test('a local block device is mapped for its pods while they are there', async t => {
  using host = folderHost();
  const source = join(host.root, 'disk');
  writeFileSync(source, '');
  symlinkSync(source, join(host.root, 'name'));
  const loops = loopDevicesOf(host);
  const spec = {local: {path: join(host.root, 'name')}, volumeMode: 'Block'};
  using world = aWorld({claims: {of: async () => ({persistent: {metadata: {name: 'disk'}, spec}, isReadonly: false})}}, host);
  const container = {name: 'app', volumeDevices: [{name: 'v', devicePath: '/dev/xvda'}]};
  const pod = podWith([{name: 'v', persistentVolumeClaim: {claimName: 'c'}}], {containers: [container]}, {uid: 'u'});
  await world.mount(pod);
  const link = join(host.folders.pluginDevices('u', 'local-volume'), 'disk');
  t.deepEqual(world.mounts.devicesOf(pod, container), [{hostPath: link, containerPath: '/dev/xvda', permissions: 'mrw'}]);
  t.is(await host.realPath(link), source);
  t.deepEqual(loops, [join(host.folders.deviceMaps('local-volume', 'disk'), 'u')]);
  t.true(await world.volumes.release('u'));
  t.deepEqual([loops, host.mounted], [[], []]);
  t.is(await host.linkStatus(link), undefined);
});

test('an agent that starts again leaves files in a volume as the pod has made them', async t => {
  const host = folderHost();
  const pod = podWith([{name: 'v', emptyDir: {}}], {securityContext: {fsGroup: 7}}, {uid: 'u'});
  using before = aWorld({}, host);
  await before.mount(pod);
  const file = join(host.folders.volume('u', 'empty-dir', 'v'), 'key');
  writeFileSync(file, 'secret', {mode: 0o600});
  using after = aWorld({}, host);
  await after.mount(pod);
  t.is((await host.status(file))?.mode, 0o600);
  t.false(host.owners.has(file));
});

test('a file in a volume is read without following links', async t => {
  using world = aWorld();
  const pod = podWith([{name: 'v', emptyDir: {}}]);
  await world.mount(pod);
  const folder = world.at('empty-dir', 'v');
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub/env'), 'A=1');
  symlinkSync('/etc/passwd', join(folder, 'link'));
  const read = async (path: string, volume = 'v') => (await world.volumes.readFile(pod, volume, path, 3))?.toString();
  t.is(await read('sub/env'), 'A=1');
  t.is(await read('sub/none'), undefined);
  await t.throwsAsync(read('link'));
  await t.throwsAsync(read('../x'));
  await t.throwsAsync(read('sub'), {message: 'sub is no file'});
  await t.throwsAsync(read('sub/env', 'w'), {message: 'cannot find the volume "w"'});
  writeFileSync(join(folder, 'sub/env'), 'A=12');
  await t.throwsAsync(read('sub/env'), {message: 'sub/env has more than 3 bytes'});
});
