import {execFile, execFileSync, spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, realpathSync, statSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {packageVersion, release} from '#src/api/version.js';
import {aDirectory, Program} from '#test/cli/programs.js';

const execute = promisify(execFile);

const executable = 'dist/image/bin/plat';
const home = aDirectory();
const storage = ['--root', join(home, 'storage'), '--runroot', join(home, 'run'), '--storage-driver', 'vfs'];
const buildah = async (...args: readonly string[]): Promise<string> =>
  (
    await execute('buildah', [...storage, ...args], {
      env: {...process.env, BUILDAH_ISOLATION: 'chroot'},
      maxBuffer: 16 << 20,
      timeout: 90_000,
    })
  ).stdout.trim();

/** The libraries that a program is linked with. */
const libraries = (program: string): string[] =>
  [...execFileSync('ldd', [program], {encoding: 'utf8'}).matchAll(/(\/\S+) \(0x/g)].map(([, file = '']) => file);

/**
 * Makes a file system with the libraries of the executable and two programs to look around, which stands for the base
 * image.
 */
const baseFolder = (): string => {
  const root = join(home, 'base');
  const which = (name: string): string => execFileSync('which', [name], {encoding: 'utf8'}).trim();
  const put = (file: string, target = file): void => {
    mkdirSync(join(root, dirname(target)), {recursive: true});
    cpSync(realpathSync(file), join(root, target), {recursive: true, dereference: true});
  };
  const programs = ['env', 'cat'].map(which);
  for (const program of programs) put(program, `/usr/bin/${basename(program)}`);
  for (const library of [...programs, executable].flatMap(libraries)) put(library);
  for (const folder of ['var/lib', 'var/cache', 'etc']) mkdirSync(join(root, folder), {recursive: true});
  return root;
};

/** Makes the base image. */
const makeBase = async (): Promise<void> => {
  const base = await buildah('from', 'scratch');
  await buildah('copy', base, baseFolder(), '/');
  await buildah('config', '--env', 'PATH=/usr/bin', base);
  await buildah('run', base, '--', 'env');
  await buildah('commit', base, 'localhost/base');
};

/** Returns why the image cannot be built here; undefined if it can. */
const missing = async (): Promise<string | undefined> => {
  if (!existsSync(executable) || statSync(executable).mtimeMs < statSync('dist/bundle/plat.cjs').mtimeMs)
    return 'the image is built from an executable that is newer than the bundles (make binary-test)';
  if (process.getuid?.() !== 0) return 'building an image in a chroot needs root';
  if (spawnSync('buildah', ['--version']).status !== 0) return 'buildah is not installed';
  return makeBase().then(
    () => undefined,
    (error: Error) => `containers of buildah do not run here: ${error.message}`,
  );
};
const problem = await missing();
if (problem) console.log(`skipped: ${problem}`);
const built = problem ? test.skip : test;

const build = (): Promise<string> =>
  buildah('bud', '--build-arg', 'BASE=localhost/base', '--tag', 'localhost/plat', '--file', 'deploy/Containerfile', 'dist/image');

interface Config {
  readonly User: string;
  readonly Cmd: readonly string[];
  readonly Volumes: Readonly<Record<string, object>>;
}

built('the image holds the programs, and runs a plane without root and with a root file system it does not write', async t => {
  await build();
  const {OCIv1} = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/plat')) as {OCIv1: {config: Config}};
  const {User, Cmd, Volumes} = OCIv1.config;

  t.is(User, '65532:65532');
  t.deepEqual(Object.keys(Volumes), ['/var/lib/plat']);
  const container = await buildah('from', 'localhost/plat');
  for (const name of ['plat-apiserver', 'plat-controller-manager', 'plat-scheduler'])
    t.is(await buildah('run', container, '--', name, '--version'), `${name} v${release}-plat.${packageVersion}`);

  const args = Cmd.map(word => word.replace('0.0.0.0', '127.0.0.1').replace('6443', '0'));
  const plane = new Program(
    '/usr/bin/env',
    ['buildah', ...storage, 'run', '--isolation', 'chroot', container, '--', ...args],
    {},
    undefined,
    '/usr/bin/env',
  );
  await plane.waitFor(/^ready/m);
  t.regex(await buildah('run', container, '--', 'cat', '/var/lib/plat/kubeconfig'), /current-context/);
  await plane.stop();
});
