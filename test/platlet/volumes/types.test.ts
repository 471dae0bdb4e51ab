import {chmodSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {memoryVolumeBytes} from '#src/platlet/volumes/empty-dir.js';
import {checkHostPath} from '#src/platlet/volumes/host-path.js';
import {nestedMountPoints} from '#src/platlet/volumes/payload-volumes.js';
import {commonUser} from '#src/platlet/volumes/payloads.js';
import {folderHost, put, textOf} from '#test/platlet/host.js';
import {aPod} from '#test/platlet/pod/objects.js';
import {aWorld, podWith} from './world.js';

test('an empty folder is open to all, and keeps what is written', async t => {
  using world = aWorld();
  await world.mount(podWith([{name: 'v', emptyDir: {}}]));
  const path = world.at('empty-dir');
  t.is((await world.host.status(path))?.mode, 0o777);
  await put(world.host, join(path, 'file'), 'x');
  chmodSync(path, 0o700);
  using again = aWorld({}, world.host);
  await again.mount(podWith([{name: 'v', emptyDir: {}}]));
  t.is(await textOf(world.host, join(path, 'file')), 'x');
  t.is((await world.host.status(path))?.mode, 0o700);
});

test('an empty folder in memory is mounted once, with a size', async t => {
  using world = aWorld();
  const pod = podWith([{name: 'v', emptyDir: {medium: 'Memory', sizeLimit: '1Mi'}}]);
  await world.mount(pod);
  using again = aWorld({}, world.host);
  await again.mount(pod);
  const path = world.at('empty-dir');
  t.deepEqual(world.host.mounted, [
    {path, type: 'tmpfs', root: 'tmpfs', device: '0:1', source: 'tmpfs', options: ['size=1048576'], isShared: false},
  ]);
});

const limited = (memory?: string) => ({name: 'a', ...(memory ? {resources: {limits: {memory}}} : {})});
const sizes: [title: string, containers: object[], sizeLimit: string | undefined, bytes: number][] = [
  ['that of the node', [limited()], undefined, 1000],
  ['its limit', [limited()], '500', 500],
  ['the limits of all containers', [limited('300'), limited('400')], undefined, 700],
  ['that of the node if a container has no limit', [limited('300'), limited()], undefined, 1000],
];

for (const [title, containers, sizeLimit, bytes] of sizes)
  test(`the size of a volume in memory is ${title}`, t => {
    t.is(memoryVolumeBytes(aPod({containers: containers as never}), sizeLimit, 1000), bytes);
  });

test('huge pages are mounted by the size that the pod has', async t => {
  using world = aWorld();
  const containers = [{name: 'app', volumeMounts: [{name: 'v', mountPath: '/v'}], resources: {limits: {'hugepages-2Mi': '4Mi'}}}];
  await world.mount(podWith([{name: 'v', emptyDir: {medium: 'HugePages'}}], {containers}));
  t.deepEqual(world.host.mounted[0]?.options, ['pagesize=2097152', 'size=4194304']);
});

test('a path of the host is what its type says, or is made', async t => {
  using host = folderHost();
  const path = (name: string): string => join(host.root, name);
  await put(host, path('file'));
  await host.makeFolder(path('folder'), 0o700);
  const server = createServer().listen(path('socket'));
  await new Promise(resolve => server.once('listening', resolve));
  const rows: [name: string, type: string, error?: string][] = [
    ['none', ''],
    ['none', 'Directory', 'is not a directory'],
    ['none', 'File', 'is not a file'],
    ['none', 'Socket', 'is not a socket file'],
    ['none', 'CharDevice', 'is not a character device'],
    ['none', 'BlockDevice', 'is not a block device'],
    ['file', 'File'],
    ['file', 'FileOrCreate'],
    ['file', 'Directory', 'is not a directory'],
    ['folder', 'Directory'],
    ['folder', 'File', 'is not a file'],
    ['folder', 'FileOrCreate', 'is not a file'],
    ['socket', 'Socket'],
    ['new/folder', 'DirectoryOrCreate'],
    ['new/file', 'FileOrCreate'],
  ];
  for (const [name, type, error] of rows) {
    const check = checkHostPath(host, path(name), type);
    if (error) await t.throwsAsync(check, {message: `hostPath type check failed: ${path(name)} ${error}`});
    else await t.notThrowsAsync(check, `${name} ${type}`);
  }
  t.like(await host.status(path('new/folder')), {kind: 'folder', mode: 0o755});
  t.like(await host.status(path('new/file')), {kind: 'file', mode: 0o644});
  await t.notThrowsAsync(checkHostPath(host, '/dev/null', 'CharDevice'));
  await t.throwsAsync(checkHostPath(host, path('missing/file'), 'FileOrCreate'), {message: /no such file or directory/});
  await t.throwsAsync(checkHostPath(host, '/a/../b'), {message: 'path "/a/../b" must not contain \'..\''});
  await new Promise(resolve => server.close(resolve));
});

const filesOf = async (world: ReturnType<typeof aWorld>, plugin: string): Promise<Record<string, string>> => {
  const names = (await world.host.list(world.at(plugin))).filter(name => !name.startsWith('..'));
  return Object.fromEntries(await Promise.all(names.map(async name => [name, await textOf(world.host, join(world.at(plugin), name))])));
};

test('a config map has a file for each key, and changes as it does', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {a: '1', b: '2'}, binaryData: {bin: 'AP8='}});
  const pod = podWith([{name: 'v', configMap: {name: 'c'}}]);
  await world.mount(pod);
  t.deepEqual(Object.keys(await filesOf(world, 'configmap')), ['a', 'b', 'bin']);
  t.is((await world.host.status(join(world.at('configmap'), 'a')))?.mode, 0o644);
  t.is(await world.host.linkTarget(join(world.at('configmap'), 'a')), '..data/a');
  world.objects.configMaps.set('default/c', {data: {a: '3'}});
  await world.clock.advance(1_000);
  await world.mount(pod);
  t.deepEqual(await filesOf(world, 'configmap'), {a: '3'});
  const hidden = (await world.host.list(world.at('configmap'))).filter(name => name.startsWith('..'));
  t.regex(hidden.join(' '), /^\.\.2026_01_01_00_00_01\.\d{9} \.\.data$/);
  await world.clock.advance(1_000);
  await world.mount(pod);
  t.deepEqual(
    (await world.host.list(world.at('configmap'))).filter(name => name.startsWith('..')),
    hidden,
  );
});

