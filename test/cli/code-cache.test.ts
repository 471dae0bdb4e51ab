import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {chmodSync, copyFileSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import test from 'ava';
import {packageVersion, release} from '#src/api/version.js';
import {installedNode} from './node-releases.js';
import {aDirectory, Program} from './programs.js';

const bundled = Boolean(process.env['PLAT_TEST_BUNDLES']);
if (!bundled) console.log('skipped: the code of bundles is tried with those that are as new as the tests (make test)');
const counting = bundled ? test : test.skip;

/** Without the code caches of this user. */
const withoutOwnCode = {...process.env, NODE_DISABLE_COMPILE_CACHE: '1'};

for (const name of ['plat', 'plat-apiserver', 'plat-controller-manager', 'plat-scheduler', 'plat-dns']) {
  counting(`the code kept for ${name} is taken`, t => {
    const starting = `process.argv.push('plat', '--help'); process.stderr.write(String(require('./dist/bundle/launch.cjs').launch('${name}').scripts.map(script => script.cachedDataRejected)))`;

    t.is(spawnSync(process.execPath, ['-e', starting], {encoding: 'utf8', env: withoutOwnCode}).stderr, 'false,false');
  });
}

const versionLine = `plat v${release}-plat.${packageVersion}\n`;

/** A copy of the bundle of `plat`, with other code beside it. */
const bundleWith = (code: Buffer | undefined): string => {
  const directory = aDirectory();
  for (const file of ['launch.cjs', 'code-cache.cjs', 'library.cjs', 'core.cjs', 'plat.cjs'])
    copyFileSync(join('dist/bundle', file), join(directory, file));
  if (code) writeFileSync(join(directory, 'plat.code'), code);
  return directory;
};

/**
 * Starts `plat version` from such a copy. The first line of its output has the result of the code cache: `undefined`
 * where none was used.
 */
const versionFrom = (directory: string, node = process.execPath, env: NodeJS.ProcessEnv = withoutOwnCode): string => {
  const starting =
    "process.argv.push('plat', 'version'); const {scripts} = require(process.cwd() + '/launch.cjs').launch('plat'); process.stderr.write([...new Set(scripts.map(script => String(script.cachedDataRejected)))].join())";
  const {status, stdout, stderr} = spawnSync(node, ['-e', starting], {encoding: 'utf8', cwd: directory, env});
  return `${status} ${stderr} ${stdout}`;
};

/** The code cache of the build with another header: the build it belongs to, and its length. */
const forged = (change: (header: string) => string): Buffer => {
  const code = readFileSync('dist/bundle/plat.code');
  const end = code.indexOf('\n');
  return Buffer.concat([Buffer.from(change(code.toString('latin1', 0, end))), code.subarray(end)]);
};

const others: readonly (readonly [string, () => Buffer | undefined])[] = [
  ['no code', () => undefined],
  ['something else', () => Buffer.alloc(5000, 1)],
  [
    'a code cache without its origin',
    () => readFileSync('dist/bundle/plat.code').subarray(readFileSync('dist/bundle/plat.code').indexOf('\n') + 1),
  ],
  [
    'code made by another version of Node or of another bundle',
    () => forged(header => header.replace(/[0-9a-f]{64}/, createHash('sha256').digest('hex'))),
  ],
  ['code cut short', () => readFileSync('dist/bundle/plat.code').subarray(0, 1_000_000)],
];
for (const [what, code] of others) {
  counting(`a program starts beside ${what} without it`, t => {
    t.is(versionFrom(bundleWith(code())), `0 undefined ${versionLine}`);
  });
}

counting('a program starts where the folder of its code cache cannot be looked at', t => {
  const caches = join(aDirectory(), 'caches');
  symlinkSync(caches, caches); // No user can follow it, root included.
  t.is(versionFrom(bundleWith(undefined), process.execPath, {...process.env, XDG_CACHE_HOME: caches}), `0 undefined ${versionLine}`);
});

counting('code belongs to a bundle byte by byte', t => {
  const directory = bundleWith(readFileSync('dist/bundle/plat.code'));
  t.is(versionFrom(directory), `0 false ${versionLine}`);

  const bundle = readFileSync(join(directory, 'plat.cjs'), 'latin1');
  writeFileSync(join(directory, 'plat.cjs'), bundle.replace('Kubernetes-style', 'Kubernetes style'), 'latin1');
  t.is(versionFrom(directory), `0 undefined ${versionLine}`);
});

counting('the code of a script begins where the engine takes it without a copy', t => {
  for (const file of readdirSync('dist/bundle').filter(name => name.endsWith('.code'))) {
    const code = readFileSync(join('dist/bundle', file));
    const start = code.indexOf('\n') + 1;
    const [, ...lengths] = /^plat code \S+ (\d+) (\d+) *\n$/.exec(code.toString('latin1', 0, start)) ?? [];
    t.deepEqual(
      [start, ...lengths.map(Number)].map(length => length % 8),
      [0, 0, 0],
      file,
    );
  }
});

counting('files are read into one memory, which is used again, and longer ones beside it', t => {
  const {FileMemory} = createRequire(import.meta.url)(join(process.cwd(), 'dist/bundle/code-cache.cjs')) as {
    FileMemory: new () => {read(file: string): Buffer; reuse(): void};
  };
  const directory = aDirectory();
  const memory = new FileMemory();
  const written = (name: string, content: Buffer): Buffer => {
    writeFileSync(join(directory, name), content);
    return memory.read(join(directory, name));
  };
  const first = written('first', Buffer.from('first'));
  const second = written('second', Buffer.from('second'));
  t.deepEqual([first, second].map(String), ['first', 'second']);
  t.is(second.byteOffset, first.byteOffset + 8);
  t.is(String(written('empty', Buffer.alloc(0))), '');

  const long = Buffer.alloc(17 << 20, 'long');
  t.true(written('long', long).equals(long));

  memory.reuse();
  const third = written('third', Buffer.from('third'));
  t.is(String(third), 'third');
  t.true(third.buffer === first.buffer && third.byteOffset === first.byteOffset);
});

counting('a command keeps its code for the next one, and for the library', t => {
  const directory = bundleWith(undefined);
  const {NODE_DISABLE_COMPILE_CACHE: _, ...own} = process.env;
  const env = {...own, XDG_CACHE_HOME: directory};
  const loading = `const loaded = require('./library.cjs').withCode(); process.stdout.write(String(loaded && loaded === require('./plat.cjs') && typeof loaded.doors.testing().survive))`;
  const library = () => spawnSync(process.execPath, ['-e', loading], {encoding: 'utf8', cwd: directory, env}).stdout;

  t.is(library(), 'undefined');
  t.is(versionFrom(directory, process.execPath, env), `0 undefined ${versionLine}`);
  t.deepEqual(
    readdirSync(join(directory, 'plat', 'code')).map(file => file.replace(/[0-9a-f]{16}/, 'KEY')),
    ['plat-brief-KEY.code'],
  );
  t.is(versionFrom(directory, process.execPath, env), `0 false ${versionLine}`);
  t.is(library(), 'function');
});

const node = bundled ? installedNode('20.19.0') : undefined;

(node ? test : test.skip)('another version of Node starts beside the code of this one, and keeps its own for its user', async t => {
  const directory = bundleWith(readFileSync('dist/bundle/plat.code'));
  t.is(versionFrom(directory, node), `0 undefined ${versionLine}`);

  const caches = aDirectory();
  const env = {XDG_CACHE_HOME: caches};
  const folder = join(caches, 'plat', 'code');
  const program = new Program('plat', ['up', `--data-dir=${caches}/plane`, '--secure-port=0', '--nodes=0'], env, undefined, node);
  await program.waitFor(/^ready: /m);
  t.is((await program.stop()).code, 0);
  t.is(statSync(folder).mode & 0o777, 0o700);
  t.deepEqual(
    readdirSync(folder).map(file => file.replace(/[0-9a-f]{16}/, 'KEY')),
    ['plat-KEY.code'],
  );

  const starting =
    "process.argv.push('plat', '--help'); process.stderr.write(String(require('./dist/bundle/launch.cjs').launch('plat').scripts[0].cachedDataRejected))";
  const verdict = () => spawnSync(node!, ['-e', starting], {encoding: 'utf8', env: {...process.env, ...env}}).stderr;
  t.is(verdict(), 'false');
  const [file = ''] = readdirSync(folder);
  chmodSync(join(folder, file), 0o666);
  t.is(verdict(), 'undefined', 'code that others may write is not run');
  chmodSync(join(folder, file), 0o600);
  chmodSync(folder, 0o777);
  t.is(verdict(), 'undefined', 'nor is code in a folder that others may write');
});
