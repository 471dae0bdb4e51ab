import {execFileSync} from 'node:child_process';
import {chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {gunzipSync} from 'node:zlib';
import test from 'ava';
import {parseAllDocuments} from 'yaml';
import type {PodTemplateSpec} from '#src/api/pod.js';
import {packageVersion} from '#src/api/version.js';
import {aDirectory} from '#test/cli/programs.js';

interface Image {
  readonly copies: readonly {readonly from: string; readonly to: string; readonly uid: number; readonly gid: number}[];
  readonly config: {
    readonly User: string;
    readonly Cmd: readonly string[];
    readonly Volumes: object;
    readonly Labels: Readonly<Record<string, string>>;
  };
}

const tool = async (file: string): Promise<unknown> => import(pathToFileURL(resolve('tools/image', file)).href);
const {readContainerfile} = (await tool('containerfile.mjs')) as {readContainerfile: (text: string) => Image};
const {tarOf} = (await tool('tar.mjs')) as {tarOf: (entries: readonly object[], seconds: number) => Buffer};
const {archiveOf} = (await tool('archive.mjs')) as {
  archiveOf: (image: Image, options: object) => {readonly bytes: Buffer; readonly digest: string};
};

const {bin: packagePrograms} = JSON.parse(readFileSync('package.json', 'utf8')) as {readonly bin: Readonly<Record<string, string>>};

/** Unpacks an archive with the tar of this machine. */
const unpacked = (bytes: Buffer): string => {
  const folder = mkdtempSync(join(aDirectory(), 'unpacked-'));
  execFileSync('tar', ['-x', '-C', folder], {input: bytes});
  return folder;
};
const listed = (bytes: Buffer): readonly string[] =>
  execFileSync('tar', ['-tv', '--numeric-owner', '--full-time', '--utc'], {
    input: bytes,
    encoding: 'utf8',
    env: {...process.env, TZ: 'UTC'},
  })
    .trim()
    .split('\n')
    .map(line => line.replaceAll(/ +/g, ' '));
const json = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

test('archives have owners, modes, links, long paths and one time', t => {
  const long = `${'a'.repeat(60)}/${'b'.repeat(60)}/c`;
  const bytes = tarOf(
    [
      {path: 'data/', type: 'directory', mode: 0o1777, uid: 65_532, gid: 7},
      {path: 'data/link', type: 'link', mode: 0o777, target: 'other'},
      {path: long, type: 'file', mode: 0o644, content: 'x'.repeat(513)},
    ],
    61,
  );

  t.deepEqual(listed(bytes), [
    'drwxrwxrwt 65532/7 0 1970-01-01 00:01:01 data/',
    'lrwxrwxrwx 0/0 0 1970-01-01 00:01:01 data/link -> other',
    `-rw-r--r-- 0/0 513 1970-01-01 00:01:01 ${long}`,
  ]);
  t.is(readFileSync(join(unpacked(bytes), long), 'utf8'), 'x'.repeat(513));
  t.throws(() => tarOf([{path: 'd'.repeat(101), type: 'file', mode: 0o644, content: ''}], 0), {message: /^the path is too long/});
});

test('the image runs without root, on a base of its own, with the version of the package', t => {
  const {config, copies} = readContainerfile(readFileSync('deploy/Containerfile', 'utf8'));

  t.is(config.User, '65532:65532');
  t.deepEqual(copies, [
    {from: 'base/', to: '/', uid: 0, gid: 0},
    {from: 'programs/', to: '/', uid: 0, gid: 0},
    {from: 'data/', to: '/var/lib/plat/', uid: 65_532, gid: 65_532},
  ]);
  t.deepEqual(config.Volumes, {'/var/lib/plat': {}});
  t.like(config.Labels, {'org.opencontainers.image.version': packageVersion, 'org.opencontainers.image.licenses': 'Apache-2.0'});
  t.deepEqual(config.Cmd.slice(0, 2), ['plat', 'up']);
});

const containerIn = (file: string) => {
  const [document] = parseAllDocuments(readFileSync(join('manifests', file), 'utf8'));
  const {spec} = (document!.toJS() as {readonly spec: {readonly template: PodTemplateSpec}}).spec.template;
  return {user: spec!.securityContext, container: spec!.containers[0]!};
};

test('the manifests run programs of the image as its user, on its folder of data', t => {
  const {config} = readContainerfile(readFileSync('deploy/Containerfile', 'utf8'));
  for (const file of ['control-plane/statefulset.yaml', 'controllers-only/deployment.yaml']) {
    const {user, container} = containerIn(file);

    t.is(`${user?.runAsUser}:${user?.runAsGroup}`, config.User);
    t.true(Object.hasOwn(packagePrograms, container.command![0]!), file);
    t.true(container.securityContext?.readOnlyRootFilesystem);
    const data = container.args!.find(arg => arg.startsWith('--data-dir='))?.slice('--data-dir='.length);
    t.deepEqual(data === undefined ? [] : [data], file.startsWith('control-plane') ? Object.keys(config.Volumes) : []);
    t.is(
      container.volumeMounts!.some(({mountPath}) => mountPath === data),
      data !== undefined,
    );
  }
});

test('an instruction or a base that is not known is refused', t => {
  t.throws(() => readContainerfile('FROM debian'), {message: 'FROM debian: only scratch is known'});
  t.throws(() => readContainerfile('FROM scratch\nRUN make'), {message: 'unknown instruction: RUN make'});
});

test('the archive of an image has a layer for each copy, and is the same for the same files', t => {
  const context = aDirectory();
  for (const name of ['base/tmp', 'data']) mkdirSync(join(context, name), {recursive: true});
  chmodSync(join(context, 'base/tmp'), 0o1777);
  writeFileSync(join(context, 'base/program'), 'code', {mode: 0o755});
  symlinkSync('program', join(context, 'base/alias'));
  const image = readContainerfile('FROM scratch\nCOPY base/ /\nCOPY --chown=5:6 data/ /var/lib/a/\nENV A=b\nUSER 5:6\n');
  const options = {context, name: 'localhost/a:1', arch: 'x64', seconds: 60};
  const {bytes, digest} = archiveOf(image, options);
  const folder = unpacked(bytes);
  const blob = ({digest: of}: {readonly digest: string}) => join(folder, 'blobs', of.replace(':', '/'));
  const [described] = (json(join(folder, 'index.json')) as {manifests: [{digest: string; annotations: object}]}).manifests;
  const {config, layers} = json(blob(described)) as {config: {digest: string}; layers: {digest: string}[]};

  t.is(described.digest, digest);
  t.deepEqual(described.annotations, {'org.opencontainers.image.ref.name': 'localhost/a:1'});
  t.like(json(blob(config)), {architecture: 'amd64', os: 'linux', created: '1970-01-01T00:01:00Z', config: {User: '5:6', Env: ['A=b']}});
  t.deepEqual(
    layers.map(layer => listed(gunzipSync(readFileSync(blob(layer))))),
    [
      [
        'lrwxrwxrwx 0/0 0 1970-01-01 00:01:00 alias -> program',
        '-rwxr-xr-x 0/0 4 1970-01-01 00:01:00 program',
        'drwxrwxrwt 0/0 0 1970-01-01 00:01:00 tmp/',
      ],
      ['drwxr-xr-x 5/6 0 1970-01-01 00:01:00 var/lib/a/'],
    ],
  );
  t.deepEqual(json(join(folder, 'manifest.json')), [
    {
      Config: `blobs/${config.digest.replace(':', '/')}`,
      RepoTags: ['localhost/a:1'],
      Layers: layers.map(layer => `blobs/${layer.digest.replace(':', '/')}`),
    },
  ]);
  t.deepEqual(archiveOf(image, options), {bytes, digest});
});
