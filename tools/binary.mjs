// Makes dist/binary: one executable with all programs, for this machine, from the bundles and this Node.js, and links
// to it by their names.
import {build} from 'esbuild';
import {execFileSync, spawnSync} from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {createRequire} from 'node:module';
import {basename, join, resolve} from 'node:path';
import {inject} from 'postject';
import {executableNotices} from './notices/executable.mjs';
import {writeBase} from './image/base.mjs';

const require = createRequire(import.meta.url);
const {hashOf} = require('./binary/extracted.cjs');
const {programNames} = require('./binary/program-name.cjs');
const {keyOf, scriptsOf} = require('./launch.cjs');
const {read} = require('./code-cache.cjs');

const target = 'dist/binary';
const bundle = 'dist/bundle';
const {version} = JSON.parse(readFileSync('package.json', 'utf8'));
/** The mark in Node.js that says whether it has a program of its own. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

process.umask(0o022); // The image has the modes of the files that are written here.
const work = mkdtempSync('dist/binary-');
process.on('exit', () => rmSync(work, {recursive: true, force: true}));

const {platform, arch} = process;
/** The package with the native library of LMDB for this machine. */
const lmdbFolder = `node_modules/@lmdb/lmdb-${platform}-${arch}`;

/**
 * Returns the native library of LMDB for this Node.js, as its loader would choose it, and the files that lead to it.
 */
const lmdbFiles = () => {
  const {versions, report} = process;
  const libc = platform === 'linux' ? (report.getReport().header.glibcVersionRuntime ? '.glibc' : '.musl') : '';
  const library = [`node.abi${versions.modules}`, 'node.napi']
    .flatMap(name => [`${name}${libc}.node`, `${name}.node`])
    .find(name => existsSync(join(lmdbFolder, name)));
  if (!library) throw new Error(`${lmdbFolder} has no native library for this Node.js`);
  return [library, 'package.json', 'index.js'].map(name => join(lmdbFolder, name)).concat('node_modules/lmdb/package.json');
};

/** Removes debug symbols. Returns whether there is a program that does. */
const strip = (file, ...flags) => platform === 'linux' && spawnSync('strip', [...flags, file]).status === 0;

/** Returns the content of a file; without debug symbols if it is a native library. */
const contentOf = path => {
  if (!path.endsWith('.node')) return readFileSync(path);
  const copy = join(work, 'library.node');
  copyFileSync(path, copy);
  strip(copy, '--strip-unneeded');
  return readFileSync(copy);
};

/** Writes the files that have to be on disk into one asset, with a list of them. */
const writeFiles = () => {
  const tables = ['dist/schema', 'dist/console'].flatMap(folder => readdirSync(folder).map(name => `${folder}/${name}`));
  const sources = Object.fromEntries([...lmdbFiles(), ...tables, `${bundle}/yaml-worker.js`, 'package.json'].map(path => [path, path]));
  sources[`${bundle}/request-worker.js`] = 'tools/binary/request-worker.js';
  sources['LICENSE'] = 'LICENSE';
  sources['THIRD-PARTY-NOTICES.txt'] = join(work, 'THIRD-PARTY-NOTICES.txt');
  let offset = 0;
  const contents = Object.values(sources).map(contentOf);
  const files = Object.keys(sources).map((path, at) => {
    const bytes = contents[at];
    offset += bytes.length;
    return {path, offset: offset - bytes.length, size: bytes.length, hash: hashOf(bytes)};
  });
  writeFileSync(join(work, 'files'), Buffer.concat(contents));
  writeFileSync(join(work, 'files.json'), JSON.stringify({name: `${version}-${hashOf(JSON.stringify(files)).slice(0, 16)}`, files}));
  return {files: join(work, 'files'), 'files.json': join(work, 'files.json')};
};

