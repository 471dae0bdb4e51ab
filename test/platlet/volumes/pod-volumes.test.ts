import {symlinkSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {parseMounts} from '#src/platlet/host/mount-table.js';
import {MountTimeout} from '#src/platlet/pod/ports.js';
import {checkPath} from '#src/platlet/volumes/atomic-writer.js';
import {giveToGroup} from '#src/platlet/volumes/ownership.js';
import {put, textOf} from '#test/platlet/host.js';
import {aWorld, noEnvironment, podWith} from './world.js';

test('a pod waits for its volumes, which are tried again with backoff', async t => {
  using world = aWorld();
  const mounted = world.mount(
    podWith([
      {name: 'v', configMap: {name: 'c'}},
      {name: 'e', emptyDir: {}},
    ]),
  );
  mounted.catch(() => {});
  await world.clock.drain();
  t.deepEqual(world.events, ['FailedMount: MountVolume.SetUp failed for volume "v" : configmap "c" not found']);
  for (const [ms, tries] of [
    [499, 1],
    [1, 2],
    [999, 2],
    [1, 3],
    [2_000, 4],
  ] as const) {
    await world.clock.advance(ms);
    t.is(world.events.length, tries);
  }
  world.objects.configMaps.set('default/c', {data: {a: '1'}});
  await world.clock.advance(4_000);
  await mounted;
  t.is(await textOf(world.host, join(world.at('configmap'), 'a')), '1');
});

test('a pod fails at once if volumes cannot be used, with all that is known by then', async t => {
  const problems = new Map([
    ['claim', 'error processing PVC default/c: PVC is not bound'],
    ['b', 'error processing PVC default/b: PVC is being deleted'],
  ]);
  using world = aWorld({
    claims: {
      async of(_, {name}) {
        const problem = problems.get(name);
        if (problem) throw new Error(problem);
        if (name !== 'b') return undefined;
        return {persistent: {metadata: {name: 'pv-b'}, spec: {hostPath: {path: '/'}}}, isReadonly: false};
      },
    },
  });
  const pod = podWith([
    {name: 'v', secret: {secretName: 's'}},
    {name: 'claim', persistentVolumeClaim: {claimName: 'c'}},
    {name: 'b', persistentVolumeClaim: {claimName: 'b'}},
    {name: 'e', emptyDir: {}},
  ]);
  const failing = t.throwsAsync(world.mount(pod), {
    message:
      'unmounted volumes=[b claim v], unattached volumes=[], failed to process volumes=[b claim]: error processing PVC default/b: PVC is being deleted; error processing PVC default/c: PVC is not bound',
  });
  await world.clock.advance(400);
  await failing;
  t.true(world.events.every(event => event.includes('"v"')));
  // They are looked at again when the pod is synced, not before.
  problems.delete('b');
  const again = t.throwsAsync(world.mount(pod), {
    message: /volumes=\[claim v\].*volumes=\[claim\]: error processing PVC default\/c: PVC is not bound$/,
  });
  await world.clock.advance(400);
  await again;
});

test('a pod waits two minutes for volumes that cannot be mounted', async t => {
  using world = aWorld();
  const pod = podWith([{name: 'v', secret: {secretName: 's'}}]);
  const waiting = t.throwsAsync(world.mount(pod), {
    instanceOf: MountTimeout,
    message: 'unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: context deadline exceeded',
  });
  await world.clock.advance(123_000);
  await waiting;
});

test('what cannot be refreshed stays as it is', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {a: '1'}});
  const pod = podWith([{name: 'v', configMap: {name: 'c'}}]);
  await world.mount(pod);
  world.objects.configMaps.clear();
  await world.mount(pod);
  t.is(await textOf(world.host, join(world.at('configmap'), 'a')), '1');
  t.deepEqual(world.events, ['FailedMount: MountVolume.SetUp failed for volume "v" : configmap "c" not found']);
});

test('only volumes that containers use are mounted, and unknown types are refused', async t => {
  using world = aWorld();
  const pod = podWith([{name: 'v', nfs: {server: 's', path: '/'}}]);
  const others = podWith(
    [
      {name: 'g', gitRepo: {repository: 'r'}},
      {name: 'r', rbd: {image: 'i', monitors: []}},
    ],
    {},
    {uid: 'w'},
  );
  await world.mount({...pod, spec: {...pod.spec!, containers: [{name: 'app'}]}});
  for (const refused of [pod, others]) void world.mount(refused).catch(() => {});
  await world.clock.drain();
  t.deepEqual(world.events.sort(), [
    'FailedMount: MountVolume.SetUp failed for volume "g" : git-repo volume plugin has been disabled',
    'FailedMount: MountVolume.SetUp failed for volume "r" : no volume plugin matched name: rbd',
    'FailedMount: MountVolume.SetUp failed for volume "v" : nfs volumes are mounted by storage drivers only: there is no nfs client in this node agent',
  ]);
});

