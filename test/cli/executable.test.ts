import {execFile} from 'node:child_process';
import {createHash} from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {packageVersion, release} from '#src/api/version.js';
import {aDirectory, Program} from './programs.js';

const execute = promisify(execFile);

interface FileOfProgram {
  readonly path: string;
  readonly size: number;
  readonly hash: string;
  readonly bytes: () => Buffer;
}

interface Extracted {
  readonly folder: string;
  readonly problems: readonly string[];
}

const load = createRequire(resolve('tools/binary/main.cjs'));
const {extracted, candidates} = load('./extracted.cjs') as {
  extracted: (parents: readonly string[], name: string, files: readonly FileOfProgram[]) => Extracted;
  candidates: (env: NodeJS.ProcessEnv) => readonly string[];
};
const {programOf} = load('./program-name.cjs') as {
  programOf: (
    calledBy: string,
    args: readonly string[],
  ) => {readonly name: string; readonly scripts: readonly string[]; readonly fromArgument: boolean};
};

const file = (path: string, text: string): FileOfProgram => ({
  path,
  size: text.length,
  hash: createHash('sha256').update(text).digest('hex'),
  bytes: () => Buffer.from(text),
});
const files = [file('a/library.node', 'code'), file('table.json', '{}')];
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? test : test.skip;
if (!isRoot) console.log('skipped: only root can give a folder to another user');

test('the executable is the program that it is called by, and plat under any other name', t => {
  const program = (calledBy: string, ...args: readonly string[]) => programOf(calledBy, args).name;

  t.is(program('plat'), 'plat');
  t.is(program('../some folder/plat-scheduler', 'plat-apiserver'), 'plat-scheduler');
  t.is(program('/cache/kube-apiserver'), 'plat-envtest-apiserver');
  t.is(program('/cache/etcd'), 'plat-envtest-store');
  t.is(program('./plat-0.1.0-linux-x64', 'up'), 'plat');
  t.is(program('constructor', 'toString'), 'plat');
});

test('the first argument of plat names another program', t => {
  t.deepEqual(programOf('/bin/plat', ['plat-apiserver', '--version']), {
    name: 'plat-apiserver',
    scripts: ['core', 'plat-apiserver'],
    fromArgument: true,
  });
  t.deepEqual(programOf('my-plat', ['etcd']), {name: 'plat-envtest-store', scripts: ['core', 'plat'], fromArgument: true});
  t.false(programOf('/bin/plat', ['up', 'plat-apiserver']).fromArgument);
});

test('files are written once, for their user alone', t => {
  const parent = join(aDirectory(), 'with a space', 'plat');
  const {folder, problems} = extracted([parent], '1', files);

  t.is(readFileSync(join(folder, 'a/library.node'), 'utf8'), 'code');
  t.is(statSync(parent).mode & 0o777, 0o700);
  t.is(statSync(folder).mode & 0o777, 0o700);
  t.deepEqual(problems, []);
  const written = statSync(folder).ino;
  t.is(statSync(extracted([parent], '1', files).folder).ino, written);
  t.deepEqual(readdirSync(parent), ['1']);
});

test('a file that was changed, removed or replaced by a link is written again', t => {
  const parent = aDirectory();
  const {folder} = extracted([parent], '1', files);
  const library = join(folder, 'a/library.node');
  const other = join(parent, 'other');
  writeFileSync(other, 'code');

  writeFileSync(library, 'evil');
  extracted([parent], '1', files);
  t.is(readFileSync(library, 'utf8'), 'code');
  chmodSync(library, 0o666);
  extracted([parent], '1', files);
  t.is(statSync(library).mode & 0o777, 0o600);
  rmSync(library);
  symlinkSync(other, library);
  extracted([parent], '1', files);
  t.is(readFileSync(library, 'utf8'), 'code');
  t.deepEqual(readdirSync(parent).sort(), ['1', 'other']);
});

asRoot('a folder of another user is not used, nor one that others can write to', t => {
  const [others, open, own] = ['others', 'open', 'own'].map(name => join(aDirectory(), name)) as [string, string, string];
  mkdirSync(others);
  chownSync(others, 65_532, 65_532);
  mkdirSync(open);
  chmodSync(open, 0o777);

  const {folder, problems} = extracted([others, open, own], '1', files);
  t.is(folder, join(own, '1'));
  t.deepEqual(
    problems,
    [others, open].map(parent => `${parent} belongs to another user, or others can write to it`),
  );
  t.deepEqual([...readdirSync(others), ...readdirSync(open)], []);
});

test('where no folder can be written to, the error says what to set', t => {
  const parent = join(aDirectory(), 'file');
  writeFileSync(parent, '');

  t.throws(() => extracted([join(parent, 'plat')], '1', files), {message: /^there is no folder for its files: .*: set XDG_CACHE_HOME to /});
});

test('the cache is in XDG_CACHE_HOME if that is absolute, and in the temporary folder without another', t => {
  t.is(candidates({XDG_CACHE_HOME: '/caches'})[0], '/caches/plat');
  t.not(candidates({XDG_CACHE_HOME: 'caches'})[0], 'caches/plat');
  t.regex(candidates({}).at(-1)!, /\/plat-\d+$/);
});

const executable = resolve('dist/binary/plat');
const isNew = existsSync(executable) && statSync(executable).mtimeMs >= statSync('dist/bundle/plat.cjs').mtimeMs;
if (!isNew) console.log('skipped: the executable is tried if it is newer than the bundles (make binary-test)');
const made = isNew ? test : test.skip;

const runAs = async (program: string, args: readonly string[], env: NodeJS.ProcessEnv) =>
  (await execute(program, args, {env, cwd: dirname(program)})).stdout;
const line = (name: string): string => `${name} v${release}-plat.${packageVersion}\n`;

made('every program runs from the executable, by links and by arguments, from a path with spaces', async t => {
  const folder = join(aDirectory(), 'a folder');
  mkdirSync(folder);
  const program = join(folder, 'renamed');
  copyFileSync(executable, program);
  const env = {XDG_CACHE_HOME: aDirectory()};

  for (const name of ['plat', 'plat-apiserver', 'plat-controller-manager', 'plat-scheduler', 'plat-dns', 'platlet', 'plat-proxy']) {
    symlinkSync('renamed', join(folder, name));
    t.is(await runAs(join(folder, name), ['--version'], env), line(name));
    t.is(await runAs(program, [name, '--version'], env), line(name));
  }
});

made('two first starts at once leave one whole folder', async t => {
  const env = {XDG_CACHE_HOME: aDirectory()};

  t.deepEqual(
    await Promise.all(Array.from({length: 4}, () => runAs(executable, ['version'], env))),
    Array.from({length: 4}, () => line('plat')),
  );
  t.is(readdirSync(join(env.XDG_CACHE_HOME, 'plat')).filter(name => name.startsWith(packageVersion)).length, 1);
});

made('the executable runs a plane without a home, whose folder of programs links to it', async t => {
  const directory = aDirectory();
  const env = {XDG_CACHE_HOME: join(directory, 'cache'), HOME: ''};
  const plane = new Program(executable, ['up', '--secure-port=0', `--data-dir=${directory}/plane`], env, undefined, '/usr/bin/env');
  await plane.waitFor(/^ready/m);
  await plane.stop();

  const programs = (await runAs(executable, ['envtest', 'path'], env)).trim();
  t.regex(await runAs(join(programs, 'etcd'), ['--help'], env), /Stands in for the store/);
  t.regex(await runAs(join(programs, 'kube-apiserver'), ['--help'], env), /--etcd-servers/);
});
