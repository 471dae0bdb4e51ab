import test from 'ava';
import {mountReferences} from '#src/platlet/csi/mount-references.js';
import type {MountPoint} from '#src/platlet/host/host.js';
import {loopDevicesOf} from '#test/platlet/host.js';
import {aClaim, aCsiNode, aDriverObject, podWithClaim} from './node.js';
import {aSite, csi, globalMount, target} from './site.js';

const aMount = (path: string, root: string, device: string): MountPoint => ({
  path,
  root,
  device,
  type: 'ext4',
  source: '/dev/sdb',
  options: [],
  isShared: false,
});

test('the references of a mount are the other mounts of the same folder of the same file system', t => {
  const mounts = [
    aMount('/', '/', '8:1'),
    aMount('/other', '/', '8:16'),
    aMount('/var', '/var', '8:2'),
    aMount('/staged', '/', '8:16'),
    aMount('/part', '/part', '8:16'),
    aMount('/bound', '/data/x', '8:2'),
  ];
  t.deepEqual(mountReferences(mounts, '/staged'), ['/other']);
  t.deepEqual(mountReferences(mounts, '/staged/part'), ['/part']);
  t.deepEqual(mountReferences(mounts, '/stagedbeside'), []);
  t.deepEqual(mountReferences(mounts, '/var'), []);
  // What a later mount hides does not count.
  t.deepEqual(mountReferences([...mounts, aMount('/staged', '/', '8:32')], '/staged'), []);
});

test('a volume that is mounted elsewhere too is not unstaged before it is unmounted there', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi);
  const pod = await podWithClaim(plane, 'one', 'c');
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  await node.mount(pod);
  const staged = host.mounted.find(({path}) => path.endsWith('globalmount'))!;
  const backup = {...staged, path: '/mnt/backup'};
  // The same folder, as it is seen in another mount of the agent's directory.
  const again = {...staged, path: staged.path.replace(/.*\/plugins\//, '/mnt/agent/plugins/')};
  host.mounted.push(backup, again);
  site.calls();
  t.true(await node.volumes.release(pod.metadata!.uid!));
  await plane.clock.advance(10_000);
  t.deepEqual(site.calls({ONE: pod.metadata!.uid}), [`NodeUnpublishVolume ${target('ONE')}`]);
  t.true(host.mounted.includes(staged));
  host.mounted.splice(host.mounted.indexOf(backup), 1);
  await plane.clock.advance(60_000);
  t.deepEqual(site.calls(), [`NodeUnstageVolume ${globalMount}`]);
  t.deepEqual(host.mounted, [again]);
});

test('a block device that a pod still has is not unstaged before it is unmapped', async t => {
  await using site = await aSite();
  const {plane, host, driver} = site;
  const loops = loopDevicesOf(host);
  await aDriverObject(plane, csi.driver);
  await aClaim(plane, 'c', csi, {volumeMode: 'Block'});
  const device = {name: 'app', image: 'app', volumeDevices: [{name: 'data', devicePath: '/dev/xvda'}]};
  const pod = await podWithClaim(plane, 'one', 'c', {containers: [device]});
  const uid = pod.metadata!.uid!;
  await using node = await aCsiNode(plane, host);
  await node.register(driver);
  await node.mount(pod);
  const maps = loops[0]!.slice(0, loops[0]!.lastIndexOf('/'));
  const other = aMount(`${maps}/other`, '/', '0:9');
  await host.writeFile(other.path, '', 0o600);
  host.mounted.push(other);
  site.calls();
  t.true(await node.volumes.release(uid));
  await plane.clock.advance(10_000);
  t.deepEqual(
    site.calls().map(call => call.split(' ')[0]),
    ['NodeUnpublishVolume'],
  );
  host.mounted.splice(host.mounted.indexOf(other), 1);
  await host.removeFile(other.path);
  await plane.clock.advance(60_000);
  t.deepEqual(
    site.calls().map(call => call.split(' ')[0]),
    ['NodeUnstageVolume'],
  );
});
