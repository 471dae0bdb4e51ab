import {execFile, spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {packageVersion, release} from '#src/api/version.js';
import {aDirectory, Program} from '#test/cli/programs.js';

const execute = promisify(execFile);

const home = aDirectory();
const archive = `dist/release/plat-${packageVersion}-${process.platform}-${process.arch}-image.tar`;
const storage = ['--root', join(home, 'storage'), '--runroot', join(home, 'run'), '--storage-driver', 'vfs'];
const buildah = async (...args: readonly string[]): Promise<string> =>
  (
    await execute('buildah', [...storage, ...args], {
      env: {...process.env, BUILDAH_ISOLATION: 'chroot'},
      maxBuffer: 16 << 20,
      timeout: 90_000,
    })
  ).stdout.trim();

/** Returns why the image cannot be tried here; undefined if it can. */
const missing = (): string | undefined => {
  if (!existsSync(archive) || statSync(archive).mtimeMs < statSync('dist/bundle/plat.cjs').mtimeMs)
    return 'the image of a release is tried if it is newer than the bundles (make release-test)';
  if (process.getuid?.() !== 0) return 'unpacking an image needs root';
  return ['buildah', 'runc'].find(program => spawnSync(program, ['--version']).status !== 0)?.concat(' is not installed');
};
const problem = missing();
if (problem) console.log(`skipped: ${problem}`);
const there = problem ? test.skip : test;

interface Config {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

const configOf = async (image: string): Promise<Config> => {
  const {OCIv1} = JSON.parse(await buildah('inspect', '--type', 'image', image)) as {OCIv1: {config: Config}};
  const {Labels = {}, ...config} = OCIv1.config;
  return {...config, Labels: Object.fromEntries(Object.entries(Labels).filter(([name]) => !name.startsWith('io.buildah.')))};
};

interface RuntimeSpec {
  readonly process: object;
  readonly mounts: readonly object[];
}

let root: string;
let config: Config;
if (!problem) {
  test.before(async () => {
    await buildah('pull', `oci-archive:${archive}`);
    config = await configOf(`localhost/plat:${packageVersion}`);
    root = await buildah('mount', await buildah('from', '--pull-never', `localhost/plat:${packageVersion}`));
  });
}

/**
 * Writes what runc needs to run a program of the image, with a root file system that cannot be written and one folder
 * for data.
 */
const bundleOf = async (args: readonly string[], user: number, data?: string): Promise<string> => {
  const folder = join(aDirectory(), 'bundle');
  mkdirSync(folder);
  await execute('runc', ['spec', '--bundle', folder]);
  const spec = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as RuntimeSpec;
  const {Env: env, WorkingDir: cwd} = config;
  const mounts = data ? [{destination: '/var/lib/plat', type: 'bind', source: data, options: ['bind', 'rw']}] : [];
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      ...spec,
      root: {path: root, readonly: true},
      process: {...spec.process, terminal: false, rlimits: [], user: {uid: user, gid: user}, env, args, cwd},
      mounts: [...spec.mounts, ...mounts],
    }),
  );
  return folder;
};
const runc = (...args: readonly string[]): readonly string[] => ['--root', join(home, 'runc'), ...args];

there('buildah makes the same image from the Containerfile as the release has', async t => {
  await buildah('bud', '--tag', 'localhost/built', '--file', 'deploy/Containerfile', 'dist/image');

  t.deepEqual(await configOf('localhost/built'), config);
});

there('every program runs from the image as any user', async t => {
  for (const user of [65_532, 1234])
    for (const name of ['plat', 'plat-apiserver', 'plat-controller-manager', 'plat-scheduler', 'platlet']) {
      const bundle = await bundleOf([name, '--version'], user);
      const {stdout, stderr} = await execute('runc', runc('run', '--bundle', bundle, `${name}-${user}`));
      t.deepEqual([stdout, stderr], [`${name} v${release}-plat.${packageVersion}\n`, '']);
    }
});

there('the image runs a plane without root, whose root file system cannot be written', async t => {
  const data = aDirectory();
  await execute('chown', ['65532:65532', data]);
  const args = config.Cmd.map(word => word.replace('--secure-port=6443', '--secure-port=0'));
  const run = runc('run', '--bundle', await bundleOf(args, 65_532, data), 'plane');
  const plane = new Program('/usr/bin/env', ['runc', ...run], {}, undefined, '/usr/bin/env');
  await plane.waitFor(/^ready/m);

  t.regex(readFileSync(join(data, 'kubeconfig'), 'utf8'), /current-context/);
  t.is(statSync(join(data, 'store')).uid, 65_532);
  await execute('runc', runc('kill', 'plane', 'TERM'));
  t.is((await plane.ended()).code, 0);
});
