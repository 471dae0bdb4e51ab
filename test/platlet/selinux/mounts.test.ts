import test from 'ava';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {GateName} from '#src/options/gate-table.js';
import {aClaim, aCsiNode, aDriverObject, podWithClaim, type CsiNodeOptions} from '#test/platlet/csi/node.js';
import {grpcCodes} from '#test/platlet/csi/fake-driver.js';
import {aSite, csi, globalMount, target} from '#test/platlet/csi/site.js';
import type {MountConfig} from '#src/platlet/runtime/configs.js';
import {fedora} from './policy.js';

const gates: readonly GateName[] = ['SELinuxMountReadWriteOncePod', 'SELinuxChangePolicy'];
const labelOf = (level: string): string => `system_u:object_r:container_file_t:${level}`;
const optionOf = (level: string): string => `context="${labelOf(level)}"`;
const [one, two] = ['s0:c1,c2', 's0:c3,c4'];

/** A machine with SELinux, a driver whose volumes can be mounted with labels, and a claim for one pod alone. */
const aLabelledSite = async ({seLinuxMount = true, accessModes = ['ReadWriteOncePod']} = {}) => {
  const site = await aSite();
  const {plane, host} = site;
  host.isSelinuxEnabled = () => Promise.resolve(true);
  const {read} = host;
  host.read = path => (path === '/usr/share/containers/selinux/contexts' ? Promise.resolve(Buffer.from(fedora)) : read(path));
  host.mounts = () => Promise.resolve(host.mounted.map(mount => ({...mount, options: ['seclabel']})));
  await aDriverObject(plane, csi.driver, {seLinuxMount});
  await aClaim(plane, 'c', csi, {accessModes, mountOptions: ['noatime']});
  return site;
};

type Site = Awaited<ReturnType<typeof aLabelledSite>>;

const aPod = ({plane}: Site, name: string, level: string, seLinuxChangePolicy?: 'Recursive' | 'MountOption') =>
  podWithClaim(plane, name, 'c', {
    securityContext: {seLinuxOptions: {level}, ...(seLinuxChangePolicy ? {seLinuxChangePolicy} : {})},
  });

const aNode = async ({plane, host, driver}: Site, options: CsiNodeOptions = {gates}) => {
  const node = await aCsiNode(plane, host, options);
  await node.register(driver);
  driver.calls.splice(0);
  return node;
};

/** The mount options of the last calls. */
const flagsOf = ({driver: {requests}}: Site) => [requests.stage, requests.publish].map(call => call?.volumeCapability?.mount?.mountFlags);

const isRelabelled = ([mount]: readonly MountConfig[]): boolean => mount?.selinuxRelabel === true;

for (const [title, options, policy, isLabelled] of [
  ['a volume for one pod is mounted with its label, and the runtime does not relabel it', {}, undefined, true],
  ['a pod that wants its files relabelled has no volume mounted with a label', {}, 'Recursive', false],
  ['a volume of a driver that does not know labels is not mounted with one', {seLinuxMount: false}, undefined, false],
  ['a volume for several pods is not mounted with a label', {accessModes: ['ReadWriteMany']}, undefined, false],
] as const)
  test(title, async t => {
    await using site = await aLabelledSite(options as {seLinuxMount?: boolean; accessModes?: string[]});
    await using node = await aNode(site);
    const pod = await aPod(site, 'one', one, policy);
    await node.mount(pod);
    const flags = isLabelled ? ['noatime', optionOf(one)] : ['noatime'];
    t.deepEqual(flagsOf(site), [flags, flags]);
    t.is(isRelabelled(await node.mounts.mountsOf(pod, pod.spec!.containers[0]!, new Map())), !isLabelled);
  });

test('a volume is mounted without a label where SELinux is off, and without the gate', async t => {
  for (const [isEnabled, on] of [
    [false, gates],
    [true, []],
  ] as const) {
    await using site = await aLabelledSite();
    site.host.isSelinuxEnabled = () => Promise.resolve(isEnabled);
    await using node = await aNode(site, {gates: on});
    await node.mount(await aPod(site, 'one', one));
    t.deepEqual(flagsOf(site), [['noatime'], ['noatime']]);
  }
});

