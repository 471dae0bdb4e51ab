import {execFile, execFileSync, spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {packageVersion, release} from '#src/api/version.js';
import {aDirectory, Program} from '#test/cli/programs.js';

const execute = promisify(execFile);

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

/** Makes a file system with this machine's Node.js, npm and shell, which stands for the image of Node.js. */
const baseFolder = (): string => {
  const root = join(home, 'base');
  const which = (name: string): string => execFileSync('which', [name], {encoding: 'utf8'}).trim();
  const put = (file: string, target = file): void => {
    mkdirSync(join(root, dirname(target)), {recursive: true});
    cpSync(realpathSync(file), join(root, target), {recursive: true, dereference: true});
  };
  const programs = ['sh', 'env', 'mkdir', 'cat'].map(which);
  for (const program of programs) put(program, `/usr/bin/${basename(program)}`);
  put(process.execPath, '/usr/bin/node');
  for (const library of [...programs, process.execPath].flatMap(libraries)) put(library);
  symlinkSync('/usr/bin', join(root, 'bin'));
  const npm = dirname(dirname(realpathSync(which('npm'))));
  put(npm, '/usr/lib/npm');
  symlinkSync('/usr/lib/npm/bin/npm-cli.js', join(root, 'usr/bin/npm'));
  for (const folder of ['tmp', 'var/lib', 'etc', 'root']) mkdirSync(join(root, folder), {recursive: true});
  // npm in the build finds the packages where npm of this machine does.
  for (const file of ['/etc/ssl/certs', '/etc/resolv.conf', '/etc/hosts']) if (existsSync(file)) put(file);
  const setting = (name: string): string => execFileSync('npm', ['config', 'get', name], {encoding: 'utf8'}).trim();
  const cafile = setting('cafile');
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(root, 'root/.npmrc'), `registry=${setting('registry')}\n${cafile === 'null' ? '' : `cafile=${cafile}\n`}`);
  return root;
};

/** Makes the base image. Rejects if npm reaches nothing in it. */
const makeBase = async (): Promise<void> => {
  const base = await buildah('from', 'scratch');
  await buildah('copy', base, baseFolder(), '/');
  await buildah('config', '--env', 'PATH=/usr/bin', base);
  await buildah('run', base, '--', 'npm', 'view', 'lmdb', 'version', '--fetch-retries=0');
  await buildah('commit', base, 'localhost/node');
};

/** Returns why the image cannot be built here; undefined if it can. */
const missing = async (): Promise<string | undefined> => {
  if (!process.env['PLAT_TEST_BUNDLES']) return 'packing needs bundles that are as new as the tests (make test)';
  if (process.getuid?.() !== 0) return 'building an image in a chroot needs root';
  if (spawnSync('buildah', ['--version']).status !== 0) return 'buildah is not installed';
  return makeBase().then(
    () => undefined,
    (error: Error) => `npm does not work in a container of buildah: ${error.message}`,
  );
};
const problem = await missing();
if (problem) console.log(`skipped: ${problem}`);
const built = problem ? test.skip : test;

/** Builds the image from the packed package. */
const build = async (): Promise<void> => {
  const context = join(home, 'image');
  mkdirSync(context);
  await execute('npm', ['pack', '--ignore-scripts', `--pack-destination=${context}`]);
  await buildah('bud', '--build-arg', 'NODE=localhost/node', '--tag', 'localhost/plat', '--file', 'deploy/Containerfile', context);
};

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