/** Writes the code caches of the programs that the build has tried out, one file a script, and their keys. */
const writeCodes = () => {
  const keys = {};
  const assets = {'codes.json': join(work, 'codes.json')};
  for (const name of programNames) {
    const scripts = scriptsOf(name, bundle);
    const key = keyOf(scripts.map(file => readFileSync(file)));
    const codes = read(join(bundle, `${name}.code`), key);
    if (!codes) continue;
    keys[name] = key;
    for (const [at, code] of codes.entries()) {
      const asset = `${name}-${basename(scripts[at], '.cjs')}.code`;
      assets[asset] = join(work, asset);
      writeFileSync(assets[asset], code);
    }
  }
  writeFileSync(join(work, 'codes.json'), JSON.stringify(keys));
  return assets;
};

/** Copies this Node.js, without debug symbols where there is a program that removes them. */
const copyNode = file => {
  copyFileSync(process.execPath, file);
  chmodSync(file, 0o755);
  if (!strip(file, '--strip-all') && platform === 'linux')
    console.error('make binary: without `strip` the executable keeps the symbols of Node.js, 12 MB');
  if (platform === 'darwin') execFileSync('codesign', ['--remove-signature', file]);
};

writeFileSync(
  join(work, 'THIRD-PARTY-NOTICES.txt'),
  executableNotices(readFileSync(`${bundle}/THIRD-PARTY-NOTICES.txt`, 'utf8'), lmdbFolder),
);
await build({
  entryPoints: ['tools/binary/main.cjs'],
  outfile: join(work, 'main.cjs'),
  bundle: true,
  platform: 'node',
  target: 'node20',
  minify: true,
  logLevel: 'warning',
});
const settings = {
  main: join(work, 'main.cjs'),
  output: join(work, 'blob'),
  disableExperimentalSEAWarning: true,
  assets: {
    ...writeFiles(),
    ...writeCodes(),
    ...Object.fromEntries(['core.cjs', 'plat.cjs', 'plat-apiserver.cjs'].map(script => [script, join(bundle, script)])),
  },
};
writeFileSync(join(work, 'sea.json'), JSON.stringify(settings));
execFileSync(process.execPath, ['--experimental-sea-config', join(work, 'sea.json')], {stdio: 'pipe'});

const fresh = join(work, 'plat');
copyNode(fresh);
// Its warnings are about sections without a name, which strip leaves.
console.warn = () => {};
console.log = () => {};
await inject(fresh, 'NODE_SEA_BLOB', readFileSync(settings.output), {
  sentinelFuse: fuse,
  ...(platform === 'darwin' ? {machoSegmentName: 'NODE_SEA'} : {}),
});
if (platform === 'darwin') execFileSync('codesign', ['--sign', '-', fresh]);

/** Writes links to the executable in its folder, by the names of the programs. */
const linkPrograms = folder => {
  for (const name of programNames.filter(each => each.startsWith('plat') && each !== 'plat')) {
    rmSync(join(folder, name), {force: true});
    symlinkSync('plat', join(folder, name));
  }
};

/** Makes what is written readable to every user of the image, who can change none of it. */
const openTo = folder => {
  for (const entry of readdirSync(folder, {recursive: true, withFileTypes: true}))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
};

/**
 * Writes what the image is built from: the system's files, the programs with the files that they need on disk, and an
 * empty folder for data.
 */
const writeImage = folder => {
  rmSync(folder, {recursive: true, force: true});
  const [base, programs, data] = ['base', 'programs', 'data'].map(name => join(folder, name));
  const [bin, cache] = ['usr/local/bin', 'var/cache'].map(path => join(programs, path));
  for (const path of [base, bin, cache, data]) mkdirSync(path, {recursive: true});
  writeBase(base, fresh);
  copyFileSync(fresh, join(bin, 'plat'));
  linkPrograms(bin);
  execFileSync(fresh, ['version'], {
    env: {...process.env, XDG_CACHE_HOME: resolve(cache), NODE_DISABLE_COMPILE_CACHE: '1'},
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  openTo(cache);
};

if (platform === 'linux') writeImage('dist/image');
mkdirSync(target, {recursive: true});
renameSync(join(work, 'THIRD-PARTY-NOTICES.txt'), join(target, 'THIRD-PARTY-NOTICES.txt'));
renameSync(fresh, join(target, 'plat'));
linkPrograms(target);
process.stdout.write(`${join(target, 'plat')}\n`);