test('mounts are gone before folders are removed', async t => {
  using world = aWorld();
  world.objects.secrets.set('default/s', {data: {a: ''}});
  const pod = podWith([
    {name: 'v', secret: {secretName: 's'}},
    {name: 'e', emptyDir: {medium: 'Memory'}},
  ]);
  await world.mount(pod);
  t.is(world.host.mounted.length, 2);
  const unmount = world.host.unmount;
  world.host.unmount = async () => {
    throw new Error('busy');
  };
  t.false(await world.volumes.release('u'));
  t.is((await world.host.list(world.host.folders.volumes('u'))).length, 2);
  world.host.unmount = unmount;
  t.true(await world.volumes.release('u'));
  t.deepEqual(world.host.mounted, []);
  t.deepEqual(await world.host.list(world.host.folders.pod('u')), []);
  t.deepEqual(world.forgotten, ['u']);
});

test('what a former agent left of pods that are gone is removed', async t => {
  using before = aWorld();
  await before.mount(podWith([{name: 'e', emptyDir: {medium: 'Memory'}}]));
  await before.mount(podWith([{name: 'e', emptyDir: {}}], {}, {uid: 'kept'}));
  using world = aWorld({}, before.host);
  t.deepEqual(await world.folders.pods(), ['kept', 'u']);
  await world.volumes.sweep(uid => uid === 'kept');
  t.deepEqual(await world.host.list(world.host.folders.pods), ['kept']);
  t.deepEqual(world.host.mounted, []);
});

const mountOf = async (world: ReturnType<typeof aWorld>, pod: Pod, environment = noEnvironment) =>
  (await world.mounts.mountsOf(pod, pod.spec!.containers[0]!, environment))[0]!;

const mounting = (mount: object) => ({containers: [{name: 'app', volumeMounts: [{name: 'v', mountPath: '/v', ...mount}]}]});

test('a mount is as the container and its volume want it', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {}});
  const folder = podWith([{name: 'v', emptyDir: {}}], mounting({mountPropagation: 'HostToContainer', readOnly: true}));
  await world.mount(folder);
  t.deepEqual(await mountOf(world, folder), {
    containerPath: '/v',
    hostPath: world.at('empty-dir'),
    readonly: true,
    propagation: 'host-to-container',
  });
  const files = podWith([{name: 'v', configMap: {name: 'c'}}], {}, {uid: 'w'});
  await world.mount(files);
  t.true((await mountOf(world, files)).readonly);
  await t.throwsAsync(mountOf(world, podWith([{name: 'v', emptyDir: {}}], {}, {uid: 'x'})), {
    message: 'cannot find volume "v" to mount into container "app"',
  });
});

test('a mount is read-only with all below only where the runtime can', async t => {
  const pod = (recursiveReadOnly: string, fields: object = {}) =>
    podWith([{name: 'v', emptyDir: {}}], mounting({readOnly: true, recursiveReadOnly, ...fields}));
  using world = aWorld();
  await world.mount(pod('Enabled'));
  await t.throwsAsync(mountOf(world, pod('Enabled')), {
    message:
      'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime',
  });
  t.is((await mountOf(world, pod('IfPossible'))).recursiveReadonly, undefined);
  using able = aWorld({mountsRecursively: async () => true});
  await able.mount(pod('Enabled'));
  t.true((await mountOf(able, pod('IfPossible'))).recursiveReadonly);
  await t.throwsAsync(mountOf(able, pod('Enabled', {readOnly: false})), {
    message: /requested recursive read-only mode, but it is not read-only$/,
  });
  await t.throwsAsync(mountOf(able, pod('Enabled', {mountPropagation: 'HostToContainer'})), {
    message: /but it is not compatible with propagation "HostToContainer"$/,
  });
});

test('an image is mounted by the runtime, whole or in part', async t => {
  using world = aWorld();
  const pod = (mount: object = {}) => podWith([{name: 'v', image: {reference: 'files'}}], mounting(mount));
  await world.mount(pod());
  const image = {image: 'id', userSpecified: 'files'};
  const mounts = (of: Pod) => world.mounts.mountsOf(of, of.spec!.containers[0]!, noEnvironment, new Map([['v', image]]));
  t.deepEqual(await mounts(pod()), [
    {containerPath: '/v', hostPath: '', image: {image, subPath: ''}, readonly: true, propagation: 'private'},
  ]);
  t.is((await mounts(pod({subPath: 'a/b'})))[0]?.image?.subPath, 'a/b');
  await t.throwsAsync(mountOf(world, pod()), {message: 'path is empty *image.imagePlugin'});
  t.true(await world.volumes.release('u'));
});

test('a part of a volume is mounted from an open file, and made if it is missing', async t => {
  using world = aWorld();
  const pod = podWith([{name: 'v', emptyDir: {}}], mounting({subPath: 'new/folder'}));
  await world.mount(pod);
  const {hostPath} = await mountOf(world, pod);
  t.is(hostPath, join(world.host.folders.pod('u'), 'volume-subpaths/v/app/0'));
  t.like(await world.host.status(join(world.at('empty-dir'), 'new/folder')), {kind: 'folder', mode: 0o777});
  t.regex(world.host.mounted[0]!.source, new RegExp(`^/proc/${process.pid}/fd/\\d+$`));
  await mountOf(world, pod);
  t.is(world.host.mounted.length, 1);
  await world.volumes.release('u');
  t.deepEqual(world.host.mounted, []);
});