test('items choose keys, paths and modes', async t => {
  using world = aWorld();
  world.objects.secrets.set('default/s', {data: {a: Buffer.from('x').toString('base64'), b: ''}});
  await world.mount(
    podWith([
      {
        name: 'v',
        secret: {
          secretName: 's',
          defaultMode: 0o400,
          items: [
            {key: 'a', path: 'deep/er/a'},
            {key: 'b', path: 'b', mode: 0o440},
          ],
        },
      },
    ]),
  );
  t.is(await textOf(world.host, join(world.at('secret'), 'deep/er/a')), 'x');
  t.is((await world.host.status(join(world.at('secret'), 'deep/er/a')))?.mode, 0o400);
  t.is((await world.host.status(join(world.at('secret'), 'b')))?.mode, 0o440);
  t.like(world.host.mounted, [{path: world.at('secret'), type: 'tmpfs'}]);
});

test('the downward API has labels, fields and resources as files', async t => {
  using world = aWorld();
  const item = (path: string, fieldPath: string) => ({path, fieldRef: {fieldPath}});
  const items = [
    item('labels', 'metadata.labels'),
    item('name', 'metadata.name'),
    {path: 'cpu', resourceFieldRef: {containerName: 'app', resource: 'limits.cpu'}},
  ];
  const pod = (labels: Record<string, string>): Pod => podWith([{name: 'v', downwardAPI: {items}}], {}, {labels});
  await world.mount(pod({b: 'say "x"', a: '1'}));
  t.deepEqual(await filesOf(world, 'downward-api'), {labels: 'a="1"\nb="say \\"x\\""', name: 'pod', cpu: '4'});
  await world.mount(pod({a: '2'}));
  t.is((await filesOf(world, 'downward-api'))['labels'], 'a="2"');
});

test('a projected volume has the files of all sources, later ones over earlier ones', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {a: 'config', same: '1'}});
  world.objects.secrets.set('default/s', {data: {same: Buffer.from('2').toString('base64')}});
  const sources = [
    {configMap: {name: 'c'}},
    {secret: {name: 's'}},
    {configMap: {name: 'none', optional: true}},
    {downwardAPI: {items: [{path: 'uid', fieldRef: {fieldPath: 'metadata.uid'}}]}},
    {serviceAccountToken: {path: 'token', audience: 'me', expirationSeconds: 600}},
  ];
  await world.mount(podWith([{name: 'v', projected: {sources, defaultMode: 0o440}}]));
  t.deepEqual(await filesOf(world, 'projected'), {a: 'config', same: '2', uid: 'u', token: 'token for me 600'});
  t.is((await world.host.status(join(world.at('projected'), 'token')))?.mode, 0o440);
});

test('a token is for the user of all containers alone', async t => {
  using world = aWorld();
  const sources = [{serviceAccountToken: {path: 'token'}}];
  await world.mount(podWith([{name: 'v', projected: {sources}}], {securityContext: {runAsUser: 1000}}));
  const status = await world.host.status(join(world.at('projected'), 'token'));
  t.is(status?.mode, 0o600);
  t.deepEqual([...world.host.owners.values()], ['1000:0']);
  t.is(commonUser(aPod({containers: [{name: 'a', securityContext: {runAsUser: 1}}, {name: 'b'}]})), undefined);
});

test('the group of a pod owns its files, and may write where that is allowed', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {a: '1'}});
  const pod = podWith(
    [
      {name: 'v', configMap: {name: 'c', defaultMode: 0o400}},
      {name: 'e', emptyDir: {}},
      {name: 'h', hostPath: {path: '/tmp'}},
    ],
    {securityContext: {fsGroup: 7}},
  );
  await world.mount(pod);
  t.like(await world.host.status(join(world.at('configmap'), 'a')), {mode: 0o440});
  t.is((await world.host.status(world.at('empty-dir', 'e')))?.mode, 0o2777);
  t.is(world.host.owners.get(world.at('empty-dir', 'e')), '0:7');
  t.true([...world.host.owners.keys()].every(path => path !== '/tmp'));
});

test('points for other volumes are folders in a volume of files', async t => {
  using world = aWorld();
  world.objects.configMaps.set('default/c', {data: {a: '1'}});
  const volumeMounts = [
    {name: 'v', mountPath: '/etc/app'},
    {name: 'e', mountPath: '/etc/app/cache/big'},
  ];
  const pod = podWith(
    [
      {name: 'v', configMap: {name: 'c'}},
      {name: 'e', emptyDir: {}},
    ],
    {containers: [{name: 'app', volumeMounts}]},
  );
  await world.mount(pod);
  t.deepEqual(nestedMountPoints(pod, 'v'), ['cache/big']);
  t.is((await world.host.status(join(world.at('configmap'), 'cache/big')))?.kind, 'folder');
});
