import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {MountPoint} from '#src/platlet/host/host.js';
import {isSelinuxEnabled, keepsLabels} from '#src/platlet/host/selinux.js';
import type {MountConfig} from '#src/platlet/runtime/configs.js';
import {aPlaneForNodes, run} from '#test/platlet/agent.js';
import {aClaim, aCsiNode, aDriverObject, podWithClaim} from '#test/platlet/csi/node.js';
import {aSite, csi} from '#test/platlet/csi/site.js';
import {RecordingRuntime} from '#test/platlet/flags/recording-runtime.js';
import {aWholeAgent, memoryMachine} from '#test/platlet/flags/whole-agent.js';
import {folderHost} from '#test/platlet/host.js';
import {aWorld, noEnvironment, podWith} from './world.js';

const enabled = (): Promise<boolean> => Promise.resolve(true);

/** The paths of mounts that the runtime is to relabel. */
const relabelled = (mounts: readonly MountConfig[]): readonly string[] =>
  mounts.filter(({selinuxRelabel}) => selinuxRelabel).map(({containerPath}) => containerPath);

/** Returns the paths of a pod's container that are relabelled, by an agent on a machine with or without SELinux. */
const relabelledBy = async (hasSelinux: boolean): Promise<readonly string[]> => {
  using host = memoryMachine();
  if (hasSelinux) host.isSelinuxEnabled = enabled;
  mkdirSync(join(host.root, 'data'));
  await using plane = await aPlaneForNodes();
  const runtime = new RecordingRuntime(plane.clock);
  await using _agent = await aWholeAgent([], {plane, host, runtime});
  await plane.clock.advance(2_000);
  const client = plane.client();
  await client.resource(kinds.nodes).patch('node', 'merge', {spec: {taints: null}});
  const metadata = {name: 'files', namespace: 'default'};
  await client.resource(kinds.configMaps).create({metadata, data: {a: '1'}});
  await client.resource(kinds.secrets).create({metadata, data: {a: ''}});
  await plane.clock.advance(1_000);
  const volumes = [
    {name: 'empty', emptyDir: {}},
    {name: 'memory', emptyDir: {medium: 'Memory'}},
    {name: 'config', configMap: {name: 'files'}},
    {name: 'secret', secret: {secretName: 'files'}},
    {name: 'downward', downwardAPI: {items: [{path: 'name', fieldRef: {fieldPath: 'metadata.name'}}]}},
    {name: 'projected', projected: {sources: [{configMap: {name: 'files'}}]}},
    {name: 'host', hostPath: {path: join(host.root, 'data')}},
  ];
  const volumeMounts = volumes.map(({name}) => ({name, mountPath: `/${name}`}));
  const containers = [{name: 'app', image: 'app', volumeMounts, terminationMessagePath: '/message'}];
  await run(plane, 'pod', {automountServiceAccountToken: false, volumes, containers} as never);
  await plane.clock.advance(5_000);
  const [container] = runtime.containerConfigs;
  return relabelled(container!.mounts);
};

test('the runtime relabels volumes that the agent makes, the hosts file and the termination message, where SELinux is enabled', async t => {
  const own = ['/empty', '/memory', '/config', '/secret', '/downward', '/projected'];
  t.deepEqual(await relabelledBy(true), [...own, '/etc/hosts', '/message']);
  t.deepEqual(await relabelledBy(false), []);
});

test('a local volume is relabelled unless it is read-only', async t => {
  for (const isReadonly of [false, true]) {
    const host = folderHost();
    host.isSelinuxEnabled = enabled;
    const source = join(host.root, 'disk');
    mkdirSync(source);
    const persistent = {metadata: {name: 'disk'}, spec: {local: {path: source}}};
    using world = aWorld({claims: {of: async () => ({persistent, isReadonly})}}, host);
    const container = {name: 'app', image: 'app', volumeMounts: [{name: 'v', mountPath: '/v'}]};
    const pod = podWith([{name: 'v', persistentVolumeClaim: {claimName: 'c'}}], {containers: [container]}, {uid: 'u'});
    // An agent that starts again finds it mounted.
    for (let start = 0; start < 2; start++) {
      await world.mount(pod);
      t.deepEqual(relabelled(await world.mounts.mountsOf(pod, container, noEnvironment)), isReadonly ? [] : ['/v']);
    }
  }
});

test('a volume of a driver is relabelled if its file system keeps labels, and pods may write to it', async t => {
  for (const {option, readOnly, expected} of [
    {option: 'seclabel', readOnly: false, expected: ['/data']},
    {option: 'seclabel', readOnly: true, expected: []},
    {option: 'noatime', readOnly: false, expected: []},
  ]) {
    await using site = await aSite();
    const {plane, host, driver} = site;
    host.isSelinuxEnabled = enabled;
    host.mounts = () => Promise.resolve(host.mounted.map(mount => ({...mount, options: [option]})));
    await aDriverObject(plane, csi.driver);
    await aClaim(plane, 'c', csi);
    const volumes = [{name: 'data', persistentVolumeClaim: {claimName: 'c', readOnly}}];
    const pod = await podWithClaim(plane, 'one', 'c', {volumes});
    await using node = await aCsiNode(plane, host);
    await node.register(driver);
    await node.mount(pod);
    t.deepEqual(relabelled(await node.mounts.mountsOf(pod, pod.spec!.containers[0]!, new Map())), expected);
  }
});

test('a mount fails where it cannot be seen whether its file system keeps labels', async t => {
  const mount = (path: string, options: readonly string[]): MountPoint => ({
    path,
    options,
    type: 'ext4',
    root: '/',
    device: '0:1',
    source: 'disk',
    isShared: false,
  });
  const table = [mount('/a', ['seclabel']), mount('/a/b', ['rw']), mount('/ab', ['seclabel'])];
  const host = {isSelinuxEnabled: enabled, mounts: () => Promise.resolve(table)};
  t.true(await keepsLabels(host, '/a/c'));
  t.false(await keepsLabels(host, '/a/b/c'));
  await t.throwsAsync(keepsLabels(host, '/abc'), {message: 'cannot find mount point for "/abc"'});
  t.false(await keepsLabels({...host, isSelinuxEnabled: () => Promise.resolve(false)}, '/abc'));
});

test('SELinux is enabled if its file system can be written to and a policy is loaded', t => {
  const selinuxfs = (...options: string[]) => [{type: 'selinuxfs', options}];
  t.true(isSelinuxEnabled(selinuxfs('rw', 'noexec'), 'system_u:system_r:kernel_t:s0\0'));
  t.true(isSelinuxEnabled(selinuxfs('rw'), ''));
  t.false(isSelinuxEnabled(selinuxfs('rw'), 'kernel\0'));
  t.false(isSelinuxEnabled(selinuxfs('ro'), ''));
  t.false(isSelinuxEnabled([{type: 'ext4', options: ['rw']}], ''));
});