test('a part may be a file, also one of a config map, or named by the environment', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {a: '1'}});
  const pod = podWith([{name: 'v', configMap: {name: 'c'}}], mounting({subPathExpr: '$(KEY)'}));
  await world.mount(pod);
  const {hostPath} = await mountOf(world, pod, new Map([['KEY', 'a']]));
  t.is((await world.host.status(hostPath))?.kind, 'file');
  await t.throwsAsync(mountOf(world, pod), {message: 'failed to expand subPathExpr "$(KEY)" for volumeMount "v" of container "app"'});
});

const escapes: [title: string, link: string, subPath: string][] = [
  ['a link to the root', '/', 'link/etc'],
  ['a link at the end', '/etc/passwd', 'link'],
  ['a link upwards', '../..', 'link/configmap'],
  ['a link to nothing', '/none/here', 'link/new'],
];

for (const [title, link, subPath] of escapes)
  test(`a part of a volume does not lead out of it by ${title}`, async t => {
    using world = aWorld();
    const pod = podWith([{name: 'v', emptyDir: {}}], mounting({subPath}));
    await world.mount(pod);
    symlinkSync(link, join(world.at('empty-dir'), 'link'));
    const error = await t.throwsAsync(mountOf(world, pod), {message: 'failed to prepare subPath for volumeMount "v" of container "app"'});
    t.is((error as {reason?: string}).reason, 'CreateContainerConfigError');
    t.deepEqual(world.host.mounted, []);
  });

test('a part by a link within the volume is mounted', async t => {
  using world = aWorld();
  const pod = podWith([{name: 'v', emptyDir: {}}], mounting({subPath: 'link/x'}));
  await world.mount(pod);
  await put(world.host, join(world.at('empty-dir'), 'real', 'x'), '1');
  symlinkSync('real', join(world.at('empty-dir'), 'link'));
  t.is((await world.host.status((await mountOf(world, pod)).hostPath))?.kind, 'file');
});

test('a part by a path that is none is refused', async t => {
  using world = aWorld();
  for (const [subPath, message] of [
    ['/etc', 'error SubPath "/etc" must not be an absolute path'],
    ['a/../../b', 'unable to provision SubPath "a/../../b": must not contain \'..\''],
  ] as const) {
    const pod = podWith([{name: 'v', emptyDir: {}}], mounting({subPath}));
    await world.mount(pod);
    await t.throwsAsync(mountOf(world, pod), {message});
  }
});

test('an open file stays the same one when its name becomes a link', async t => {
  using world = aWorld();
  const {host} = world;
  await put(host, join(host.root, 'v/folder/file'), 'mine');
  using held = await host.hold(join(host.root, 'v'), ['folder']);
  await host.rename(join(host.root, 'v/folder'), join(host.root, 'v/other'));
  symlinkSync('/etc', join(host.root, 'v/folder'));
  t.deepEqual(await host.list(held.path), ['file']);
  await t.throwsAsync(host.hold(join(host.root, 'v'), ['folder', 'passwd']));
  await t.throwsAsync(host.hold(join(host.root, 'v'), ['..']));
});

test('files of volumes stay within them', t => {
  for (const path of ['', '/a', '../a', 'a/../b', '..data', '..']) t.throws(() => checkPath(path));
  for (const path of ['a', 'a/b', 'a..b', '.a']) t.notThrows(() => checkPath(path));
});

test('a group gets a volume whole, but a volume that has it already only on demand', async t => {
  using world = aWorld();
  const {host, clock} = world;
  const path = join(host.root, 'v');
  await put(host, join(path, 'sub/file'), '', 0o600);
  symlinkSync('/etc/passwd', join(path, 'link'));
  const request = {path, group: 7, isReadonly: false, onlyOnMismatch: false};
  await giveToGroup(host, clock, request);
  t.deepEqual([...host.owners.keys()].map(each => each.slice(path.length)).sort(), ['', '/link', '/sub', '/sub/file']);
  t.is((await host.status(join(path, 'sub/file')))?.mode, 0o660);
  t.is((await host.status(join(path, 'sub')))?.mode, 0o2775);
  host.owners.delete(join(path, 'sub/file'));
  await giveToGroup(host, clock, {...request, onlyOnMismatch: true});
  t.false(host.owners.has(join(path, 'sub/file')));
  await giveToGroup(host, clock, {...request, group: 8, onlyOnMismatch: true});
  t.is(host.owners.get(join(path, 'sub/file')), '0:8');
});

test('the table of mounts has blanks and backslashes', t => {
  const line = '36 35 98:0 /mnt1 /a\\040b\\134c rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue';
  t.deepEqual(parseMounts(`${line}\n\nnonsense\n`), [
    {
      path: '/a b\\c',
      root: '/mnt1',
      type: 'ext3',
      source: '/dev/root',
      options: ['rw', 'noatime', 'rw', 'errors=continue'],
      isShared: true,
      device: '98:0',
    },
  ]);
});