test('a volume is unmounted and mounted anew for a pod with another label when the pod before has left it', async t => {
  await using site = await aLabelledSite();
  const {plane, driver} = site;
  await using node = await aNode(site);
  const [first, second] = [await aPod(site, 'one', one), await aPod(site, 'two', two)];
  const uids = {ONE: first.metadata!.uid!, TWO: second.metadata!.uid!};
  await node.mount(first);
  t.deepEqual(site.calls(uids), [`NodeStageVolume ${globalMount}`, `NodePublishVolume ${target('ONE')}`]);
  driver.failures.unpublish = grpcCodes.internal;
  t.false(await node.volumes.release(uids.ONE));
  const waiting = `waiting for unmount of volume "${plane.naming.key('csi')}/disk.example.com^vol-1", because it is already mounted to a different pod with a different SELinux label`;
  await t.throwsAsync(node.mount(second), {
    message: `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ${waiting}`,
  });
  t.deepEqual(site.calls(uids), [`NodeUnpublishVolume ${target('ONE')}`]);
  driver.failures.unpublish = 0;
  await plane.clock.advance(1000);
  t.true(await node.volumes.release(uids.ONE));
  await node.mount(second);
  t.deepEqual(site.calls(uids), [
    `NodeUnpublishVolume ${target('ONE')}`,
    `NodeUnstageVolume ${globalMount}`,
    `NodeStageVolume ${globalMount}`,
    `NodePublishVolume ${target('TWO')}`,
  ]);
  t.deepEqual(flagsOf(site), [
    ['noatime', optionOf(two)],
    ['noatime', optionOf(two)],
  ]);
});

test('a staged volume is kept for a pod with the same label', async t => {
  await using site = await aLabelledSite({accessModes: ['ReadWriteOncePod']});
  await using node = await aNode(site);
  const [first, second] = [await aPod(site, 'one', one), await aPod(site, 'two', one)];
  await node.mount(first);
  site.calls();
  const mounting = node.begin(second);
  await site.plane.clock.advance(0);
  t.true(await node.volumes.release(first.metadata!.uid!));
  await site.plane.clock.advance(2000);
  await mounting;
  const uids = {ONE: first.metadata!.uid, TWO: second.metadata!.uid};
  t.deepEqual(site.calls(uids), [`NodeUnpublishVolume ${target('ONE')}`, `NodePublishVolume ${target('TWO')}`]);
});

test('two pods with different labels cannot have a volume at once, which the second is told', async t => {
  await using site = await aLabelledSite();
  const meter = new MetricsRegistry();
  await using node = await aNode(site, {gates, meter});
  const [first, second] = [await aPod(site, 'one', one), await aPod(site, 'two', two)];
  await node.mount(first);
  const conflict = `conflicting SELinux labels of volume pv-c: "${labelOf(one)}" and "${labelOf(two)}"`;
  await t.throwsAsync(node.mount(second), {
    message: `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ${conflict}`,
  });
  const kind = {volume_plugin: `${site.plane.naming.key('csi')}/disk.example.com`, access_mode: 'RWOP'};
  t.is(meter.value('volume_manager_selinux_volume_context_mismatch_errors_total', kind), 1);
  t.is(meter.value('volume_manager_selinux_volumes_admitted_total', kind), 1);
  t.is(site.driver.calls.filter(call => call.includes('Publish')).length, 1);
  t.true(await node.volumes.release(first.metadata!.uid!));
  await node.mount(second);
  t.deepEqual(flagsOf(site)[1], ['noatime', optionOf(two)]);
});

test('pods with different labels share a volume for several pods, which is counted as a warning', async t => {
  await using site = await aLabelledSite({accessModes: ['ReadWriteMany']});
  const meter = new MetricsRegistry();
  await using node = await aNode(site, {gates, meter});
  await node.mount(await aPod(site, 'one', one));
  await node.mount(await aPod(site, 'two', two));
  const kind = {volume_plugin: `${site.plane.naming.key('csi')}/disk.example.com`, access_mode: 'RWX'};
  t.is(meter.value('volume_manager_selinux_volume_context_mismatch_warnings_total', kind), 1);
  t.is(meter.value('volume_manager_selinux_volume_context_mismatch_errors_total', kind), undefined);
});

test('an agent that starts again finds the label of a mounted volume, and mounts it anew only with another', async t => {
  await using site = await aLabelledSite();
  const pod = await aPod(site, 'one', one);
  const uids = {ONE: pod.metadata!.uid};
  {
    await using node = await aNode(site);
    await node.mount(pod);
  }
  {
    await using node = await aNode(site);
    await node.mount(pod);
    t.deepEqual(site.calls(uids), [`NodeStageVolume ${globalMount}`, `NodePublishVolume ${target('ONE')}`]);
  }
  await using node = await aNode(site);
  site.host.isSelinuxEnabled = () => Promise.resolve(false);
  await node.mount(pod);
  t.deepEqual(site.calls(uids), [
    `NodeUnpublishVolume ${target('ONE')}`,
    `NodeUnstageVolume ${globalMount}`,
    `NodeStageVolume ${globalMount}`,
    `NodePublishVolume ${target('ONE')}`,
  ]);
  t.deepEqual(flagsOf(site), [['noatime'], ['noatime']]);
});
